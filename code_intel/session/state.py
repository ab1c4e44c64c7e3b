"""Define a session: the result of replaying its journal.

Every field follows from the events alone. The classes are NamedTuples because each hook starts an
interpreter and replays a journal, and importing `dataclasses` alone would take a third of the start
time (docs/decisions/0008).
"""

import os
from collections.abc import Container, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from code_intel.session.frame import Frame, SlotSource, display_width
from code_intel.session.paths import plain_path
from code_intel.session.phases import Event, Intent, Phase
from code_intel.session.risk import Risk
from code_intel.session.wording import fold_symbol, says_something, symbol_parts

CORROBORATION_TOOLS = frozenset({"find_definitions", "find_references"})
FOREST_TOOLS = (
    "start_session",
    "search_forest",
    "search_smart",
    "files_search",
    "context_bundle",
    "semantic_rerank",
)
MAX_SHOWN_SYMBOLS = 10
"""Maximum number of symbols that a call may find for each of them to count as looked at."""
MAX_OPENED_FILES = 30
"""Maximum number of files that a call may find for them to count as opened."""
MAX_FOREST_FILES = 5
"""The same for a forest search, whose files count once one of its symbols is found in the code."""
_MIN_NAME_COLUMNS = 3
"""A shorter name must be a symbol itself, because too many other names contain it."""

Demands = Literal["counts", "evidence"]
MAX_PLAIN_CHARS = 300
"""A longer query is searched for by its slots, if at least `_MIN_SLOTS` are filled."""
_MIN_SLOTS = 2
ReadyBy = Literal["", "question", "map", "understanding", "verification"]
"""What led to READY; empty in other phases."""


class Step(NamedTuple):
    """An event to be journaled; functions that decide return it."""

    event: Event
    data: Mapping[str, Any]


class JournalRecord(NamedTuple):
    """One journaled event; `at` is ISO 8601 in UTC."""

    seq: int
    at: str
    event: Event
    data: Mapping[str, Any]


class Print(NamedTuple):
    """Consecutive lines of a file that an answer contained.

    Attributes:
        file: Path relative to the root.
        first: The first line, counted from 1.
        last: The last line, included.
        digest: SHA-256 (first 16 digits) of the lines, joined, without trailing white space.
    """

    file: str
    first: int
    last: int
    digest: str


class SessionCall(NamedTuple):
    """One tool call of the session.

    Attributes:
        seq: Its number in the journal.
        phase: The phase in which it was made.
        tool: The tool's name.
        target: Its argument: the symbol, pattern, query or path.
        ok: Whether it ended without an error.
        found: How many results it had.
        files: The files it found, relative to the root, at most `steps.MAX_LISTED`.
        symbols: The symbols it found, likewise.
        slot: The frame slot for which `query` made it, or empty.
        printed: The lines that its answer contained.
    """

    seq: int
    phase: Phase
    tool: str
    target: str
    ok: bool
    found: int
    files: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    slot: str = ""
    printed: tuple[Print, ...] = ()

    @property
    def is_specific(self) -> bool:
        """Whether it succeeded and its target is long enough to be specific."""
        if not self.ok or not says_something(self.target, pattern=self.tool == "search_text"):
            return False
        name = symbol_parts(self.target)[-1]
        if self.tool not in CORROBORATION_TOOLS or display_width(name) >= _MIN_NAME_COLUMNS:
            return True
        return name in {symbol_parts(symbol)[-1] for symbol in self.symbols}

    @property
    def is_evidence(self) -> bool:
        """Whether it can be evidence: its target is specific, and it had results."""
        return self.is_specific and self.found > 0

    @property
    def shown_symbols(self) -> tuple[str, ...]:
        """The symbols it has shown: all that it found or, if they are many, those its target names.

        A call for a short fragment may find a hundred definitions, too many to read each of them.
        """
        if not self.is_evidence or len(self.symbols) <= MAX_SHOWN_SYMBOLS:
            return self.symbols if self.is_evidence else ()
        name = symbol_parts(self.target)[-1]
        return tuple(symbol for symbol in self.symbols if name in symbol_parts(symbol))

    @property
    def opened_files(self) -> tuple[str, ...]:
        """The files it has opened: those it found, or none if it found too many."""
        limit = MAX_FOREST_FILES if self.tool in FOREST_TOOLS else MAX_OPENED_FILES
        return self.files if self.is_evidence and len(self.files) <= limit else ()


