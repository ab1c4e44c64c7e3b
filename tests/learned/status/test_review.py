"""Why an entry of the map waits for a person."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from code_intel.learned.status.review import CONDITIONS, Reason, ReviewEntry, reasons_of

ENTRY = ReviewEntry("agreement", Path("a.md"), "a", "valid", (), datetime.now(UTC))
CASES: dict[Reason, ReviewEntry] = {
    "conflicting": ENTRY._replace(status="conflict"),
    "changed": ENTRY._replace(status="changed"),
    "superseded": ENTRY._replace(kind="note", status="superseded"),
    "disputed": ENTRY._replace(is_disputed=True),
    "unconfirmed": ENTRY._replace(status="unconfirmed"),
}


@pytest.mark.parametrize("reason", CASES)
def test_each_reason_has_its_condition(reason: Reason) -> None:
    assert reasons_of(CASES[reason]) == (reason,)


def test_cases_cover_the_table_and_several_reasons_can_hold() -> None:
    assert CASES.keys() == CONDITIONS.keys()
    both = ENTRY._replace(status="changed", is_disputed=True)
    assert reasons_of(both) == ("changed", "disputed")


@pytest.mark.parametrize("status", ["valid", "unchecked", "expired", "broken", "invalid"])
def test_other_statuses_do_not_wait(status: str) -> None:
    assert reasons_of(ENTRY._replace(status=status)) == ()
