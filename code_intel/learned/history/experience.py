"""What followed when the map offered agreements, and the objections to them (docs/decisions/0027).

Sessions and people reject, succeed and fail. The store has one row for each event. The objections
to an agreement follow from the order of the rows, whatever the clock said. A later success
outweighs them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from code_intel.learned.files.agreements import Key

Kind = Literal["offered", "accepted", "confirmed", "rejected", "failed"]

POSITIVE_KINDS: tuple[Kind, ...] = ("accepted", "confirmed")
"""Kinds that end earlier objections."""

MIN_OBJECTING_SESSIONS = 2
"""Independent sessions that must object until an agreement gives no READY."""

REJECTION_PERIOD = timedelta(days=30)
"""How long the rejection of one session alone keeps its words from an agreement."""


class AgreementExperience(NamedTuple):
    """One thing that happened to an agreement; of one session the same thing counts once.

    Attributes:
        key: The agreement.
        kind: What happened: the map offered it; a session used it with success, unchanged; a
            session learned it again, or a person confirmed it; it was rejected; work that relied on
            it failed.
        wording: The words of the question, as `recall.fold` writes them; empty: any words.
        session_id: The session; empty for a person at a terminal.
        detail: The band of an offer and of what became of it; how a rejection came about.
        at: When, with an offset.
    """

    key: Key
    kind: Kind
    wording: str
    session_id: str
    detail: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Objections:
    """The objections to an agreement now.

    Attributes:
        wordings: Folded words that must not find it.
        doubt: Why it gives no READY, as a sentence; empty when it may.
    """

    wordings: frozenset[str] = frozenset()
    doubt: str = ""


NONE = Objections()


@dataclass(slots=True)
class _Case:
    """The objections to one agreement that nothing has outweighed, by wording and by session."""

    rejected: dict[str, dict[str, datetime]] = field(default_factory=dict)
    doubted: set[tuple[str, str]] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)

    def add(self, found: AgreementExperience) -> None:
        if found.kind == "rejected":
            self.rejected.setdefault(found.wording, {})[found.session_id] = found.at
            self.doubted.add((found.wording, found.session_id))
        elif found.kind == "failed":
            self.failed.add(found.session_id)
        elif found.kind in POSITIVE_KINDS:
            self.doubted.clear()
            self.failed.clear()
            for wording in [found.wording, ""] if found.wording else list(self.rejected):
                self.rejected.pop(wording, None)

    def judged(self, now: datetime) -> Objections:
        standing = (wording for wording in self.rejected if wording and self._holds(wording, now))
        return Objections(frozenset(standing), self._doubt())

    def _holds(self, wording: str, now: datetime) -> bool:
        """One session alone counts for a while; a person, or two sessions, until outweighed."""
        sessions = self.rejected[wording]
        young = any(now - at <= REJECTION_PERIOD for at in sessions.values())
        return young or "" in sessions or len(sessions) >= MIN_OBJECTING_SESSIONS

    def _doubt(self) -> str:
        if "" in self.rejected:
            return "A person has rejected it."
        sessions = {session for _, session in self.doubted}
        wordings = {wording for wording, _ in self.doubted}
        failed = self.failed - sessions
        if min(len(sessions), len(wordings)) + len(failed) < MIN_OBJECTING_SESSIONS:
            return ""
        return (
            f"Sessions that rejected it: {len(sessions)}; "
            f"that failed after relying on it: {len(failed)}. "
            "Nothing has confirmed it since."
        )


def weigh(experiences: Iterable[AgreementExperience], now: datetime) -> Mapping[Key, Objections]:
    """Return the objections to each agreement; pure.

    Rejected words do not find the agreement until a success with these words, or a person's
    confirmation. Words that only one session rejected find it again after `REJECTION_PERIOD`. Doubt
    needs `DOUBTERS` sessions, each with words of its own or a failure, or one person. Any success
    with the agreement ends the doubt.

    Args:
        experiences: In the order in which they happened.
        now: With an offset.
    """
    cases: dict[Key, _Case] = {}
    for found in experiences:
        cases.setdefault(found.key, _Case()).add(found)
    judged = {key: case.judged(now) for key, case in cases.items()}
    return {key: objections for key, objections in judged.items() if objections != NONE}