class MappedSymbol(NamedTuple):
    """A symbol mapped to the target feature.

    Attributes:
        name: Its name.
        source: How far it can be trusted.
        confidence: From 0 to 1.
        evidence: The sentence that says why.
        confirmed: Whether the evidence was accepted.
        unsure: Whether its low similarity raised the risk.
        file: The file that defines it, if the session has settled on one.
        quote: The quote of its code that was accepted.
    """

    name: str
    source: SlotSource
    confidence: float
    evidence: str = ""
    confirmed: bool = False
    unsure: bool = False
    file: str = ""
    quote: str = ""


class CodePlace(NamedTuple):
    """A symbol and the file that defines it, if the session has settled on one."""

    symbol: str
    file: str = ""
    quote: str = ""


class FileQuote(NamedTuple):
    """A quote that was accepted as the reason to write a file."""

    file: str
    quote: str


class Hypothesis(NamedTuple):
    """A statement to verify.

    Attributes:
        text: The statement.
        confidence: `high`, `medium` or `low`.
        symbol: The symbol of the agreement that the hypothesis comes from, if any.
        agreed: Whether that agreement is confirmed.
    """

    text: str
    confidence: str = "medium"
    symbol: str = ""
    agreed: bool = False


class MapCandidate(NamedTuple):
    """An agreement that the map has shown for the session's own words, without answering by it.

    Attributes:
        nl_term: Its term.
        symbol: The symbol's name in the code.
        agreed: The symbol's name in the agreement, which differs after a rename.
        score: Its score, or that of its feature if higher.
    """

    nl_term: str
    symbol: str
    agreed: str
    score: float


class PhaseChange(NamedTuple):
    """One entry of `phase_history`."""

    seq: int
    at: str
    source: str
    target: Phase
    event: Event


class Outcome(NamedTuple):
    """One `record_outcome`; `phase` is the phase at that time."""

    at: str
    outcome: str
    phase: Phase
    analysis: Mapping[str, Any]


