"""Find the files that a change may break: importers of the changed files and users of their names.

Files that import a changed file directly, or contain a name that only changed files define, must be
reviewed. Indirect importers, and files that contain other names or mention names in prose, should
be reviewed (docs/decisions/0030). Calls that neither import nor name the changed code are not
found.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from code_intel.forest.dependencies.closure import MAX_CLOSURE_DEPTH, MAX_NODES, Node, closure
from code_intel.forest.dependencies.graph import Graph
from code_intel.forest.text.matches import TextMatch
from code_intel.index.corpus import priority
from code_intel.records import Definition

MAX_IMPACT_NAMES = 60
"""Maximum number of names to search for."""
MIN_CHANGED_NAME_CHARS = 3
MAX_LINES = 10
"""Maximum lines reported per file."""
TESTS, PROSE = 2, 1
"""Values of `index.corpus.priority`."""
_NAME = re.compile(r"\w+")


class AffectedFile(NamedTuple):
    """A file that a change may affect.

    Attributes:
        file: Path relative to the project.
        must: Whether it must be reviewed; otherwise it should be.
        depth: Number of import steps to a changed file; 0 if it imports none.
        via: The imported file on the way to the changed one, or empty.
        names: The changed names in it; first those that the description of the change contains.
        lines: The lines with these names.
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
    """Return the documents that import the targets, and whether there are more than the limit."""
    found: dict[str, Node] = {}
    truncated = False
    for target in targets:
        around = closure(graph, target, "inbound", MAX_CLOSURE_DEPTH, MAX_NODES)
        truncated = truncated or around.truncated
        for node in around.nodes:
            if node.path not in found or node.depth < found[node.path].depth:
                found[node.path] = node
    return found, truncated


def names_in(description: str, symbols: Iterable[Definition]) -> set[str]:
    """Return the unqualified names of the symbols that a description mentions."""
    return {
        symbol.name
        for symbol in symbols
        if len(symbol.name) >= MIN_CHANGED_NAME_CHARS
        and re.search(rf"(?<![A-Za-z0-9_]){re.escape(symbol.name)}(?![A-Za-z0-9_])", description)
    }


def names_of(symbols: Iterable[Definition], named: Collection[str]) -> list[str]:
    """Return the unqualified names to search for: those in `named` first, then outer ones."""
    plain = [
        symbol
        for symbol in symbols
        if len(symbol.name) >= MIN_CHANGED_NAME_CHARS
        and _NAME.fullmatch(symbol.name)
        and not symbol.name.startswith("__")
    ]
    plain.sort(key=lambda s: (s.name not in named, s.qualified.count("."), s.file, s.line))
    return list(dict.fromkeys(symbol.name for symbol in plain))


def pattern_of(names: Iterable[str]) -> str:
    """Return a regular expression that matches any of the names as a whole word."""
    return rf"\b(?:{'|'.join(map(re.escape, names))})\b"


def affected_files(
    imports: Mapping[str, Node],
    mentions: Iterable[TextMatch],
    *,
    targets: Collection[str],
    shared: Collection[str],
    named: Collection[str],
) -> list[AffectedFile]:
    """Return the files that a change affects, except the targets; the most important come first.

    Args:
        imports: The importers of the targets, by file; see `importers`.
        mentions: The lines with names that the targets define.
        targets: The changed files.
        shared: The names that other files define as well.
        named: The names in the description of the change.
    """
    lines: dict[str, list[TextMatch]] = {}
    for match in mentions:
        lines.setdefault(match.file, []).append(match)
    files = [file for file in dict.fromkeys([*imports, *lines]) if file not in targets]
    rows = [
        _affected(file, imports.get(file), lines.get(file, ()), shared, named) for file in files
    ]
    return sorted(rows, key=lambda row: _rank(row, named))


def _affected(
    file: str,
    node: Node | None,
    matches: Sequence[TextMatch],
    shared: Collection[str],
    named: Collection[str],
) -> AffectedFile:
    found = dict.fromkeys(text for match in matches for text, _, _ in match.spans)
    names = tuple(sorted(found, key=lambda name: name not in named))
    own = any(name not in shared for name in names) and priority(file) != PROSE
    return AffectedFile(
        file,
        must=own or (node is not None and node.depth == 1),
        depth=node.depth if node else 0,
        via=node.via if node else "",
        names=names,
        lines=tuple(match.line for match in matches[:MAX_LINES]),
        test=priority(file) == TESTS,
    )


def _rank(row: AffectedFile, named: Collection[str]) -> tuple[bool, int, int, int, str]:
    count = sum(name in named for name in row.names)
    return (not row.must, -count, row.depth or MAX_CLOSURE_DEPTH + 1, -len(row.names), row.file)
