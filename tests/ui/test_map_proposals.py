"""Review proposals on the page: yes, no, edit and skip, each by a plain form or link."""

import html
import re
from dataclasses import replace
from pathlib import Path

import pytest

from code_intel.config import load_settings
from code_intel.learned.proposals.review_file import ReviewItem, read_review, write_review
from code_intel.records import Agreement, FileReference
from forms import forms_of, submit
from learned.builders import agreements_of, confirmed_keys, rewrite
from map_files import LOGIN
from page_client import opened_page, text_of

PROPOSALS, REFUSE, UNDO = "/map/proposals", "/map/proposals/refuse", "/map/undo"
SERVICE, SHIPPING = "src/auth/service.py", "src/cart/shipping.py"


@pytest.fixture(autouse=True)
def words_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODE_INTEL_EMBEDDING", "off")


def propose(root: Path, *more: ReviewItem) -> None:
    """Write two proposals for review, as `code-intel map propose` does."""
    items = (
        ReviewItem(
            1,
            Agreement(
                *LOGIN,
                evidence=("`verify_password`", "<script>alert(1)</script>"),
                files=(FileReference(SERVICE, 29),),
                extra=(("owner", "team-<b>"),),
            ),
            0.87,
            (29, 34),
            (("a" * 40, "Let <i>customers</i> sign in"),),
            ("README.md:1",),
        ),
        ReviewItem(
            4,
            Agreement("fee", "shipping_fee", ("a fee",), (FileReference(SHIPPING, 9),)),
            0.5,
            (9, 20),
        ),
    )
    write_review(load_settings(root), (*items, *more))


def test_without_proposals_the_page_says_how_to_get_some(shop: Path) -> None:
    with opened_page(shop) as page:
        assert "code-intel map propose" in page.text(PROPOSALS)


def test_a_proposal_is_shown_with_its_code_evidence_and_sources(shop: Path) -> None:
    propose(shop)
    with opened_page(shop) as page:
        found = page.get(PROPOSALS)
        text = text_of(found)
        for part in (
            "1 of 2",
            "login → AuthService.login",
            "87 %",
            "team-<b>",
            "Let <i>customers</i> sign in",
            "<script>alert(1)</script>",
            "def login(self, credentials: Credentials) -> str:",
        ):
            assert part in text
        assert "<script>alert" not in found
        assert 'href="/code?file=README.md&amp;start=1&amp;end=1#L1"' in found
        keys = re.findall(r'data-key="(\w)"', found)
        assert keys == ["y", "n", "e", "s"]


def test_yes_adds_and_confirms_it_and_goes_on(shop: Path) -> None:
    propose(shop)
    settings = load_settings(shop)
    with opened_page(shop) as page:
        after = submit(page, page.get(PROPOSALS), PROPOSALS)
        assert "Added and confirmed." in text_of(after)
        assert "fee → shipping_fee" in text_of(after)
        assert confirmed_keys(settings) == {LOGIN}
        assert [item.number for item in read_review(settings).items] == [4]
        undone = submit(page, after, UNDO)
        assert "Undone. login → AuthService.login" in text_of(undone)
        assert agreements_of(settings) == {}
        assert [item.number for item in read_review(settings).items] == [1, 4]


def test_no_refuses_it_for_good_until_undone(shop: Path) -> None:
    propose(shop)
    settings = load_settings(shop)
    with opened_page(shop) as page:
        after = submit(page, page.get(PROPOSALS), REFUSE)
        assert "Refused. It will not be proposed again." in text_of(after)
        assert read_review(settings).refused == {LOGIN}
        assert "fee → shipping_fee" in text_of(after)
        submit(page, after, UNDO)
        assert read_review(settings).refused == frozenset()
        assert [item.number for item in read_review(settings).items] == [1, 4]


@pytest.mark.parametrize("path", [PROPOSALS, REFUSE])
def test_a_number_that_now_means_another_proposal_is_not_decided(shop: Path, path: str) -> None:
    propose(shop)
    settings = load_settings(shop)
    with opened_page(shop) as page:
        shown = page.get(PROPOSALS)
        (_, fee) = read_review(settings).items
        write_review(settings, [replace(fee, number=1)])
        again = submit(page, shown, path, 409)
        assert "Nothing was written." in text_of(again)
        assert "fee → shipping_fee" in text_of(again)
        assert read_review(settings).refused == set()
        assert agreements_of(settings) == {}
        submit(page, again, path)
        assert read_review(settings).items == ()


@pytest.mark.parametrize(
    ("path", "notice"), [(PROPOSALS, "Added and confirmed."), (REFUSE, "Refused.")]
)
def test_a_key_that_is_pressed_twice_decides_once(shop: Path, path: str, notice: str) -> None:
    propose(shop)
    settings = load_settings(shop)
    with opened_page(shop) as page:
        shown = page.get(PROPOSALS)
        for _ in range(2):
            assert notice in text_of(submit(page, shown, path))
        assert [item.number for item in read_review(settings).items] == [4]


