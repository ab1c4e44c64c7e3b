"""The overview opens through its link, and is accessible in every look."""

import pytest

from browser.visits import LOOKS, Look, Visitor, axe


@pytest.mark.parametrize("look", LOOKS.values(), ids=list(LOOKS))
def test_overview_is_accessible(visitor: Visitor, look: Look) -> None:
    page = visitor.open("/", look)
    assert page.locator("h1").count() == 1
    assert axe(page) == []
