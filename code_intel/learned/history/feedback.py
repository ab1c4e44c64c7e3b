"""Record what sessions and people do with agreements (docs/decisions/0027)."""

from datetime import UTC, datetime

from code_intel.config import Settings
from code_intel.foundation.redaction import masked
from code_intel.learned.files import agreements
from code_intel.learned.files.agreements import Key
from code_intel.learned.history.experience import AgreementExperience, Kind
from code_intel.learned.history.state import State, open_state
from code_intel.learned.recall.recall import fold


def note(
    settings: Settings,
    key: Key,
    kind: Kind,
    *,
    words: str = "",
    session_id: str = "",
    detail: str = "",
    now: datetime | None = None,
) -> None:
    """Record an event of an agreement and apply its effects.

    A use renews the agreement. A rejection of a query withdraws the query as a confirmed alias.

    Args:
        settings: The project.
        key: The key of the agreement, which need not exist any more.
        kind: The event.
        words: The query; empty for any query.
        session_id: The session; empty for a person.
        detail: The band in which the map offered it, or the cause of a rejection.
        now: The current time.
    """
    now = now or datetime.now(UTC)
    hurry = kind == "offered"  # a caller waits for the answer
    with open_state(settings.state, hurry=hurry) as state, state.transaction():
        note_in(state, key, kind, words=words, session_id=session_id, detail=detail, now=now)


def note_in(
    state: State,
    key: Key,
    kind: Kind,
    *,
    words: str,
    session_id: str,
    detail: str = "",
    now: datetime,
) -> None:
    """Record an event in an open store; see `note`."""
    key, wording = agreements.make_key(*key), fold(masked(words))
    state.add_experience(AgreementExperience(key, kind, wording, session_id, detail, now))
    if kind == "accepted":
        state.record_use(key, now)
    elif kind == "rejected" and wording:
        state.withdraw_alias(key, wording)
