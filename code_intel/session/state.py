"""A session: what replaying its journal gives, and nothing else.

Every field follows from the events alone, so a journal copied to another machine gives the same
session. NamedTuples rather than dataclasses, because a hook replays a journal in the time of an
interpreter start and `dataclasses` alone costs a third of it (docs/decisions/0008).
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

CORROBORATING = frozenset({"find_definitions", "find_references"})
FOREST_TOOLS = (
    "search_forest",
    "search_smart",
    "files_search",
    "context_bundle",
    "semantic_rerank",
)
FEW = 10  # symbols that one call may find and still be about each
MOST_OPENED = 30  # files one call may open: whoever finds more has looked at none of them
MOST_GUESSED = 5  # files one search by meaning may open, once one of its symbols was found
_FRAGMENT = 3  # columns below which a name that is merely contained in others is a fragment

ReadyBy = Literal["", "question", "map", "understanding", "verification"]
"""What led to READY; empty while the session is not there."""


class Step(NamedTuple):
    """An event about to be journaled: what the deciding functions return."""

    event: Event
    data: Mapping[str, Any]


class Record(NamedTuple):
    """One journaled event; `at` is ISO 8601 in UTC."""

    seq: int
    at: str
    event: Event
    data: Mapping[str, Any]


class Call(NamedTuple):
    """One tool call of the session.

    Attributes:
        seq: Its place in the journal.
        phase: The phase it was made in.
        tool: The tool's name.
        target: What it was asked for: the symbol, pattern, query or path.
        ok: Whether it ended without an error.
        found: How many results it had.
        files: Files it found, relative to the root, at most `steps.MOST_LISTED`.
        symbols: Symbols it found, likewise.
        slot: The frame slot it was made for, or empty.
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

    @property
    def asks(self) -> bool:
        """Whether it succeeded, and asked for more than a fragment that is found everywhere."""
        if not self.ok or not says_something(self.target, pattern=self.tool == "search_text"):
            return False
        name = symbol_parts(self.target)[-1]
        if self.tool not in CORROBORATING or display_width(name) >= _FRAGMENT:
            return True
        return name in {symbol_parts(symbol)[-1] for symbol in self.symbols}

    @property
    def counts(self) -> bool:
        """Whether it may serve as evidence: it asked for something and found it."""
        return self.asks and self.found > 0

    @property
    def shows(self) -> tuple[str, ...]:
        """The symbols it was about: all that it found if they are few, else those that it named.

        Whoever asks for a fragment is shown a hundred definitions, and has looked at none of them.
        """
        if not self.counts or len(self.symbols) <= FEW:
            return self.symbols if self.counts else ()
        name = symbol_parts(self.target)[-1]
        return tuple(symbol for symbol in self.symbols if name in symbol_parts(symbol))

    @property
    def opens(self) -> tuple[str, ...]:
        """The files it has looked at: those it found, none when it found too many."""
        most = MOST_GUESSED if self.tool in FOREST_TOOLS else MOST_OPENED
        return self.files if self.counts and len(self.files) <= most else ()


class MappedSymbol(NamedTuple):
    """A symbol the session takes the target feature to mean; `unsure` when its likeness raised the risk."""

    name: str
    source: SlotSource
    confidence: float
    evidence: str = ""
    confirmed: bool = False
    unsure: bool = False


class Hypothesis(NamedTuple):
    """Something to be verified; `symbol` is set when it came from the map, `agreed` when that was confirmed there."""

    text: str
    confidence: str = "medium"
    symbol: str = ""
    agreed: bool = False


class PhaseChange(NamedTuple):
    """One entry of `phase_history`."""

    seq: int
    at: str
    source: str
    target: Phase
    event: Event


class Outcome(NamedTuple):
    """One `record_outcome`; `phase` is where the session was then."""

    at: str
    outcome: str
    phase: Phase
    analysis: Mapping[str, Any]


