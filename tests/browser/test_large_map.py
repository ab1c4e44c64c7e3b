"""A map of 10,000 agreements can be looked through: in pages, by filters, and without scripts."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from benchmarks.map_scale import business, make
from browser.served_page import ServedPage, serving_page
from browser.visits import WITHOUT_SCRIPTS, Visitor, axe

SIZE = 10_000
pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def large_page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPage]:
    """Serve a project with so many agreements. Building it takes a minute."""
    settings, _ = make(tmp_path_factory.mktemp("large") / "business", SIZE)
    with serving_page(settings.root) as served:
        yield served


@pytest.fixture
def reader(large_page: ServedPage, visiting: Callable[[ServedPage], Visitor]) -> Visitor:
    return visiting(large_page)


@pytest.mark.timeout(900)
def test_list_has_pages_that_lead_to_the_last_entry(reader: Visitor) -> None:
    page = reader.open("/map")
    expect(page.locator("main")).to_contain_text("10,000")
    assert page.locator("main tbody tr").count() <= 100
    assert axe(page) == []
    page.goto(f"{reader.served.home}/map?page=100")
    rows = page.locator("main tbody tr")
    assert rows.count() == 100
    rows.last.locator("a").first.click()
    expect(page).to_have_url(re.compile(r"/map/entry\?file="))
    expect(page.locator("h1")).to_have_count(1)


def test_words_and_states_filter_the_list_while_one_types(reader: Visitor) -> None:
    wanted = business(SIZE)[SIZE // 2].nl_term
    page = reader.open("/map")
    page.get_by_label("Words", exact=False).first.fill(wanted)
    expect(page.locator("main tbody tr")).to_have_count(1)
    expect(page.locator("main tbody")).to_contain_text(wanted)
    expect(page).to_have_url(re.compile(r"[?&]q="))


def test_filter_works_without_scripts(reader: Visitor) -> None:
    wanted = business(SIZE)[SIZE // 2].nl_term
    page = reader.open("/map", WITHOUT_SCRIPTS)
    page.locator("main form [name=q]").fill(wanted)
    page.locator("main form button").first.click()
    expect(page.locator("main tbody tr")).to_have_count(1)
