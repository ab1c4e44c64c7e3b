"""Merge the results of a plan's calls into one list of places, each with a confidence.

The table `CONFIDENCE_RULES` gives the confidence, which depends on how a place was found. A place
that several calls found gets the highest of their confidences (docs/decisions/0031).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from code_intel.session.router import PlannedCall
from code_intel.session.state import MAX_OPENED_FILES, MAX_SHOWN_SYMBOLS
from code_intel.session.wording import symbol_parts
from code_intel.tools.wire.answers import tokens
from code_intel.tools.wire.suspicion import flags_of

FOREST = "search_forest"
_FILE_TOOLS = ("find_definitions", "find_references", "search_text", "get_symbols")
_NO_RANKS: Mapping[str, int] = MappingProxyType({})
MAX_SNIPPET_TOKENS = 60
"""Maximum tokens of a place's text; snippets_get shows the rest."""


class Output(NamedTuple):
    """The result of one call of a plan.

    Attributes:
        step: The call.
        data: Its answer; empty if it failed.
        error: Why it failed; empty if it succeeded.
    """

    step: PlannedCall
    data: Mapping[str, Any] = MappingProxyType({})
    error: str = ""

    @property
    def rows(self) -> list[Mapping[str, Any]]:
        """The rows of the answer that are places in files."""
        lists = ROW_FIELDS[self.step.tool].lists
        return [row for name in lists for row in self.data.get(name, ())]

    @property
    def is_vague(self) -> bool:
        """Whether it found too many places to count them as looked at."""
        rows, tool = self.rows, self.step.tool
        files = len({row["file"] for row in rows}) if tool in _FILE_TOOLS else 0
        limit = {"find_definitions": MAX_SHOWN_SYMBOLS, "get_symbols": 1}.get(
            tool, MAX_OPENED_FILES
        )
        count = len(rows) if tool == "find_definitions" else files
        return count > limit or bool(tool in _FILE_TOOLS and self.data.get("truncated"))

    def looked_at(self, shown: Sequence["CallFinding"]) -> list["CallFinding"]:
        """Return the places that count as looked at; if vague, only definitions of the symbol."""
        if not self.is_vague:
            return list(shown)
        if self.step.tool != "find_definitions":
            return []
        name = symbol_parts(str(self.step.params["symbol"]))[-1]
        return [finding for finding in shown if symbol_parts(finding.symbol_name)[-1] == name]


class CallFinding(NamedTuple):
    """A place in a file; `found_by` contains the indexes of the calls that found it."""

    file_path: str
    symbol_name: str
    start_line: int
    end_line: int
    content_snippet: str
    source_tool: str
    confidence: float
    found_by: tuple[int, ...] = ()

    @property
    def data(self) -> dict[str, Any]:
        """The finding on the wire."""
        data = {name: value for name, value in self._asdict().items() if name != "found_by"}
        return data | flags_of(self.file_path, self.symbol_name, self.content_snippet)

    def overlaps(self, other: "CallFinding") -> bool:
        """Return whether one of the two contains the other."""
        outer, inner = sorted((self, other), key=lambda f: f.start_line - f.end_line)
        contains = outer.start_line <= inner.start_line and inner.end_line <= outer.end_line
        return self.file_path == other.file_path and contains


class _RowFields(NamedTuple):
    """Where a tool's answer lists its rows, and the fields of a row."""

    lists: tuple[str, ...]
    file: str = "file"
    line: str = "line"
    end: str = "line"
    symbol: str = "name"
    text: str = ""


ROW_FIELDS: Mapping[str, _RowFields] = MappingProxyType(
    {
        "find_definitions": _RowFields(("definitions",), end="end_line", text="signature"),
        "find_references": _RowFields(("references",), symbol="", text="content"),
        "search_text": _RowFields(
            ("matches",), line="line_number", end="line_number", symbol="", text="line_content"
        ),
        "get_symbols": _RowFields(("symbols",), text="kind"),
        "analyze_structure": _RowFields(
            ("functions", "classes"), line="start_line", end="end_line", text="signature"
        ),
        FOREST: _RowFields(
            ("results",), "document", "start_line", "end_line", symbol="symbol", text="chunk"
        ),
    }
)


