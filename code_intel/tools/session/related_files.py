"""Find the files that a change usually touches besides the code: tests, documents, change log."""

import re
from collections import Counter
from collections.abc import Collection, Container, Iterable, Sequence
from typing import NamedTuple

from code_intel.errors import CodeIntelError
from code_intel.forest.text.grep import TextMatch, TextQuery, grep
from code_intel.index.corpus import priority
from code_intel.session.open_files import RELATIONS, FileFacts, WriteFacts, is_open
from code_intel.session.state import CodePlace, Session
from code_intel.session.wording import symbol_parts
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.prints import current_text
from code_intel.tools.context.source_file import project_path_of
from code_intel.tools.context.uses.relations import MIN_NAME_CHARS, TESTS, tests_module
from code_intel.tools.context.write_facts import (
    is_change_log,
    module_names,
    write_facts,
)

MAX_MATCHES = 1000
"""Maximum lines with a name to look at."""
MAX_CANDIDATES = 12
"""Maximum files with a name to judge, those with the most names first."""
MAX_PLACES = {"tests": 2, "names": 2, "lists": 1}
"""How many files of a relation to suggest."""
WHOLE_LINES = 60
"""Maximum lines of a file to show whole."""
LINES_BEFORE, LINES_AFTER = 3, 36
"""Lines to show before and after the first line that shows a relation."""
_DOCUMENT = re.compile(r"(?i)(?:^|/)docs?/|\.(?:md|mdx|rst|adoc|asciidoc|org)$")
_ENTRY = re.compile(r"(?i)unreleased|\d+\.\d+")


class RelatedFiles(NamedTuple):
    """Files that may be written, and places that open others once they were printed."""

    open: tuple[str, ...] = ()
    places: tuple[str, ...] = ()


async def related_files(
    context: GatewayContext,
    session: Session,
    symbols: Sequence[CodePlace],
    shown: Container[str] = (),
) -> RelatedFiles:
    """Return the files that relate to symbols on which the change rests, or may rest.

    Files in `shown` are not suggested.
    """
    files = [place.file for place in symbols if place.file]
    named = await _files_with(context, [*_names(symbols), *module_names(files)])
    known = await run_in_thread(_files_by_name, context, files)
    facts = await write_facts(context, session, (*known, *named), symbols)
    order = list(RELATIONS)
    opened = [each for each in facts.files.values() if is_open(each)]
    opened.sort(key=lambda each: order.index(each.relation))
    wanted = [file for file in dict.fromkeys((*known, *named)) if file not in shown]
    places = await run_in_thread(_places, context, facts, wanted)
    return RelatedFiles(tuple(each.file for each in opened), places)


def _names(symbols: Iterable[CodePlace]) -> list[str]:
    names = (part for place in symbols for part in symbol_parts(place.symbol))
    return [name for name in names if len(name) >= MIN_NAME_CHARS]


async def _files_with(context: GatewayContext, names: Collection[str]) -> list[str]:
    """Return the tests and documents that contain a name, those with the most names first."""
    if not names:
        return []
    words = "|".join(sorted({re.escape(name) for name in names}))
    query = TextQuery(rf"\b(?:{words})\b", max_results=MAX_MATCHES)
    try:
        found = await grep(context.root, query, wanted=_is_beside_code)
    except CodeIntelError:  # without ripgrep: only files that are known by their names
        return []
    counts: dict[str, Counter[str]] = {}
    for line in found.matches:
        counts.setdefault(line.file, Counter()).update(
            re.findall(rf"\b(?:{words})\b", line.content)
        )
    order = sorted(counts, key=lambda file: (-len(counts[file]), -counts[file].total(), file))
    return order[:MAX_CANDIDATES]


def _is_beside_code(line: TextMatch) -> bool:
    return priority(line.file) == TESTS or _DOCUMENT.search(line.file) is not None


def _files_by_name(context: GatewayContext, modules: Sequence[str]) -> list[str]:
    """Return the tests named after modules, and the change log; this blocks."""
    indexed = [project_path_of(context, path) for path, _, _ in context.forest.store.digests()]
    at_root = [path.name for path in context.root.iterdir() if path.is_file()]
    logs = {file for file in (*at_root, *indexed) if is_change_log(file)}
    log = min(logs, key=lambda file: (file.count("/"), file), default="")
    tests = sorted(file for file in indexed if tests_module(file, modules))
    return [*tests, *([log] if log else [])]


def _places(context: GatewayContext, facts: WriteFacts, files: Iterable[str]) -> tuple[str, ...]:
    """Return the lines to read of files that are not open yet; this blocks."""
    found: dict[str, list[str]] = {relation: [] for relation in MAX_PLACES}
    for file in files:
        known = facts.files.get(file, FileFacts(file))
        relation = "lists" if known.relation and is_change_log(file) else known.relation
        if is_open(known) or len(found.get(relation, ())) >= MAX_PLACES.get(relation, 0):
            continue
        found[relation].append(_place(known, relation, current_text(context, file)))
    return tuple(place for places in found.values() for place in places)


def _place(known: FileFacts, relation: str, lines: Sequence[str]) -> str:
    """Return the lines of a file to read, as snippets_get takes them."""
    if len(lines) <= WHOLE_LINES:
        return known.file
    line = known.first
    if relation == "lists":
        entries = (number for number, text in enumerate(lines, 1) if _ENTRY.search(text))
        line = next(entries, 1)
    first = max(line - LINES_BEFORE, 1)
    last = max(line + LINES_AFTER, known.last if relation == "tests" else 0)
    return f"{known.file}:{first}-{min(last, len(lines))}"