class Session(NamedTuple):
    """A session as of its last event; `Session.seq` is that event's number.

    Attributes:
        name: What everybody may call it; its handle is known to its owner alone (`handles`).
        seal: SHA-256 of the secret in its handle.
        root: The project, as its path was when it began.
        phase_seq: Number of the event that led into the current phase.
        missing: What the last submit_understanding lacked, as `key: have/need`.
        short_circuit: The map's last verdict: band, symbol, score, failed guards; or empty.
        learned: (nl_term, symbol) pairs this session has already taught.
        baseline: Content hashes of the files that were changed before it began, by path.
        commit: The commit that was checked out then, empty before the first one; None where git could not tell.
        greenfield: Whether the last submit_understanding found nothing to understand yet.
        planned_files: Files that may be created although no folder of theirs was explored.
        refuted: Symbols the map proposed and verification rejected.
        map_results: What the last search of the map returned: `document`, `symbol`, `score`, `status`.
        forest_results: What the last search of the forest returned, likewise.
        warnings: What was wrong with the journal when it was read; not part of the state.
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
    risk: Risk = Risk.HIGH
    frame: Frame | None = None
    symbols: tuple[MappedSymbol, ...] = ()
    calls: tuple[Call, ...] = ()
    map_missed: bool = False
    explored_files: tuple[str, ...] = ()
    hypotheses: tuple[Hypothesis, ...] = ()
    missing: tuple[str, ...] = ()
    phase_history: tuple[PhaseChange, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    ready_by: ReadyBy = ""
    short_circuit: Mapping[str, Any] = MappingProxyType({})
    learned: tuple[tuple[str, str], ...] = ()
    refuted: tuple[str, ...] = ()
    baseline: Mapping[str, str] = MappingProxyType({})
    commit: str | None = None
    greenfield: bool = False
    planned_files: tuple[str, ...] = ()
    map_results: tuple[Mapping[str, Any], ...] = ()
    forest_results: tuple[Mapping[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def own_words(self) -> str:
        """What the map is judged on: the target feature once framed, the raw query before."""
        return (self.frame.value("target_feature") if self.frame else "") or self.query

    @property
    def unsure(self) -> bool:
        """Whether a symbol was confirmed that the feature's name does not surely mean."""
        return any(symbol.unsure for symbol in self.symbols)

    def symbol(self, name: str) -> MappedSymbol | None:
        """Return a mapped symbol by name."""
        return next((known for known in self.symbols if known.name == name), None)

    @property
    def seen_files(self) -> frozenset[str]:
        """The files this session has looked at: its calls returned them, or they are explored.

        Those of a forest search are a guess until one of its symbols has been corroborated.
        """
        found = self._found(CORROBORATING)
        guessed = (
            call.opens
            for call in self.calls
            if call.tool in FOREST_TOOLS and not found.isdisjoint(call.symbols)
        )
        return self.opened_files.union(*guessed)

    @property
    def opened_files(self) -> frozenset[str]:
        """Those of `seen_files` that are no guess: whatever they define was there to be seen."""
        opened = (call.opens for call in self.calls if call.tool not in FOREST_TOOLS)
        return frozenset(self.explored_files).union(*opened)

    def used(self, tool: str) -> bool:
        """Whether a call of `tool` succeeded and found something in this session.

        That a symbol defined here is used nowhere is something found, too.
        """
        return any(
            call.tool == tool and (call.counts or self._is_unused(call)) for call in self.calls
        )

    def _is_unused(self, call: Call) -> bool:
        name = ".".join(symbol_parts(call.target))
        honest = call.tool == "find_references" and call.ok
        return honest and name in self._found({"find_definitions"})

    @property
    def corroborated_symbols(self) -> frozenset[str]:
        """What find_definitions or find_references found in this session; whoever asks for many asks once.

        `login` is found with `AuthService.login`, not the other way round.
        """
        return self._found(CORROBORATING)

    def corroborated(self, symbol: str) -> bool:
        """Whether `symbol` is one of `corroborated_symbols`."""
        return symbol in self.corroborated_symbols

    def _found(self, tools: Container[str]) -> frozenset[str]:
        """Return the symbols that calls of `tools` have found, with and without their scopes."""
        names: set[str] = set()
        for call in self.calls:
            if call.tool in tools:
                for symbol in map(fold_symbol, call.shows):
                    parts = symbol.split(".")
                    names.update(".".join(parts[at:]) for at in range(len(parts)))
        return frozenset(names)

    def relative(self, path: str) -> str:
        """Return a path as calls record it: plain, relative to the root where it lies below it."""
        root = self.root.replace(os.sep, "/").rstrip("/")
        return plain_path(path).removeprefix(f"{root}/")
