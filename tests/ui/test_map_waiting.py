"""What waits for a person, and what is in the trash."""

import html
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from code_intel.config import load_settings
from code_intel.learned.files import trash
from code_intel.learned.history.drafts import OutcomeDraft, write_draft
from code_intel.records import Agreement, FileReference
from code_intel.ui.pages.map.review import PAGE_SIZE
from forms import submit
from learned.builders import agreements_of, confirmed_keys, rewrite
from map_files import LOGIN, agree
from page_client import opened_page, text_of


def test_nothing_waits_in_a_map_that_is_confirmed(shop: Path) -> None:
    agree(shop, *LOGIN)
    with opened_page(shop) as page:
        assert "Nothing waits." in page.text("/map/review")


def test_what_waits_is_shown_with_its_reason_and_code(shop: Path) -> None:
    agree(shop, "fee", "shipping_fee", "`Decimal` it is", confirmed=False)
    changed = agree(shop, *LOGIN)
    rewrite(changed, lambda text: re.sub(r'symbol_digest: ".*"', 'symbol_digest: "0"', text))
    with opened_page(shop) as page:
        text = page.text("/map/review")
        assert "the code has changed 1" in text
        assert "not confirmed yet 1" in text
        assert "def shipping_fee(total: Decimal, zone: str)" in text
        only = page.text("/map/review?reason=changed")
        assert "login" in only
        assert "shipping_fee" not in only
        assert "Waiting 2" in page.text("/map")


def test_many_waiting_entries_have_pages(shop: Path) -> None:
    folder = shop / ".code-intel" / "agreements"
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(PAGE_SIZE + 1):
        text = f"---\nnl_term: term {number:03}\nsymbol: AuthService\n---\n"
        (folder / f"{number:03}.md").write_text(text, "utf-8")
    with opened_page(shop) as page:
        assert f"term {PAGE_SIZE - 1:03}" in page.text("/map/review")
        last = page.text("/map/review?reason=unconfirmed&page=2")
        assert f"term {PAGE_SIZE:03}" in last
        assert "term 000" not in last


def test_the_trash_shows_what_was_deleted_last_first(shop: Path) -> None:
    settings = load_settings(shop)
    first, second = agree(shop, *LOGIN), agree(shop, "<b>fee", "shipping_fee")
    for day, file in enumerate((first, second), 1):
        trash.move(settings, file, now=datetime(2026, 3, day, tzinfo=UTC))
    trash.keep(settings, "sub/<i>.md", b"nothing", now=datetime(2026, 1, 1, tzinfo=UTC))
    with opened_page(shop) as page:
        found = page.get("/map/trash")
        text = text_of(found)
        assert text.index("shipping_fee") < text.index("AuthService.login") < text.index("<i>.md")
        assert "<b>" not in found
        (address, *_) = re.findall(r'href="(/map/trash/file[^"]*)"', found)
        assert 'nl_term: "<b>fee"' in page.text(address)
        page.get("/map/trash/file?name=none", 404)


def test_an_empty_trash_says_so(shop: Path) -> None:
    with opened_page(shop) as page:
        assert "The trash is empty." in page.text("/map/trash")


def test_an_agreement_of_a_draft_is_confirmed(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODE_INTEL_EMBEDDING", "off")
    settings = load_settings(shop)
    drafted = Agreement(*LOGIN, ("`verify_password` <b>",), (FileReference("src/auth/service.py"),))
    at = datetime.now(UTC).isoformat()
    write_draft(settings, OutcomeDraft("session_x", "session_x_h", at, agreements=(drafted,)))
    with opened_page(shop) as page:
        found = page.get("/map/review")
        assert "Drafts of sessions" in text_of(found)
        assert "verify_password <b>" in text_of(found)
        (address,) = re.findall(r'href="(/map/draft[^"]*)"', found)
        shown = page.get(html.unescape(address))
        assert agreements_of(settings) == {}
        after = submit(page, shown, "/map/draft")
        assert "Confirmed. Commit the file to share it." in text_of(after)
        assert confirmed_keys(settings) == {LOGIN}
        assert "Drafts of sessions" not in page.text("/map/review")
        undone = submit(page, after, "/map/undo")
        assert "Drafts of sessions" in text_of(undone)
        assert agreements_of(settings) == {}
        page.get("/map/draft?term=none&symbol=none", 404)
