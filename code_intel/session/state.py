"""A session: what replaying its journal gives, and nothing else.

Every field follows from the events alone, so a journal copied to another machine gives the same
session. NamedTuples rather than dataclasses, because a hook replays a journal in the time of an
interpreter start and `dataclasses` alone costs a third of it (docs/decisions/0008).
"""

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from code_intel.session.frame import Frame, SlotSource
from code_intel.session.phases import Event, Intent, Phase
from code_intel.session.risk import Risk
from code_intel.session.wording import fold_symbol

CORROBORATING = frozenset({"find_definitions", "find_references"})

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
    def counts(self) -> bool:
        """Whether it may serve as evidence: it succeeded and found something."""
        return self.ok and self.found > 0


class MappedSymbol(NamedTuple):
    """A symbol the session takes the target feature to mean."""

    name: str
    source: SlotSource
    confidence: float
    evidence: str = ""
    confirmed: bool = False


class Hypothesis(NamedTuple):
    """Something to be verified; `symbol` is set when it came from the map."""

    text: str
    confidence: str = "medium"
    symbol: str = ""


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
        phase_seq: Number of the event that led into the current phase.
        missing: What the last submit_understanding lacked, as `key: have/need`.
        short_circuit: The map's last verdict: band, symbol, score, failed guards; or empty.
        learned: (nl_term, symbol) pairs this session has already taught.
        refuted: Symbols the map proposed and verification rejected.
        warnings: What was wrong with the journal when it was read; not part of the state.
    """

    id: str
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
    warnings: tuple[str, ...] = ()

    @property
    def own_words(self) -> str:
        """What the map is judged on: the target feature once framed, the raw query before."""
        return (self.frame.value("target_feature") if self.frame else "") or self.query

    def symbol(self, name: str) -> MappedSymbol | None:
        """Return a mapped symbol by name."""
        return next((known for known in self.symbols if known.name == name), None)

    def used(self, tool: str) -> bool:
        """Whether a call of `tool` succeeded and found something in this session."""
        return any(call.tool == tool and call.counts for call in self.calls)

    def corroborated(self, symbol: str) -> bool:
        """Whether find_definitions or find_references found `symbol` in this session.

        `login` is found with `AuthService.login`, not the other way round.
        """
        return any(
            found == symbol or found.endswith(f".{symbol}")
            for call in self.calls
            if call.tool in CORROBORATING and call.counts
            for found in (fold_symbol(call.target), *call.symbols)
        )

    def relative(self, path: str) -> str:
        """Return a path as calls record it: relative to the root where it lies below it."""
        plain = os.path.normpath(path)
        inside = plain.removeprefix(self.root.rstrip(os.sep) + os.sep)
        return inside.replace(os.sep, "/")
