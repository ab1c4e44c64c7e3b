"""Find, show and confirm agreements of drafts (docs/decisions/0062)."""

import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple

from code_intel.config import Settings
from code_intel.errors import SessionError, StorageError
from code_intel.foundation.text import visible
from code_intel.learned.files.agreements import Key, key_of, look
from code_intel.learned.history import outcomes
from code_intel.learned.history.drafts import (
    OutcomeDraft,
    read_drafts,
    remove_agreement,
)
from code_intel.learned.learn import learn
from code_intel.records import Agreement
from code_intel.session import journal, steps
from code_intel.session.state import Step
from code_intel.tools.context.gateway import sessions_of
from code_intel.tools.session.record_outcome import Analysis, outcome_record

CONFIRMED_BY = "code-intel map confirm"
"""What the log of outcomes names as the reason for the success."""


class DraftedAgreement(NamedTuple):
    """An agreement that only a draft holds."""

    agreement: Agreement
    draft: OutcomeDraft

    @property
    def key(self) -> Key:
        """Its term and symbol."""
        return key_of(self.agreement)


def drafted_agreements(settings: Settings) -> list[DraftedAgreement]:
    """Return the agreements of drafts, of the newest draft first, each key once.

    Those that exist as files are left out.
    """
    found: dict[Key, DraftedAgreement] = {}
    for draft in read_drafts(settings):
        for agreement in draft.agreements:
            found.setdefault(key_of(agreement), DraftedAgreement(agreement, draft))
    if not found:
        return []
    known = look(settings.agreements).by_key
    return [each for key, each in found.items() if key not in known]


def write_drafted(settings: Settings, drafted: DraftedAgreement, *, dry: bool = False) -> None:
    """Write the file of an agreement, unconfirmed; the draft remains.

    Raises:
        UsageError: The agreement is not valid.
        StorageError: The file could not be written.
        BusyError: Another process holds the lock for too long.
    """
    learn(settings, drafted.agreement, confirmed=False, dry=dry)


def end_drafted(settings: Settings, drafted: DraftedAgreement) -> None:
    """Note in the session what it has taught, and take the agreement from the draft.

    An unconfirmed outcome becomes a success. A session of a client that still runs does not end.

    Raises:
        StorageError: A file could not be written.
        BusyError: Another process holds a lock for too long.
    """
    _note_in_session(settings, drafted)
    remove_agreement(settings, drafted.draft.session, drafted.key)


def drafted_row(drafted: DraftedAgreement) -> dict[str, Any]:
    """Return an agreement of a draft as data."""
    agreement = drafted.agreement
    return {
        "nl_term": agreement.nl_term,
        "symbol": agreement.symbol,
        "evidence": list(agreement.evidence),
        "files": [f"{file.path}:{file.line}" for file in agreement.files],
        "session": drafted.draft.session,
        "state": drafted.draft.state(),
        "drafted_at": drafted.draft.drafted_at,
    }


def drafted_line(row: Mapping[str, Any]) -> str:
    """Return a row of `drafted_row` as one line of visible characters."""
    pair = (row["nl_term"], row["symbol"])
    confirm = f"`code-intel map confirm {shlex.join(pair)}` writes it, `map delete` drops it"
    return visible(f"[{row['state']}] {' → '.join(pair)}  (Of {row['session']}; {confirm}.)")


def _note_in_session(settings: Settings, drafted: DraftedAgreement) -> None:
    """Append the steps of a success to the session, if it still exists."""
    paths, draft = sessions_of(settings), drafted.draft
    try:
        session = journal.load(paths, draft.handle)
    except (SessionError, StorageError):  # deleted or damaged: the agreement stays
        return
    added: list[Step] = []
    if not session.ended and draft.state() == "unconfirmed":
        record = outcome_record(session, "success", Analysis(), CONFIRMED_BY)
        outcomes.append(outcomes.folder_of(settings.state), record)
        added.append(steps.outcome("success", Analysis().model_dump(), draft.unpermitted))
    journal.append(paths, draft.handle, *added, steps.learned(*drafted.key))
