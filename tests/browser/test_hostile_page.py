"""What files say is shown as text: no page has an element, a script or a link from it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from browser.pages import HOSTILE_PAGES, places
from browser.served_page import ServedPage, serving_page
from browser.visits import ENGLISH, WITHOUT_SCRIPTS, Look, Visitor, Watch
from demo_project import built
from hostile_texts import HOSTILE

FOREIGN = (
    "[x-hacked], [onerror], [onload], [ontoggle], [onfocus], [onmouseover],"
    " script:not([src*='/static/']), style, iframe, object, base, meta[http-equiv],"
    " [href^='javascript:'], [href^='data:'], [src^='data:'], [href^='//evil'],"
    " [action^='//evil'], [hx-get='/'][hx-trigger='load']"
)
"""Elements and attributes that no page has."""


@pytest.fixture(scope="module")
def hostile_page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPage]:
    root: Path = built(tmp_path_factory.mktemp("hostile") / "shop", "--hostile")
    with serving_page(root) as served:
        yield served


@pytest.fixture
def victim(hostile_page: ServedPage, visiting: Callable[[ServedPage], Visitor]) -> Visitor:
    """Visit the project with hostile texts."""
    return visiting(hostile_page)


@pytest.mark.parametrize("look", [ENGLISH, WITHOUT_SCRIPTS], ids=["scripts", "no scripts"])
@pytest.mark.parametrize("name", HOSTILE_PAGES)
def test_page_shows_hostile_texts_as_text(
    victim: Visitor, watch: Watch, name: str, look: Look
) -> None:
    watch.allow(r"status of 40[049]")  # files that do not exist, a command without a prompt
    page = victim.open(HOSTILE_PAGES[name].format(**places(victim.served.root)), look)
    foreign = page.locator(FOREIGN)
    assert [
        foreign.nth(place).evaluate("e => e.outerHTML") for place in range(foreign.count())
    ] == []
    assert "49 nine" not in page.content()
    if not name.startswith("missing"):
        assert "x-hacked" in page.content(), "no hostile text is on the page"


@pytest.mark.parametrize("text", [text for text in HOSTILE if "<" in text and " x-hacked" in text])
def test_texts_that_became_markup_would_be_found(chromium: Browser, text: str) -> None:
    context = chromium.new_context()
    page = context.new_page()
    page.on("dialog", lambda dialog: dialog.dismiss())
    page.set_content(f'<p title="&quot;">{text} </p>')
    assert page.locator(FOREIGN).count() + page.frames[0].locator("[x-hacked]").count()
    context.close()