class Session(NamedTuple):
    """A session as of its last event, whose number is `seq`.

    Attributes:
        name: Its public name; only its owner knows the handle (`heads`).
        seal: SHA-256 of the secret in its handle.
        root: The path of the project when it began.
        demands: What READY requires: `evidence`, or `counts` as in earlier versions.
        risk_reason: The reason for the risk; empty under the demands of counts.
        phase_seq: Number of the event that led to the current phase.
        missing: What the last submit_understanding lacked, as `key: have/need`.
        short_circuit: The map's last verdict: band, symbol, score, failed guards; or empty.
        candidates: Agreements that searches have shown for the session's own words.
        accepted: Those of them that submissions rest on.
        learned: (nl_term, symbol) pairs that were learned from this session's last outcome.
        created: Those of them for which an agreement was created.
        baseline: Content hashes of the files with uncommitted changes when it began, by path.
        commit: The commit that was checked out when it began; empty if there was none, None if git
            could not tell.
        greenfield: Whether the last submit_understanding found a project without code.
        planned_files: Announced files, which may be created although their folder was not explored.
        neighbours: The code beside which the submission places new symbols.
        verified: What was looked up to verify a hypothesis: symbols, and texts with their file.
        quoted_files: Files that were opened by a quote of them.
        permitted_files: Files that check_write_target has allowed since READY.
        refuted: Symbols that the map proposed and verification rejected.
        map_results: Hits of the last map search: `document`, `symbol`, `score`, `status`.
        forest_results: Hits of the last forest search, likewise.
        warnings: Problems found when the journal was read; not part of the state.
    """

    name: str
    seal: str
    root: str
    intent: Intent
    query: str
    phase: Phase
    started_at: str
    updated_at: str
    seq: int = 1
    phase_seq: int = 1
    demands: Demands = "counts"
    risk: Risk = Risk.HIGH
    risk_reason: str = ""
    frame: Frame | None = None
    symbols: tuple[MappedSymbol, ...] = ()
    calls: tuple[SessionCall, ...] = ()
    map_missed: bool = False
    explored_files: tuple[str, ...] = ()
    hypotheses: tuple[Hypothesis, ...] = ()
    missing: tuple[str, ...] = ()
    phase_history: tuple[PhaseChange, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    ready_by: ReadyBy = ""
    short_circuit: Mapping[str, Any] = MappingProxyType({})
    candidates: tuple[MapCandidate, ...] = ()
    accepted: tuple[MapCandidate, ...] = ()
    learned: tuple[tuple[str, str], ...] = ()
    created: tuple[tuple[str, str], ...] = ()
    refuted: tuple[str, ...] = ()
    baseline: Mapping[str, str] = MappingProxyType({})
    commit: str | None = None
    greenfield: bool = False
    planned_files: tuple[str, ...] = ()
    neighbours: tuple[CodePlace, ...] = ()
    verified: tuple[CodePlace, ...] = ()
    quoted_files: tuple[FileQuote, ...] = ()
    permitted_files: tuple[str, ...] = ()
    map_results: tuple[Mapping[str, Any], ...] = ()
    forest_results: tuple[Mapping[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def ended(self) -> bool:
        """Whether its outcome has been recorded."""
        return bool(self.outcomes)

    @property
    def own_words(self) -> str:
        """The session's map query: the target feature or, until it is set, the raw query."""
        return (self.frame.value("target_feature") if self.frame else "") or self.query

    @property
    def is_risk_provisional(self) -> bool:
        """Whether the risk will be assessed at the submission."""
        return self.demands == "evidence" and not any(s.quote for s in self.symbols)

    @property
    def all_words(self) -> str:
        """The words of the request for a search: the raw query, or all slots if it is long.

        A long query has words that do not describe the code, such as a stack trace.
        """
        slots = self.frame.slots if self.frame else ()
        if len(slots) < _MIN_SLOTS or len(self.query) <= MAX_PLAIN_CHARS:
            return self.query
        return " ".join(slot.value for slot in slots)

    @property
    def unsure(self) -> bool:
        """Whether a confirmed symbol is unsure."""
        return any(symbol.unsure for symbol in self.symbols)

    def symbol(self, name: str) -> MappedSymbol | None:
        """Return the mapped symbol `name`, or None."""
        return next((symbol for symbol in self.symbols if symbol.name == name), None)

    def accepted_for(self, name: str) -> MapCandidate | None:
        """Return the accepted agreement that names the symbol `name`, or None."""
        return next((each for each in self.accepted if each.symbol == name), None)

    @property
    def change_places(self) -> tuple[CodePlace, ...]:
        """What the change rests on: quoted symbols, verified ones, and the one the map answered."""
        places = [CodePlace(s.name, s.file, s.quote) for s in self.symbols if s.quote]
        places += self.verified
        if self.ready_by == "map":
            places.append(CodePlace(str(self.short_circuit["symbol"])))
        return tuple(dict.fromkeys(places))

    @property
    def seen_files(self) -> frozenset[str]:
        """The files this session has looked at: calls returned them, or they are explored.

        Files of a forest search count once one of its symbols is corroborated.
        """
        found = self.corroborated_symbols
        forest_files = (
            call.opened_files
            for call in self.calls
            if call.tool in FOREST_TOOLS and not found.isdisjoint(call.symbols)
        )
        return self.opened_files.union(*forest_files)

    @property
    def opened_files(self) -> frozenset[str]:
        """The `seen_files` without those that only a forest search returned."""
        files = (call.opened_files for call in self.calls if call.tool not in FOREST_TOOLS)
        return frozenset(self.explored_files).union(*files)

    def has_used(self, tool: str) -> bool:
        """Return whether a call of `tool` succeeded and found something in this session.

        For find_references, it is enough that find_definitions found the symbol.
        """
        return any(
            call.tool == tool and (call.is_evidence or self._is_reference_search(call))
            for call in self.calls
        )

    def _is_reference_search(self, call: SessionCall) -> bool:
        """Return whether a call searched for references to a symbol that is defined."""
        name = ".".join(symbol_parts(call.target))
        found = self._found_symbols({"find_definitions"})
        return call.tool == "find_references" and call.ok and name in found

    @property
    def corroborated_symbols(self) -> frozenset[str]:
        """The symbols that find_definitions or find_references found, or whose code was quoted.

        Finding `AuthService.login` also finds `login`, but not the other way round.
        """
        quoted = (symbol.name for symbol in self.symbols if symbol.quote)
        return self._found_symbols(CORROBORATION_TOOLS).union(quoted)

    def _found_symbols(self, tools: Container[str]) -> frozenset[str]:
        """Return the symbols that calls of `tools` have shown, with and without their scopes."""
        names: set[str] = set()
        for call in self.calls:
            if call.tool in tools:
                for symbol in map(fold_symbol, call.shown_symbols):
                    parts = symbol.split(".")
                    names.update(".".join(parts[start:]) for start in range(len(parts)))
        return frozenset(names)

    def relative(self, path: str) -> str:
        """Return a path as calls record it: normalized, and relative if it is below the root."""
        root = self.root.replace(os.sep, "/").rstrip("/")
        return plain_path(path).removeprefix(f"{root}/")
