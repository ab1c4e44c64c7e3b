"""A Chromium for each test file, and fixtures to visit the pages of `code-intel ui`."""

import inspect
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from browser.served_page import PATIENCE_S, ServedPage, serving_page
from browser.visits import FLAGS, Visitor, Watch, origin_of

expect.set_options(timeout=30_000)  # for busy machines; the default is 5 s
FOLDER = Path(__file__).resolve().parent
PROGRAM = FOLDER.parents[1] / ".ci" / "browser"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder `browser`, and refuse asynchronous ones.

    The loop of a browser counts as running in this thread, so they would break later tests.
    """
    for item in items:
        if isinstance(item, pytest.Function) and item.path.is_relative_to(FOLDER):
            if inspect.iscoroutinefunction(item.function):
                raise pytest.UsageError(f"{item.nodeid}: a test in a browser is synchronous")
            item.add_marker(pytest.mark.browser)


@cache
def program() -> str:
    """Return the path of the browser; empty if there is none."""
    done = subprocess.run(
        [PROGRAM], stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", check=False
    )
    return done.stdout.strip()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Start a browser for the tests of a file. Other files may have asynchronous tests."""
    if not program():
        pytest.skip("there is no Chromium; see .ci/browser")
    expect.set_options(timeout=1000 * PATIENCE_S)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program(), args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def watch() -> Iterator[Watch]:
    """Fail the test if a page had an error, a blocked element, a foreign request or a dialog."""
    watch = Watch()
    yield watch
    assert watch.found() == []


@pytest.fixture
def visiting(chromium: Browser, watch: Watch) -> Iterator[Callable[[ServedPage], Visitor]]:
    """Return a function that makes a visitor of a server."""
    visitors: list[Visitor] = []

    def visit(served: ServedPage) -> Visitor:
        watch.origins.append(origin_of(served.link))
        visitors.append(Visitor(chromium, served, watch))
        return visitors[-1]

    yield visit
    for visitor in visitors:
        visitor.close()


@pytest.fixture(scope="module")
def demo_page(read_demo: Path) -> Iterator[ServedPage]:
    """Serve the demo project for the tests of a file, which only read it."""
    with serving_page(read_demo) as served:
        yield served


@pytest.fixture
def demo_visitor(demo_page: ServedPage, visiting: Callable[[ServedPage], Visitor]) -> Visitor:
    """Visit the demo project."""
    return visiting(demo_page)


@pytest.fixture
def ui(shop: Path) -> Iterator[ServedPage]:
    """Serve a copy of the shop, which the test may change."""
    with serving_page(shop) as served:
        yield served


@pytest.fixture
def visitor(ui: ServedPage, visiting: Callable[[ServedPage], Visitor]) -> Visitor:
    """Visit the shop."""
    return visiting(ui)


@pytest.fixture
def page(visitor: Visitor) -> Page:
    """Open the overview of the shop, in English on a light, wide page."""
    return visitor.open()