def test_no_key_decides_while_a_proposal_is_edited(shop: Path) -> None:
    propose(shop)
    with opened_page(shop) as page:
        found = page.get(PROPOSALS)
        (edit,) = re.findall(r'href="([^"]*edit=1[^"]*)"', found)
        assert "#" not in edit
        asked = page.get(html.unescape(edit))
        assert "data-key" not in asked
        assert not forms_of(asked, PROPOSALS)
        assert not forms_of(asked, REFUSE)
        assert re.search(r'<input name="term"[^>]* data-focus>', asked)
        assert "autofocus" not in asked


def test_skip_leads_to_the_next_one(shop: Path) -> None:
    propose(shop)
    with opened_page(shop) as page:
        (skip,) = re.findall(
            r'href="(/map/proposals\?number=\d+)" data-key="s"', page.get(PROPOSALS)
        )
        last = page.get(skip)
        assert "2 of 2" in text_of(last)
        assert 'data-key="s"' not in last
        assert 'data-key="p"' in last


def test_an_edited_proposal_is_added_with_its_new_term_and_evidence(shop: Path) -> None:
    propose(shop)
    settings = load_settings(shop)
    with opened_page(shop) as page:
        asked = page.get(f"{PROPOSALS}?number=1&edit=1")
        fields = forms_of(asked, PROPOSALS, "get")[0]
        assert fields == {"number": "1", "term": "login", "sentence": ""}
        shown = page.get(f"{PROPOSALS}?number=1&term=Sign+in&sentence=It+checks")
        assert "Sign in → AuthService.login" in text_of(shown)
        submit(page, shown, PROPOSALS)
        (agreement,) = agreements_of(settings).values()
        assert (agreement.nl_term, agreement.evidence[0]) == ("Sign in", "It checks")
        assert confirmed_keys(settings) == {("Sign in", "AuthService.login")}


def test_a_term_that_is_not_valid_is_refused_with_the_form(shop: Path) -> None:
    propose(shop)
    with opened_page(shop) as page:
        answer = page.get(f"{PROPOSALS}?number=1&term=a%E2%80%8Bb", 400)
        assert "invisible character" in text_of(answer)
        assert forms_of(answer, PROPOSALS, "get")


def test_a_proposal_whose_symbol_is_gone_cannot_be_added(shop: Path) -> None:
    propose(shop)
    rewrite(shop / SERVICE, lambda text: text.replace("def login", "def enter"))
    with opened_page(shop) as page:
        page.project.writing().forest.complete(words_only=True)
        found = page.get(PROPOSALS)
        assert "AuthService.login is no longer defined in src/auth/service.py." in text_of(found)
        assert not forms_of(found, PROPOSALS)
        assert forms_of(found, REFUSE)


def test_a_proposal_that_another_window_has_closed_is_not_added_twice(shop: Path) -> None:
    propose(shop)
    with opened_page(shop) as one, opened_page(shop) as two:
        first, second = one.get(PROPOSALS), two.get(PROPOSALS)
        submit(one, first, REFUSE)
        assert "not open any more" in text_of(submit(two, second, PROPOSALS, 404))
        assert "not open any more" in text_of(submit(two, second, REFUSE, 404))
        assert agreements_of(load_settings(shop)) == {}


def test_code_that_has_changed_since_it_was_shown_is_shown_again(shop: Path) -> None:
    propose(shop)
    with opened_page(shop) as page:
        shown = page.get(PROPOSALS)
        rewrite(shop / SERVICE, lambda text: text.replace("def login(", "def login(  "))
        again = submit(page, shown, PROPOSALS, 409)
        assert "Nothing was written." in text_of(again)
        submit(page, again, PROPOSALS)
        assert confirmed_keys(load_settings(shop)) == {LOGIN}


def test_a_page_that_only_reads_shows_proposals_without_forms(shop: Path) -> None:
    propose(shop)
    with opened_page(shop, readonly=True) as page:
        found = page.get(PROPOSALS)
        assert re.findall(r'data-key="(\w)"', found) == ["s"]
        assert not forms_of(found, PROPOSALS)
        assert page.post(REFUSE, number="1").status_code == 403


def test_many_proposals_are_read(shop: Path) -> None:
    long = Agreement("x", "shipping_fee", ("e" * 4000,), (FileReference(SHIPPING, 9),))
    propose(shop, *(ReviewItem(number, long, 0.1, (9, 20)) for number in range(5, 305)))
    with opened_page(shop) as page:
        assert "302 of 302" in page.text(f"{PROPOSALS}?number=999")
