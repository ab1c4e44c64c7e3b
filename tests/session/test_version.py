"""A journal of another version is another program's: it is told, and nothing of it is believed."""

import pytest

from code_intel.errors import SessionError
from code_intel.session.phases import Event
from code_intel.session.replay import JOURNAL_VERSION, apply
from code_intel.session.state import JournalRecord, Session

FIRST = {
    "name": "session_20260101_000000_00000000",
    "seal": "0" * 64,
    "intent": "MODIFY",
    "query": "fix it",
    "root": "/p",
}


def begin(version: object) -> Session:
    data = {**FIRST, "version": version}
    return apply(None, JournalRecord(1, "2026-01-01T00:00:00+00:00", Event.STARTED, data))


@pytest.mark.parametrize(
    "version", [JOURNAL_VERSION + 1, JOURNAL_VERSION - 1, None, str(JOURNAL_VERSION), 99]
)
def test_a_session_of_another_version_is_not_replayed(version: object) -> None:
    with pytest.raises(SessionError, match="version") as caught:
        begin(version)
    assert caught.value.error == "session_broken"


def test_a_session_of_this_version_is() -> None:
    assert begin(JOURNAL_VERSION).query == "fix it"
