"""What a change of files may break: who imports them, near and far, and who says the names they define.

An import is a fact, and so is a name that is defined nowhere else; both must be looked at. A chain of imports, a
name that others define as well, and a name in prose are reasons to look, no more (docs/decisions/0030). Calls that
neither import nor name what changes are not seen.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from code_intel.forest.dependencies import CAP, DEEPEST, Graph, Node, closure
from code_intel.forest.text.matches import Match
from code_intel.index.corpus import priority
from code_intel.records import Definition

MOST_NAMES = 60
"""Names that are looked for."""
SHORTEST = 3
"""Characters of a name that says something by itself."""
LINES = 10
"""Lines of a file that are told."""
TESTS, PROSE = 2, 1
"""Of `index.corpus.priority`."""
_NAME = re.compile(r"\w+")


class Affected(NamedTuple):
    """A file that a change may concern.

    Attributes:
        file: Relative to the project.
        must: Whether it is known to use what changes; else there is a reason to look.
        depth: How many imports away; 0 where no import leads to it.
        via: The file through which it is reached, or empty.
        names: What it says of the names that change, those of the change itself first.
        lines: Where.
        test: Whether it is a test.
    """

    file: str
    must: bool
    depth: int
    via: str
    names: tuple[str, ...]
    lines: tuple[int, ...]
    test: bool


def importers(graph: Graph, targets: Iterable[str]) -> tuple[dict[str, Node], bool]:
    """Return the documents that import the targets, by the shortest way, and whether there are too many."""
    found: dict[str, Node] = {}
    truncated = False
    for target in targets:
        around = closure(graph, target, "inbound", DEEPEST, CAP)
        truncated = truncated or around.truncated
        for node in around.nodes:
            if node.path not in found or node.depth < found[node.path].depth:
                found[node.path] = node
    return found, truncated


def said_in(description: str, symbols: Iterable[Definition]) -> set[str]:
    """Return the bare names of those symbols that a description of a change names."""
    return {
        symbol.name
        for symbol in symbols
        if len(symbol.name) >= SHORTEST
        and re.search(rf"(?<![A-Za-z0-9_]){re.escape(symbol.name)}(?![A-Za-z0-9_])", description)
    }


def names_of(symbols: Iterable[Definition], named: Collection[str]) -> list[str]:
    """Return the bare names worth looking for: those the change names, then outer ones before inner ones."""
    plain = [
        symbol
        for symbol in symbols
        if len(symbol.name) >= SHORTEST
        and _NAME.fullmatch(symbol.name)
        and not symbol.name.startswith("__")
    ]
    plain.sort(key=lambda s: (s.name not in named, s.qualified.count("."), s.file, s.line))
    return list(dict.fromkeys(symbol.name for symbol in plain))


def pattern_of(names: Iterable[str]) -> str:
    """Return the regular expression that finds any of the names as a whole word."""
    return rf"\b(?:{'|'.join(map(re.escape, names))})\b"


def affected(
    imports: Mapping[str, Node],
    mentions: Iterable[Match],
    *,
    targets: Collection[str],
    shared: Collection[str],
    named: Collection[str],
) -> list[Affected]:
    """Return the files a change concerns, those that must be looked at first, the targets left out.

    Args:
        imports: Who imports the targets, by file; see `importers`.
        mentions: Lines with names that the targets define.
        targets: The files that change.
        shared: Names that other files define as well.
        named: Names that the description of the change says.
    """
    said: dict[str, list[Match]] = {}
    for match in mentions:
        said.setdefault(match.file, []).append(match)
    files = [file for file in dict.fromkeys([*imports, *said]) if file not in targets]
    rows = [_affected(file, imports.get(file), said.get(file, ()), shared, named) for file in files]
    return sorted(rows, key=lambda row: _rank(row, named))


def _affected(
    file: str,
    node: Node | None,
    matches: Sequence[Match],
    shared: Collection[str],
    named: Collection[str],
) -> Affected:
    found = dict.fromkeys(text for match in matches for text, _, _ in match.spans)
    names = tuple(sorted(found, key=lambda name: name not in named))
    own = any(name not in shared for name in names) and priority(file) != PROSE
    return Affected(
        file,
        must=own or (node is not None and node.depth == 1),
        depth=node.depth if node else 0,
        via=node.via if node else "",
        names=names,
        lines=tuple(match.line for match in matches[:LINES]),
        test=priority(file) == TESTS,
    )


def _rank(row: Affected, named: Collection[str]) -> tuple[bool, int, int, int, str]:
    said = sum(name in named for name in row.names)
    return (not row.must, -said, row.depth or DEEPEST + 1, -len(row.names), row.file)
