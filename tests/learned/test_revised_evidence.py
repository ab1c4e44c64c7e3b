"""Evidence is true of the code after the edit, or says that it is not."""

import pytest

from code_intel.learned.revised_evidence import revised

BEFORE = "def save(value):\n    sign(value)\n    send(value)"
AFTER = "def save(value):\n    if len(value) > MAX:\n        raise TooLarge\n    send(value)"

NOW = "now: `if len(value) > MAX:`]"


@pytest.mark.parametrize(
    ("evidence", "now"),
    [
        ("it sends: `send(value)`", "it sends: `send(value)`"),
        (
            "saved without any size check",
            f"saved without any size check [Written before the last change; {NOW}",
        ),
        (
            "it signs: `sign(value)`",
            f"it signs: `sign(value)` [Outdated: the quoted code has changed; {NOW}",
        ),
    ],
)
def test_a_quote_that_is_gone_is_marked_or_replaced(evidence: str, now: str) -> None:
    once = revised(evidence, BEFORE, AFTER)
    assert once == now
    assert revised(once, BEFORE, AFTER) == now


def test_a_quote_is_replaced_with_the_line_that_follows_it() -> None:
    after = BEFORE.replace("sign(value)", "sign(value, key)")
    assert revised("signs: `sign(value)`", BEFORE, after) == "signs: `sign(value, key)`"


def test_unchanged_code_keeps_its_evidence() -> None:
    assert revised("without any check", BEFORE, BEFORE.replace("    ", "  ")) == "without any check"
