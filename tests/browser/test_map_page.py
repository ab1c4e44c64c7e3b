"""People change the map in a browser: with keys, in several windows, and without scripts."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from browser.pages import places
from browser.served_page import ServedPage, serving_page
from browser.visits import ENGLISH, WITHOUT_SCRIPTS, Look, Visitor, Watch
from code_intel.config import load_settings
from code_intel.learned.proposals.review_file import read_review
from learned.builders import agreements_of, confirmed_keys, rewrite
from map_files import LOGIN, agree, entry_page

both_ways = pytest.mark.parametrize("look", [ENGLISH, WITHOUT_SCRIPTS], ids=["keys", "no scripts"])


@pytest.fixture
def demo_ui(demo: Path) -> Iterator[ServedPage]:
    """Serve a copy of the demo project, which the test may change."""
    with serving_page(demo) as served:
        yield served


@pytest.fixture
def person(demo_ui: ServedPage, visiting: Callable[[ServedPage], Visitor]) -> Visitor:
    """Visit that copy."""
    return visiting(demo_ui)


def press(page: Page, key: str) -> None:
    """Press a key once the page that uses it is there and its scripts listen."""
    page.locator(f'[data-key="{key}"]').wait_for()
    page.wait_for_load_state()
    page.keyboard.press(key)


def use_of(look: Look) -> Callable[[Page, str], None]:
    """Return how a person uses a key: with scripts by pressing it, without by its button."""

    def use(page: Page, key: str) -> None:
        if look.scripts:
            press(page, key)
        else:
            page.locator(f'[data-key="{key}"]').click()

    return use


def proposed(root: Path) -> list[int]:
    """Return the numbers of the open proposals."""
    return [item.number for item in read_review(load_settings(root)).items]


@both_ways
def test_proposals_are_reviewed_one_after_the_other(person: Visitor, look: Look) -> None:
    root = person.served.root
    settings = load_settings(root)
    first, second, third, *_ = read_review(settings).items
    use = use_of(look)
    page = person.open("/map/proposals", look)
    expect(page.locator("article h2")).to_contain_text(first.agreement.nl_term)
    use(page, "s")
    expect(page.locator("article h2")).to_contain_text(second.agreement.nl_term)
    use(page, "n")
    expect(page.get_by_role("status")).to_contain_text("Refused.")
    expect(page.locator("article h2")).to_contain_text(third.agreement.nl_term)
    assert second.key in read_review(settings).refused
    use(page, "z")
    expect(page.get_by_role("status")).to_contain_text("Undone.")
    assert second.number in proposed(root)
    use(page, "y")
    expect(page.get_by_role("status")).to_contain_text("Added and confirmed.")
    assert second.key in confirmed_keys(settings)


def test_a_proposal_is_edited_with_keys(person: Visitor) -> None:
    page = person.open("/map/proposals")
    press(page, "e")
    term = page.get_by_label("Term", exact=True)
    expect(term).to_be_focused()
    term.press("ControlOrMeta+a")
    page.keyboard.type("what we call it")  # has y, n, s and e
    expect(term).to_have_value("what we call it")
    # In a field, y is a letter and no answer.
    page.get_by_label("Evidence to put first").press_sequentially("yes, it says so")
    page.get_by_role("button", name="Show what would change").click()
    expect(page.locator("article h2")).to_contain_text("what we call it")
    press(page, "y")
    expect(page.get_by_role("status")).to_contain_text("Added and confirmed.")
    found = agreements_of(load_settings(person.served.root))
    (agreement,) = (each for each in found.values() if each.nl_term == "what we call it")
    assert agreement.evidence[0] == "yes, it says so"


def test_a_key_that_is_pressed_twice_answers_one_proposal(person: Visitor) -> None:
    before = proposed(person.served.root)
    page = person.open("/map/proposals")
    page.locator('[data-key="n"]').wait_for()
    page.wait_for_load_state()
    page.evaluate(
        """() => ["n", "n", "y"].forEach((key) =>
        document.body.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true})))"""
    )
    expect(page.get_by_role("status")).to_contain_text("Refused.")
    assert proposed(person.served.root) == before[1:]


@both_ways
def test_an_entry_is_confirmed_and_the_change_undone(
    visitor: Visitor, shop: Path, look: Look
) -> None:
    file = agree(shop, *LOGIN, confirmed=False)
    use = use_of(look)
    page = visitor.open(entry_page(file, shop), look)
    use(page, "c")
    expect(page.locator("tr.added pre")).to_have_text("confirmed: true")
    use(page, "y")
    expect(page.get_by_role("status")).to_contain_text("Confirmed.")
    expect(page.locator(".state").first).to_have_text("valid")
    use(page, "z")
    expect(page.get_by_role("status")).to_contain_text("Undone.")
    expect(page.locator(".state").first).to_have_text("unconfirmed")


@both_ways
def test_a_change_in_another_window_is_shown(
    visitor: Visitor, shop: Path, watch: Watch, look: Look
) -> None:
    watch.allow("status of 409")
    file = agree(shop, *LOGIN, confirmed=False)
    use = use_of(look)
    one, two = (visitor.open(entry_page(file, shop), look) for _ in range(2))
    use(one, "c")
    use(two, "c")
    use(one, "y")
    expect(one.get_by_role("status")).to_contain_text("Confirmed.")
    use(two, "y")
    expect(two.get_by_role("alert")).to_contain_text("Nothing was written.")


@both_ways
def test_a_conflict_is_merged_side_by_side(person: Visitor, look: Look) -> None:
    root = person.served.root
    place = places(root)["conflict"]
    page = person.open(f"/map/edit?file={place}", look)
    sides = page.locator(".side section")
    expect(sides).to_have_count(2)
    assert page.locator(".side mark").count() >= 2
    sides.nth(1).get_by_role("button", name="Keep this side").click()
    expect(page.locator("tr.removed pre", has_text="<<<<<<<")).to_have_count(1)
    use_of(look)(page, "y")
    expect(page.get_by_role("status")).to_contain_text("Saved.")
    expect(page.locator(".state").first).not_to_have_text("conflict")


def test_two_servers_lose_nothing(
    shop: Path, visitor: Visitor, visiting: Callable[[ServedPage], Visitor], watch: Watch
) -> None:
    watch.allow("status of 409|net::ERR_")  # the other server ends while its icon is loaded
    file = agree(shop, *LOGIN)
    with serving_page(shop) as other:
        one, two = (
            visitor.open(entry_page(file, shop)),
            visiting(other).open(entry_page(file, shop)),
        )
        for page, text in ((one, "mine"), (two, "theirs")):
            press(page, "e")
            area = page.get_by_label("Text of the file")
            area.fill(area.input_value().replace("does it", text))
            page.get_by_role("button", name="Show what would change").click()
        press(one, "y")
        expect(one.get_by_role("status")).to_contain_text("Saved.")
        press(two, "y")
        expect(two.get_by_role("alert")).to_contain_text("Nothing was written.")
        expect(two.get_by_label("Text of the file")).to_have_value(re.compile("theirs"))
        assert "mine" in file.read_text("utf-8")


def test_the_list_follows_the_filter_while_a_person_types(visitor: Visitor, shop: Path) -> None:
    agree(shop, *LOGIN)
    agree(shop, "fee", "shipping_fee")
    page = visitor.open("/map")
    expect(page.locator("tbody tr")).to_have_count(2)
    page.get_by_label("Words").press_sequentially("shipping")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page).to_have_url(re.compile(r"/map\?q=shipping"))
    page.get_by_role("link", name="Symbol").click()
    expect(page.locator("th[aria-sort=ascending]")).to_have_text(re.compile("Symbol"))
    page.go_back()
    expect(page.locator("tbody tr")).to_have_count(1)


def test_an_entry_loads_its_history_and_its_neighbours(person: Visitor) -> None:
    page = person.open(f"/map/entry?file={places(person.served.root)['entry']}")
    expect(page.locator("#commits details").first).to_be_visible()
    page.locator("#commits summary").first.click()
    expect(page.locator("#commits .diff").first).to_be_visible()
    expect(page.locator("#near")).not_to_contain_text("Show the terms")


def test_a_deleted_entry_is_restored(visitor: Visitor, shop: Path) -> None:
    file = agree(shop, *LOGIN)
    page = visitor.open(entry_page(file, shop))
    press(page, "d")
    press(page, "y")
    expect(page.get_by_role("status")).to_contain_text("Moved to the trash.")
    assert not file.exists()
    page.get_by_role("link", name="Trash").click()
    page.get_by_role("link", name=re.compile("login")).click()
    page.get_by_role("link", name="Restore").click()
    press(page, "y")
    expect(page.get_by_role("status")).to_contain_text("Restored.")
    assert file.exists()


def test_a_rename_follows_the_symbol(visitor: Visitor, shop: Path) -> None:
    file = agree(shop, *LOGIN)
    rewrite(
        shop / "src" / "auth" / "service.py", lambda text: text.replace("def login", "def enter")
    )
    page = visitor.open("/")
    page.get_by_role("button", name="Update both").click()
    expect(page.locator("#freshness progress")).to_have_count(0)
    page = visitor.open(entry_page(file, shop))
    expect(page.locator("main")).to_contain_text("was renamed to AuthService.enter")
    page.get_by_role("link", name="Rename").click()
    expect(page.locator("main")).to_contain_text("now called AuthService.enter")
    press(page, "y")
    expect(page.locator("h1")).to_contain_text("AuthService.enter")
