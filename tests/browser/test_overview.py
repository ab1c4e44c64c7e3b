"""The overview opens through its link, in every look, and says so when the link was used before."""

from collections.abc import Callable

import pytest

from browser.served_page import ServedPage
from browser.visits import LOOKS, WITHOUT_SCRIPTS, Look, Visitor, axe


@pytest.mark.parametrize("look", LOOKS.values(), ids=list(LOOKS))
def test_overview_is_accessible(visitor: Visitor, look: Look) -> None:
    page = visitor.open("/", look)
    assert page.locator("h1").count() == 1
    assert axe(page) == []
