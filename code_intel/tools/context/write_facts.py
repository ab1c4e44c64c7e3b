"""Gather the facts by which the write gate decides: index, files, and the session's prints."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from code_intel.chunking.languages import row_of
from code_intel.forest.dependencies.common_names import NameMeaning, is_common
from code_intel.forest.references.table import is_resolved
from code_intel.forest.text.matches import TextMatch
from code_intel.index.corpus import priority
from code_intel.records import Definition
from code_intel.session.open_files import FileFacts, WriteFacts, best_relation
from code_intel.session.risk import MANY_FILES
from code_intel.session.state import CodePlace, Session
from code_intel.session.understanding.reading import READ_LINES, is_read, unread_lines
from code_intel.session.wording import symbol_parts
from code_intel.tools.context.freshness import refresh_changed
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.prints import current_lines, current_text
from code_intel.tools.context.project_files import written_since
from code_intel.tools.context.quoted_code import line_of_quote
from code_intel.tools.context.source_file import index_path_of, project_path_of
from code_intel.tools.context.symbol_facts import definitions_of
from code_intel.tools.context.uses.references import judged
from code_intel.tools.context.uses.relations import (
    MIN_NAME_CHARS,
    PROSE,
    TESTS,
    has_word,
    is_in_text,
    is_mention,
    name_in_uses,
    near_files,
    other_names,
    tests_module,
)

MAX_FILES = 300
"""Maximum files to read for one check."""
_BOILERPLATE = re.compile(
    r"(?i)\W*|.*\b(?:copyright|licen[cs]e[ds]?|spdx-license-identifier|all rights reserved|"
    r"without warrant\w+)\b.*"
)
_CHANGE_LOG = re.compile(
    r"(?i)(?:change[_-]?log|changes|history|news|releases?|release[_-]?notes)(?:\.\w+)?"
)
_COMMON_MODULES = frozenset({"init", "index", "main", "mod", "lib", "util", "utils", "types"})
"""Names of modules that say nothing about what a document describes."""
_IDENTIFIER_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+")
_SINGLE_WORD = re.compile(r"[a-z]+")


class ChangedCode(NamedTuple):
    """What the change rests on.

    Attributes:
        name: The name of the symbol.
        meaning: The name by which other files use it, and where it means this symbol.
        definitions: Its definitions in the current files.
        files: The files of these, relative to the project.
        joined: Whether new code will stand beside it.
        quote: The quote that was accepted, in a file whose symbols cannot be read.
        other_names: Names under which code registers the symbol; see `relations.other_names`.
    """

    name: str
    meaning: NameMeaning
    definitions: tuple[Definition, ...] = ()
    files: tuple[str, ...] = ()
    joined: bool = False
    quote: str = ""
    other_names: tuple[str, ...] = ()


class _File(NamedTuple):
    """A file: its path, its current lines, and the numbers of those that were printed."""

    path: str
    text: Sequence[str]
    printed: frozenset[int]
    was_printed: bool


async def write_facts(
    context: GatewayContext,
    session: Session,
    files: Iterable[str],
    symbols: Sequence[CodePlace] = (),
) -> WriteFacts:
    """Return the facts about `files` and about every file that the session has printed.

    The change rests on what the session has settled on; before that, on `symbols`.
    """
    if session.change_places or session.neighbours:
        symbols = session.change_places
    names = [place.symbol for place in (*symbols, *session.neighbours)]
    found = await definitions_of(context, names)
    defining = dict.fromkeys(d.file for rows in found.values() for d in rows)
    wanted = list(dict.fromkeys((*files, *_printed_files(session))))[:MAX_FILES]
    known = [*defining, *(index_path_of(context, file) for file in wanted)]
    await run_in_thread(partial(refresh_changed, context, list(dict.fromkeys(known)), exactly=True))
    found = await definitions_of(context, names)
    return await run_in_thread(_write_facts, context, session, symbols, found, wanted)


def _printed_files(session: Session) -> Iterator[str]:
    for call in session.calls:
        yield from (item.file for item in call.printed)


def _write_facts(
    context: GatewayContext,
    session: Session,
    symbols: Sequence[CodePlace],
    found: Mapping[str, Sequence[Definition]],
    wanted: Iterable[str],
) -> WriteFacts:
    printed = current_lines(context, session)
    codes = [
        _code(context, session, place, found.get(place.symbol, ()))._replace(joined=joined)
        for joined, places in ((False, symbols), (True, session.neighbours))
        for place in places
    ]
    announced = [path for path in wanted if path in session.planned_files]
    before = written_since(context.root, session, announced) if announced else {}
    wanted = list(wanted)
    texts = {path: current_text(context, path) for path in wanted}
    codes = [code._replace(other_names=_other_names(context, code, texts)) for code in codes]
    facts = {}
    for path in wanted:
        if before.get(path) == b"":  # announced, and created since the session began
            facts[path] = FileFacts(path, "joins", path, printed=True)
            continue
        lines = printed.get(path, frozenset())
        file = _File(path, texts[path], lines, _has_changed(session, path, lines))
        relations = [each for code in codes for each in _relations(context, file, code)]
        found_here = (*relations, *_change_log(file), *_quotes(session, file))
        facts[path] = best_relation(found_here) or FileFacts(path)
    modules = [file for code in codes for file in code.files]
    new_tests = frozenset(
        path for path in wanted if not texts[path] and tests_module(path, modules)
    )
    return WriteFacts(facts, tuple(dict.fromkeys(code.name for code in codes)), new_tests)


def _other_names(
    context: GatewayContext, code: ChangedCode, texts: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    """Return the names under which the files of a symbol, or printed code, register it."""
    files = [*code.files, *(path for path in texts if is_source(path) and path not in code.files)]
    lines = (
        line
        for path in files
        for line in (texts[path] if path in texts else current_text(context, path))
    )
    return other_names(context, code.definitions[0], lines) if code.definitions else ()


def _meaning_another(
    context: GatewayContext, file: _File, code: ChangedCode, lines: Sequence[int]
) -> set[int]:
    """Return those of the lines in which the name of a symbol certainly means something else."""
    if not (lines and code.definitions and is_resolved(file.path)):
        return set()
    found = [TextMatch(file.path, number, file.text[number - 1]) for number in lines]
    return {line.line for line, one in judged(context, code.definitions, found) if one.is_other}


def _has_changed(session: Session, path: str, lines: frozenset[int]) -> bool:
    """Return whether lines of a file were printed that have changed since."""
    return any(
        item.file == path and not lines.issuperset(range(item.first, item.last + 1))
        for call in session.calls
        for item in call.printed
    )


def _code(
    context: GatewayContext, session: Session, place: CodePlace, found: Sequence[Definition]
) -> ChangedCode:
    """Return the code of a symbol that the change rests on."""
    agreed = session.short_circuit.get("files", ()) if session.ready_by == "map" else ()
    files = {d: project_path_of(context, d.file) for d in found}
    wanted = [place.file] if place.file else agreed
    chosen = [d for d in found if files[d] in wanted] or ([] if place.file else list(found))
    several = len({d.file for d in found}) > 1
    return ChangedCode(
        place.symbol,
        _meaning(
            context,
            place if place.file or chosen else place._replace(file=next(iter(agreed), "")),
            chosen[0] if chosen else None,
            several=several,
        ),
        tuple(chosen),
        tuple(dict.fromkeys(files[d] for d in chosen)) or (place.file,) * bool(place.file),
        quote="" if chosen else place.quote,
    )


def _meaning(
    context: GatewayContext, place: CodePlace, definition: Definition | None, *, several: bool
) -> NameMeaning:
    """Return in which files the name of a symbol means it.

    A symbol that is not defined any more was renamed or deleted: its users still name it. A text of
    a file without symbols says nothing about other files, and a text that was searched for in code
    nothing at all.
    """
    name = name_in_uses(definition) if definition else symbol_parts(place.symbol)[-1]
    is_code = row_of(place.file).complete
    if definition is None and place.file and not (is_code and place.quote):
        return NameMeaning(name, frozenset() if is_code else frozenset({place.file}))
    file = definition.file if definition else index_path_of(context, place.file)
    if not file:
        return NameMeaning(name)
    limited = several or is_common(context.forest.store, name, MANY_FILES)
    near = near_files(context, file) if limited else None
    return NameMeaning(name, near, _owners(definition.qualified if definition else "", file))


def _owners(qualified: str, file: str) -> tuple[str, ...]:
    """Return what qualifies a name in other files: its class and its module."""
    scope = symbol_parts(qualified)[-2:-1]
    return (*scope, *module_names([file]))


def _relations(context: GatewayContext, file: _File, code: ChangedCode) -> Iterator[FileFacts]:
    """Yield how a file relates to a symbol."""
    relation = partial(_relation, file, code.name)
    here = [d for d in code.definitions if project_path_of(context, d.file) == file.path]
    for definition in here:
        lines = unread_lines(definition.line, definition.end_line, file.printed)
        first, last = lines or (definition.line, definition.end_line)
        read = is_read(definition.line, definition.end_line, file.printed)
        kind = "joins" if code.joined else "defines"
        yield relation(kind, first, last)._replace(printed=read)
    if not here and file.path in code.files and (line := _first_line(file, code.quote)):
        yield relation("joins" if code.joined else "defines", line, line)
    if code.joined:
        if not code.definitions and file.path in code.files:
            yield _whole(file, "joins", code.name)
        return
    yield from (_shown_uses(context, file, code) if not here else ())
    if file.text and tests_module(file.path, code.files):
        yield _whole(file, "tests", code.name)


def _relation(file: _File, symbol: str, relation: str, first: int, last: int) -> FileFacts:
    printed = file.printed.issuperset(range(first, last + 1))
    return FileFacts(file.path, relation, symbol, first, last, printed, file.was_printed)


def _first_line(file: _File, quote: str) -> int:
    """Return the first line of a quote that stands in printed lines; 0 if it stands in none."""
    return line_of_quote(quote, file.text, file.printed) if quote else 0


def _shown_uses(context: GatewayContext, file: _File, code: ChangedCode) -> Iterator[FileFacts]:
    """Yield the lines that use or name a symbol: the first that was printed, or the first."""
    meaning, name = code.meaning, code.meaning.name
    if len(name) < MIN_NAME_CHARS:
        return
    is_test = priority(file.path) == TESTS
    is_code, is_meant = is_source(file.path), meaning.in_file(file.path, file.text)
    own = [(number, line) for number, line in enumerate(file.text, 1) if not is_boilerplate(line)]
    lines = [
        number
        for number, line in own
        if (is_meant or meaning.in_line(line))
        and (_is_use(line, name, in_text=is_test) if is_code else _is_named(line, code))
    ]
    others = _meaning_another(context, file, code, lines)
    lines = [number for number in lines if number not in others]
    if is_test and not lines:
        lines = [number for number, line in own if _is_tested(line, code)]
    if lines:
        line = next((number for number in lines if number in file.printed), lines[0])
        kind = "tests" if is_test else "uses" if is_code else "names"
        yield _relation(file, code.name, kind, line, line)


def is_source(path: str) -> bool:
    """Return whether a file is source code."""
    return row_of(path).complete and priority(path) != PROSE


def is_change_log(path: str) -> bool:
    """Return whether a file lists changes, by its name."""
    return bool(_CHANGE_LOG.fullmatch(path.rpartition("/")[2])) and not is_source(path)


def _change_log(file: _File) -> Iterator[FileFacts]:
    """Yield the relation of a change log. It names a change only after it was written."""
    if is_change_log(file.path):
        shown = (n for n in sorted(file.printed) if not is_boilerplate(file.text[n - 1]))
        line = next(shown, 0)
        last = min(len(file.text), READ_LINES)
        yield _relation(file, file.path, "lists", line or 1, line or last)


def is_boilerplate(line: str) -> bool:
    """Return whether a line stands in any file: blank, only signs, or of a licence.

    >>> is_boilerplate("# Copyright 2026 login"), is_boilerplate("  }"), is_boilerplate("login()")
    (True, True, False)
    """
    return bool(_BOILERPLATE.fullmatch(line))


def _is_tested(line: str, code: ChangedCode) -> bool:
    """Return whether a line of a test uses a symbol by another name, or names its module.

    A test may reach the code by a facade: `page.html` and `test_html_export` of `_html.py`.
    """
    if any(_is_use(line, name, in_text=True) for name in code.other_names):
        return True
    if is_mention(line, code.meaning.name):
        return False
    parts = {part.casefold() for part in _IDENTIFIER_PART.findall(line)}
    return any(name.casefold() in parts for name in module_names(code.files))


def _is_use(line: str, word: str, *, in_text: bool) -> bool:
    """Return whether a line uses a name; `in_text` is whether a text in quotes may do so."""
    return (
        word in line
        and has_word(line, word)
        and not is_mention(line, word)
        and (in_text or not is_in_text(line, word))
    )


def _is_named(line: str, code: ChangedCode) -> bool:
    """Return whether a line of a document names a symbol, or its module as code.

    A name that is also a word of prose must be written as code: `login`, login(), Auth.login.
    """
    if any(_names_module(line, file) for file in code.files):
        return True
    return any(_is_written(line, name) for name in (code.meaning.name, *code.other_names))


def _is_written(line: str, name: str) -> bool:
    if name not in line:
        return False
    if not _SINGLE_WORD.fullmatch(name):
        return has_word(line, name)
    word = re.escape(name)
    return re.search(rf"[`.:#]{word}(?!\w)|(?<!\w){word}(?:`|\()", line) is not None


def _names_module(line: str, file: str) -> bool:
    """Return whether a line names a module as code: shop.py, 'shop', `ext.shop`.

    >>> _names_module("extensions=['shop']", "ext/shop.py"), _names_module("a shop", "ext/shop.py")
    (True, False)
    """
    name = file.rpartition("/")[2]
    (stem,) = module_names([file]) or [""]
    if not stem or stem not in line:
        return False
    return (
        re.search(rf"(?<!\w){re.escape(name)}\b|[`'\".]{re.escape(stem)}[`'\"]", line) is not None
    )


def module_names(files: Iterable[str]) -> list[str]:
    """Return the names of modules that say what a document describes.

    >>> module_names(["ext/shop.py", "ext/_html.py", "src/utils.py"])
    ['shop', 'html']
    """
    stems = (file.rpartition("/")[2].partition(".")[0].strip("_") for file in files)
    return [
        stem
        for stem in stems
        if len(stem) >= MIN_NAME_CHARS and stem.casefold() not in _COMMON_MODULES
    ]


def _whole(file: _File, relation: str, symbol: str) -> FileFacts:
    """Return the relation of a file as a whole: as much of it must be printed as of a symbol."""
    lines = [number for number, line in enumerate(file.text, 1) if not is_boilerplate(line)]
    unread = [number for number in lines if number not in file.printed]
    needed = min(len(lines), READ_LINES) - (len(lines) - len(unread))
    first, last = (unread[0], unread[needed - 1]) if needed > 0 else (1, len(file.text))
    shown = _relation(file, symbol, relation, first, last)
    return shown._replace(printed=needed <= 0)


def _quotes(session: Session, file: _File) -> Iterator[FileFacts]:
    """Yield the quotes by which the session has opened a file."""
    for each in session.quoted_files:
        if each.file == file.path:
            line = line_of_quote(each.quote, file.text, file.printed)
            last = min(len(file.text), READ_LINES)
            found = _relation(file, file.path, "quoted", line or 1, line or last)
            yield found._replace(printed=bool(line))
