"""The page says when the server is gone, and works with the next one on the same port."""

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import expect

from browser.served_page import ServedPage, serving_page
from browser.visits import Visitor, Watch


def test_page_says_that_the_server_is_gone_and_works_with_the_next_one(
    shop: Path, visiting: Callable[[ServedPage], Visitor], watch: Watch
) -> None:
    watch.allow(r"net::ERR_|htmx\.min\.js")  # a part of the page was being loaded
    with serving_page(shop) as first:
        page = visiting(first).open()
        banner = page.locator("#connection")
        expect(banner).to_be_hidden()
        assert first.stop() == 130
        expect(banner).to_be_visible()
        expect(banner).to_contain_text("code-intel ui")
        port = first.port
    with serving_page(shop, port=port) as second:
        watch.allow(r"status of 40[13]")  # the cookie of the first server
        page.goto(second.link)
        page.wait_for_url(f"{second.home}/")
        expect(page.locator("#connection")).to_be_hidden()
        expect(page.locator("h1")).to_have_text("Overview")


def test_a_used_link_shows_nothing_of_the_project(
    ui: ServedPage, visitor: Visitor, watch: Watch
) -> None:
    watch.allow(r"status of 403")
    visitor.open()
    ui.cookies.clear()
    page = visitor.browser.new_page()
    page.goto(ui.link)
    expect(page.locator("body")).not_to_contain_text(str(ui.root))
    expect(page.locator("body")).to_contain_text("code-intel ui")
    page.close()
