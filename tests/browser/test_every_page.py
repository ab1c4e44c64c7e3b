"""Every page can be read in every look, by keyboard and without scripts."""

import pytest
from playwright.sync_api import Page

from browser.pages import PAGES, places
from browser.visits import LOOKS, WITHOUT_SCRIPTS, Look, Visitor, Watch, axe

MISSING = "missing page"
every_page = pytest.mark.parametrize("name", PAGES)
every_look = pytest.mark.parametrize("look", LOOKS.values(), ids=list(LOOKS))


@pytest.fixture(autouse=True)
def _missing(watch: Watch) -> None:
    """Allow what the browser says of the page that does not exist."""
    watch.allow(r"status of 404 .*/nowhere")


def opened(visitor: Visitor, name: str, look: Look) -> Page:
    return visitor.open(PAGES[name].format(**places(visitor.served.root)), look)


@every_look
@every_page
def test_page_is_accessible(demo_visitor: Visitor, name: str, look: Look) -> None:
    page = opened(demo_visitor, name, look)
    assert page.locator("h1").count() == 1
    assert page.locator("html").get_attribute("lang") == look.language[:2]
    assert axe(page) == []
    overflow = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert overflow <= 0, f"{overflow} pixels do not fit"


@every_page
def test_page_says_the_same_without_scripts(demo_visitor: Visitor, name: str) -> None:
    with_scripts = opened(demo_visitor, name, Look())
    without = opened(demo_visitor, name, WITHOUT_SCRIPTS)
    assert without.title() == with_scripts.title()
    assert without.locator("main").inner_text() == with_scripts.locator("main").inner_text()


@every_page
def test_focus_is_visible_and_begins_with_a_link_to_the_content(
    demo_visitor: Visitor, name: str
) -> None:
    page = opened(demo_visitor, name, Look())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('href')") == "#content"
    page.keyboard.press("Tab")
    shown = page.evaluate(
        "(({outlineStyle, boxShadow}) => outlineStyle !== 'none' || boxShadow !== 'none')"
        "(getComputedStyle(document.activeElement))"
    )
    assert shown
