"""Record what sessions and people do with an agreement from the map (docs/decisions/0027)."""

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
    """Remember what came of an agreement, and do what follows from it.

    A use keeps it young. A rejection takes from its words whatever sessions had confirmed of them.

    Args:
        settings: The project.
        key: Which agreement; it need not exist any more.
        kind: What happened.
        words: What it was asked with; empty: in any words.
        session_id: The session; empty for a person.
        detail: The band it was offered in, or how a rejection came about.
        now: When.
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
    """Do the work of `note` for a caller that holds the store."""
    key, wording = agreements.make_key(*key), fold(masked(words))
    state.note(AgreementExperience(key, kind, wording, session_id, detail, now))
    if kind == "accepted":
        state.use(key, now)
    elif kind == "rejected" and wording:
        state.withdraw_alias(key, wording)
