"""Derive the objections to agreements from what sessions and people did (docs/decisions/0027).

The state store has one row per event. The objections to an agreement follow from the order of the
rows, not from their times. A later success outweighs them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from code_intel.learned.files.agreements import Key

Kind = Literal["offered", "accepted", "confirmed", "rejected", "failed"]

POSITIVE_KINDS: tuple[Kind, ...] = ("accepted", "confirmed")
"""Kinds of events that end earlier objections."""

MIN_OBJECTING_SESSIONS = 2
"""Number of independent sessions whose objections keep an agreement from leading to READY."""

REJECTION_PERIOD = timedelta(days=30)
"""Time for which the rejection of a single session keeps its query from finding an agreement."""


class AgreementExperience(NamedTuple):
    """An event of an agreement. The same event of one session counts once.

    Attributes:
        key: The key of the agreement.
        kind: The event: `offered` by the map; `accepted`, if a session succeeded with it unchanged;
            `confirmed` by a person or learned again by a session; `rejected`; `failed`, if work
            that relied on it failed.
        wording: The query, folded with `recall.fold`; empty for any query.
        session_id: The session; empty for a person at a terminal.
        detail: The band in which the map offered it, or the cause of a rejection.
        at: The time, with an offset.
    """

    key: Key
    kind: Kind
    wording: str
    session_id: str
    detail: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Objections:
    """The current objections to an agreement.

    Attributes:
        wordings: Folded queries that must not find the agreement.
        doubt: Why the agreement does not lead to READY, as a sentence; empty if it may.
        is_rejected: Whether a person has rejected it for any query.
    """

    wordings: frozenset[str] = frozenset()
    doubt: str = ""
    is_rejected: bool = False


NO_OBJECTIONS = Objections()


@dataclass(slots=True)
class _Case:
    """The objections to one agreement that no success has outweighed, by query and by session."""

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

    def objections(self, now: datetime) -> Objections:
        active = (wording for wording in self.rejected if wording and self._is_active(wording, now))
        return Objections(frozenset(active), self._doubt(), "" in self.rejected)

    def _is_active(self, wording: str, now: datetime) -> bool:
        """Return whether a rejection counts; that of one session alone expires."""
        sessions = self.rejected[wording]
        is_recent = any(now - at <= REJECTION_PERIOD for at in sessions.values())
        return is_recent or "" in sessions or len(sessions) >= MIN_OBJECTING_SESSIONS

    def _doubt(self) -> str:
        if "" in self.rejected:
            return "A person has rejected it."
        sessions = {session for _, session in self.doubted}
        wordings = {wording for wording, _ in self.doubted}
        failed = self.failed - sessions
        if min(len(sessions), len(wordings)) + len(failed) < MIN_OBJECTING_SESSIONS:
            return ""
        return (
            f"Sessions that rejected it: {len(sessions)}. "
            f"Other sessions that failed after relying on it: {len(failed)}. "
            "Nothing has confirmed it since."
        )


def weigh(experiences: Iterable[AgreementExperience], now: datetime) -> Mapping[Key, Objections]:
    """Return the objections to each agreement. Pure.

    A rejected query does not find the agreement until a success with this query, or a person's
    confirmation; if only one session rejected it, at most for `REJECTION_PERIOD`. Doubt needs one
    person, or `MIN_OBJECTING_SESSIONS` sessions that rejected different queries or failed. Any
    success with the agreement ends the doubt.

    Args:
        experiences: The events, in the order in which they happened.
        now: The current time, with an offset.
    """
    cases: dict[Key, _Case] = {}
    for found in experiences:
        cases.setdefault(found.key, _Case()).add(found)
    weighed = {key: case.objections(now) for key, case in cases.items()}
    return {key: objections for key, objections in weighed.items() if objections != NO_OBJECTIONS}