class _ConfidenceRule(NamedTuple):
    """A row of `CONFIDENCE_RULES`."""

    tool: str
    holds: Callable[[Output, Mapping[str, Any]], bool]
    confidence: float


def _is_exact(output: Output, row: Mapping[str, Any]) -> bool:
    wanted, found = symbol_parts(str(output.step.params["symbol"])), symbol_parts(str(row["name"]))
    return found[-len(wanted) :] == wanted


CONFIDENCE_RULES: tuple[_ConfidenceRule, ...] = (
    _ConfidenceRule("find_definitions", _is_exact, 0.95),
    _ConfidenceRule("find_definitions", lambda *_: True, 0.8),
    _ConfidenceRule("find_references", lambda *_: True, 0.7),
    _ConfidenceRule("search_text", lambda output, _: not output.is_vague, 0.6),
    _ConfidenceRule("get_symbols", lambda *_: True, 0.5),
    _ConfidenceRule("analyze_structure", lambda *_: True, 0.5),
    _ConfidenceRule("search_text", lambda *_: True, 0.4),
    _ConfidenceRule(FOREST, lambda *_: True, 0.3),
)
"""The first rule for a tool that holds gives the confidence. Listed symbols of a file get less,
because they may have nothing to do with the question."""


def merged(outputs: Sequence[Output], ranks: Mapping[str, int] = _NO_RANKS) -> list[CallFinding]:
    """Merge the places that calls have found, without duplicates.

    The places of one call are ordered by confidence, then so that each file comes once before any
    comes again, then by the rank of the file (`ranks`; 0 is best). Calls take turns, so that no
    tool crowds out another. If one place contains another, the one with the higher confidence
    represents both.
    """
    kept: list[CallFinding] = []
    queues = [_queue(_places(index, output), ranks) for index, output in enumerate(outputs)]
    for finding in _in_turn(queues):
        same = next((i for i, other in enumerate(kept) if other.overlaps(finding)), None)
        if same is None:
            kept.append(finding)
        else:
            previous = kept[same]
            calls = tuple(dict.fromkeys((*previous.found_by, *finding.found_by)))
            best = max(previous, finding, key=lambda f: f.confidence)
            kept[same] = best._replace(found_by=calls)
    return kept


def _queue(found: Iterable[CallFinding], ranks: Mapping[str, int]) -> list[CallFinding]:
    """Return the places of one call, best first; see `merged`."""
    counts: Counter[str] = Counter()
    rows: list[tuple[float, int, int, CallFinding]] = []
    for finding in found:
        rank = ranks.get(finding.file_path, len(ranks))
        rows.append((-finding.confidence, counts[finding.file_path], rank, finding))
        counts[finding.file_path] += 1
    return [finding for *_, finding in sorted(rows, key=lambda row: row[:3])]


def _in_turn(queues: Sequence[Sequence[CallFinding]]) -> Iterator[CallFinding]:
    for turn in range(max(map(len, queues), default=0)):
        first = [queue[turn] for queue in queues if turn < len(queue)]
        yield from sorted(first, key=lambda finding: -finding.confidence)


def _places(index: int, output: Output) -> Iterator[CallFinding]:
    tool = output.step.tool
    fields = ROW_FIELDS[tool]
    for row in output.rows:
        confidence = next(
            rule.confidence
            for rule in CONFIDENCE_RULES
            if rule.tool == tool and rule.holds(output, row)
        )
        line = int(row[fields.line] or 0)
        yield CallFinding(
            str(row.get(fields.file) or output.step.params.get("file_path", "")),
            str(row.get(fields.symbol) or ""),
            line,
            max(int(row.get(fields.end) or 0), line),
            _snippet(str(row.get(fields.text) or "")),
            tool,
            confidence,
            (index,),
        )


def _snippet(text: str) -> str:
    """Return the first non-blank line of a text, cut to `MAX_SNIPPET_TOKENS`."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    while tokens(line) > MAX_SNIPPET_TOKENS:
        line = f"{line[: len(line) * 3 // 4]}…"
    return line
