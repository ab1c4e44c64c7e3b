"""Decide which files the work of a session has opened for writing (docs/decisions/0059).

A file is open if it is related to a symbol that the change rests on (`RELATIONS`), and the session
has printed the current lines that show the relation.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from code_intel.session.state import Session

RELATIONS: Mapping[str, str] = MappingProxyType(
    {
        "defines": "defines {symbol}",
        "joins": "is where new code joins {symbol}",
        "quoted": "was quoted",
        "uses": "uses {symbol}",
        "tests": "tests {symbol}",
        "names": "is a document that names {symbol}",
        "lists": "lists changes",
    }
)
"""How a file may be related to a symbol that the change rests on, in the order of preference."""
CHECK_AGAIN = "Then call check_write_target again."
"""The end of a hint to read lines."""
_MAX_SYMBOLS = 3
"""Maximum symbols that a hint names."""


class FileFacts(NamedTuple):
    """How a file relates to what the change rests on, and what the session has printed of it.

    Attributes:
        file: Path relative to the root.
        relation: A key of `RELATIONS`; empty if it is not related to the change.
        symbol: The symbol to which it is related.
        first: The first of the lines that show the relation.
        last: The last of them.
        printed: Whether these lines were printed in the session, at their current content.
        was_printed: Whether lines of the file were printed that have changed since.
    """

    file: str
    relation: str = ""
    symbol: str = ""
    first: int = 0
    last: int = 0
    printed: bool = False
    was_printed: bool = False


class WriteFacts(NamedTuple):
    """The facts about the files to write and about the files that the session has printed.

    Attributes:
        files: The facts of each of these files, by path.
        symbols: The symbols that the change rests on.
        new_tests: Files that do not exist and are named as tests of the modules of these symbols.
    """

    files: Mapping[str, FileFacts] = MappingProxyType({})
    symbols: tuple[str, ...] = ()
    new_tests: frozenset[str] = frozenset()


def is_open(facts: FileFacts) -> bool:
    """Return whether a file may be written: related to the change, and printed.

    >>> is_open(FileFacts("a.py", "uses", "login", 3, 3, printed=True))
    True
    >>> is_open(FileFacts("a.py", printed=True)) or is_open(FileFacts("a.py", "uses", "login"))
    False
    """
    return facts.relation in RELATIONS and facts.printed


def best_relation(found: Iterable[FileFacts]) -> FileFacts | None:
    """Return the relation that opens a file or, if none does, the preferred one."""
    order = list(RELATIONS)
    return min(
        found, key=lambda each: (not is_open(each), order.index(each.relation)), default=None
    )


def open_files(session: Session, facts: WriteFacts) -> tuple[str, ...]:
    """Return the files that the session may write: those permitted before, and those open now."""
    now = (file for file, known in facts.files.items() if is_open(known))
    return tuple(dict.fromkeys((*session.permitted_files, *now)))


def is_related(file: str, facts: WriteFacts) -> bool:
    """Return whether a file has to do with the change."""
    return bool(facts.files.get(file, FileFacts(file)).relation)


def how_to_open(files: Sequence[str], facts: WriteFacts) -> str:
    """Return how to open files that may not be written yet: the related ones, then the others."""
    known = [facts.files.get(file, FileFacts(file)) for file in files]
    related = [each for each in known if each.relation]
    others = [each.file for each in known if not each.relation]
    steps = (related and _how_to_read(related), others and _how_to_quote(others, facts.symbols))
    return " ".join(step for step in steps if step)


def why_closed(file: str, facts: WriteFacts) -> str:
    """Return why a related file is not open; empty if it is not related.

    >>> why_closed("a.py", WriteFacts({"a.py": FileFacts("a.py", "uses", "login", 3, 4)}))
    'uses login, but its lines 3-4 were not printed'
    """
    known = facts.files.get(file, FileFacts(file))
    if not known.relation:
        return ""
    why = "have changed since they were printed" if known.was_printed else "were not printed"
    relation = RELATIONS[known.relation].format(symbol=known.symbol)
    return f"{relation}, but its lines {known.first}-{known.last} {why}"


def _how_to_read(related: Sequence[FileFacts]) -> str:
    if len(related) > 1:
        places = ", ".join(f'"{each.file}:{each.first}-{each.last}"' for each in related)
        call = f"snippets_get(places=[{places}])"
        return f"Read them: {call}. {CHECK_AGAIN}"
    (known,) = related
    why = "have changed since they were printed" if known.was_printed else "were not printed"
    return (
        f"The file {RELATIONS[known.relation].format(symbol=known.symbol)}, but these lines {why}. "
        f'Read them: snippets_get(path="{known.file}", start_line={known.first}, '
        f"end_line={known.last}). {CHECK_AGAIN}"
    )


def _how_to_quote(files: Sequence[str], symbols: Sequence[str]) -> str:
    names = ", ".join(symbols[:_MAX_SYMBOLS]) or "a symbol that the change rests on"
    claim = f'{{"symbol": "{files[0]}", "explanation": "…", "quote": "…"}}'
    if len(files) > 1:
        return (
            f"{', '.join(files)} do not define, use, test or name {names}. If the change needs "
            "one, read the lines to change with snippets_get, then call "
            f"submit_understanding(symbols_identified=[{claim}])."
        )
    return (
        f"The file does not define, use, test or name {names}. If the change needs it, read "
        f'the lines to change with snippets_get(path="{files[0]}"), then call '
        f"submit_understanding(symbols_identified=[{claim}])."
    )
