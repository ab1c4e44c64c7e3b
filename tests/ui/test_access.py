"""Only the browser that opened the link sees the page, and only its own forms write."""

import re
from pathlib import Path

import pytest

from code_intel.ui.access import Access
from page_client import closed_page, opened_page


def test_a_browser_without_the_cookie_learns_nothing_about_the_project(shop: Path) -> None:
    with closed_page(shop) as page:
        for path in ("/", "/map", "/code?file=README.md", "/none", "/openx", "/events"):
            found = page.get(path, 403)
            assert "This browser has not opened the page." in found
            assert shop.name not in found
            assert page.access.csrf not in found


def test_a_link_opens_the_page_once(shop: Path) -> None:
    with closed_page(shop) as page:
        first = page.access.link
        assert "The page is open in this browser." in page.text(first)
        assert page.access.link != first
        page.text("/")
        page.client.cookies.clear()
        assert "This link has been used" in page.text(first, 403)
        page.text("/", 403)
        page.text(page.access.link)
        page.text("/")


def test_a_browser_that_is_in_does_not_use_a_link_up(shop: Path) -> None:
    with opened_page(shop) as page:
        link = page.access.link
        assert "Overview" in page.text(link)
        assert page.access.link == link


def test_the_cookie_is_for_this_port_and_for_no_script(shop: Path) -> None:
    with closed_page(shop) as page:
        sent = page.client.get(page.access.link).headers["set-cookie"]
        assert sent.startswith(f"code_intel_ui_{page.access.port}=")
        assert "HttpOnly" in sent
        assert "SameSite=strict" in sent
        # Browsers send cookies to every port, so the path keeps it from other servers.
        assert f"Path={page.access.path}/;" in f"{sent};"


def test_pages_are_below_a_path_that_other_servers_do_not_know(shop: Path) -> None:
    with opened_page(shop) as page:
        base = f"http://127.0.0.1:{page.access.port}"
        for path in ("/", "/map", "/static/page.css", "/static/nope", page.access.path):
            answer = page.raw.get(f"{base}{path}")
            assert answer.status_code == 403
            assert page.access.path not in answer.text
            assert shop.name not in answer.text
        assert len(page.access.path) > 16
        assert Access(1).path != Access(1).path


def test_every_address_of_a_page_is_below_the_path(shop: Path) -> None:
    with opened_page(shop) as page:
        found = page.raw.get("/").text
        addresses = re.findall(r' (?:href|src|action|hx-get|data-events)="(/[^"]*)"', found)
        assert addresses
        assert all(address.startswith(f"{page.access.path}/") for address in addresses)
        away = page.raw.get("/language?set=en&next=/map", follow_redirects=False)
        assert away.headers["location"] == f"{page.access.path}/map"


def test_text_that_looks_like_an_address_stays_as_it_is(shop: Path) -> None:
    (shop / "page.py").write_text("LINK = '<a href=\"/map\">'\n", encoding="utf-8")
    with opened_page(shop) as page:
        assert '<a href="/map">' in page.text("/code?file=page.py")


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_pages_of_other_servers_open_nothing(shop: Path, site: str) -> None:
    with opened_page(shop) as page:
        headers = {"sec-fetch-site": site}
        assert page.client.get("/", headers=headers).status_code == 403
        assert page.client.get("/", headers={"sec-fetch-site": "same-origin"}).status_code == 200
        form = {"csrf": page.access.csrf}
        assert page.client.post("/update", data=form, headers=headers).status_code == 403


def test_a_form_without_the_token_writes_nothing(shop: Path) -> None:
    with opened_page(shop) as page:
        for csrf in ("", "0" * 64, page.access.csrf[:-1]):
            assert page.post("/update", csrf=csrf).status_code == 403
        assert page.client.post("/update").status_code == 403
        assert not page.project.updater.state.running


def test_a_form_of_another_origin_is_refused(shop: Path) -> None:
    with opened_page(shop) as page:
        form = {"csrf": page.access.csrf}
        for origin in ("https://example.org", "null", f"http://127.0.0.1:{page.access.port + 1}"):
            response = page.client.post("/update", data=form, headers={"origin": origin})
            assert response.status_code == 403
            assert response.json()["error"] == "foreign_origin"


def test_another_name_of_this_machine_is_refused(shop: Path) -> None:
    with opened_page(shop) as page:
        response = page.client.get("/", headers={"host": "rebound.example.org"})
        assert response.status_code == 403
        assert response.json()["error"] == "foreign_host"


def test_a_read_only_page_refuses_every_form_and_shows_none(shop: Path) -> None:
    with opened_page(shop, readonly=True) as page:
        assert page.post("/update").status_code == 403
        assert 'method="post"' not in page.get("/")


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"])
def test_other_methods_are_refused(shop: Path, method: str) -> None:
    with opened_page(shop) as page:
        assert page.client.request(method, "/").status_code == 405


def test_a_form_that_is_no_form_is_refused(shop: Path) -> None:
    with opened_page(shop) as page:
        assert page.client.post("/update", content=b"\xff\xfe=1").status_code == 400
        many = "&".join(f"a{number}=1" for number in range(3000))
        assert page.client.post("/update", content=many.encode()).status_code == 400


def test_every_answer_forbids_what_the_page_does_not_need(shop: Path) -> None:
    with opened_page(shop) as page:
        for path in ("/", "/none", "/static/page.css", "/code?file=../x"):
            headers = page.client.get(path).headers
            assert headers["content-security-policy"].startswith("default-src 'none'; ")
            assert "unsafe" not in headers["content-security-policy"]
            assert headers["x-content-type-options"] == "nosniff"


def test_secrets_differ_between_servers() -> None:
    first, second = Access(1), Access(1)
    assert first.csrf != second.csrf
    assert first.link != second.link
    assert first.csrf not in first.link
