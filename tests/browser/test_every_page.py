"""Every page can be read in every look, by keyboard and without scripts."""

import importlib
import pkgutil
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page
from starlette.routing import Route, compile_path

import code_intel.ui.pages
from browser.pages import PAGES, places
from browser.visits import LOOKS, WITHOUT_SCRIPTS, Look, Visitor, Watch, axe

MISSING = "missing page"
TOO_WIDE = """() => document.documentElement.scrollWidth <= innerWidth ? [] :
    [...document.querySelectorAll("main *")]
        .filter(each => each.getBoundingClientRect().right > innerWidth)
        .map(each => each.outerHTML.slice(0, 200))"""
"""What does not fit into the width of the window."""
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
    assert page.evaluate(TOO_WIDE) == []


@every_page
def test_page_says_the_same_without_scripts(demo_visitor: Visitor, name: str) -> None:
    with_scripts = opened(demo_visitor, name, Look())
    without = opened(demo_visitor, name, WITHOUT_SCRIPTS)
    assert without.title() == with_scripts.title()
    # A script replaces a link to a page by the part of that page.
    replaced = without.locator("main [hx-trigger^=load]").all_inner_texts()
    lines = lines_of(without.locator("main").inner_text())
    missing = lines - lines_of(with_scripts.locator("main").inner_text())
    assert missing <= lines_of("\n".join(replaced))


def lines_of(text: str) -> set[str]:
    return {" ".join(line.split()) for line in text.splitlines()}


@every_page
def test_focus_is_visible_and_begins_with_a_link_to_the_content(
    demo_visitor: Visitor, name: str
) -> None:
    page = opened(demo_visitor, name, Look())
    page.keyboard.press("Tab")
    if not page.locator("[autofocus], [data-focus]").count():
        assert page.evaluate("document.activeElement.getAttribute('href')") == "#content"
    page.keyboard.press("Tab")
    shown = page.evaluate(
        "(({outlineStyle, boxShadow}) => outlineStyle !== 'none' || boxShadow !== 'none')"
        "(getComputedStyle(document.activeElement))"
    )
    assert shown


def routes() -> Iterator[Route]:
    """Yield the routes of the pages, except streams."""
    for module in pkgutil.walk_packages(code_intel.ui.pages.__path__, "code_intel.ui.pages."):
        for route in getattr(importlib.import_module(module.name), "ROUTES", ()):
            if "GET" in route.methods and route.path != "/events":
                yield route


@pytest.mark.parametrize("path", sorted({route.path for route in routes()}))
def test_every_route_has_an_example(path: str) -> None:
    pattern, _, _ = compile_path(path)
    examples = [urlsplit(example).path for example in PAGES.values()]
    assert any(pattern.match(example) for example in examples), "add it to tests/browser/pages.py"
