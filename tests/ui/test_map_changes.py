"""Confirm, reject, rename, delete and restore on the page: shown first, then made, then undone."""

import html
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from code_intel.config import load_settings
from code_intel.index.facade import Index
from code_intel.learned.files import trash
from code_intel.learned.history.state import open_state
from code_intel.ui.rendering import url
from forms import forms_of, submit
from learned.builders import agreements_of, confirmed_keys, file_contents, pairs_of, rewrite
from map_files import LOGIN, agree, entry_page
from page_client import PageClient, opened_page, text_of
from programs import git

CHANGE, UNDO = "/map/change", "/map/undo"
NOTE = "---\nkind: convention\nconfirmed: false\n---\n\n# Be kind\n\nAlways.\n"


@pytest.fixture(autouse=True)
def words_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODE_INTEL_EMBEDDING", "off")


def planned(page: PageClient, change: str, file: Path, **fields: str) -> str:
    """Return the page that shows what a change would do."""
    name = file.relative_to(page.project.settings.root).as_posix()
    return page.get(url(CHANGE, change=change, file=name, **fields))


def contents(root: Path) -> Mapping[str, bytes]:
    """Return the files of the map of a project."""
    return file_contents(root / ".code-intel")


def diff_lines(page: str, kind: str) -> list[str]:
    """Return the lines that a page shows as added or removed."""
    rows = re.findall(rf'<tr class="{kind}">.*?<pre>(.*?)</pre>', page, re.DOTALL)
    return [html.unescape(row) for row in rows]


def test_an_agreement_is_confirmed_after_its_difference_was_shown(shop: Path) -> None:
    file = agree(shop, *LOGIN, confirmed=False)
    before = contents(shop)
    with opened_page(shop) as page:
        shown = planned(page, "confirm", file)
        assert diff_lines(shown, "added") == ["confirmed: true"]
        assert diff_lines(shown, "removed") == ["confirmed: false"]
        assert "src/auth/service.py:29" in shown
        assert contents(shop) == before
        after = submit(page, shown, CHANGE)
        assert "Confirmed. Commit the file to share it." in text_of(after)
        assert "login → AuthService.login" in text_of(after)
        assert confirmed_keys(load_settings(shop)) == {LOGIN}
        assert '<span class="state valid">' in after


def test_a_change_can_be_undone_once(shop: Path) -> None:
    file = agree(shop, *LOGIN, confirmed=False)
    before = file.read_bytes()
    with opened_page(shop) as page:
        after = submit(page, planned(page, "confirm", file), CHANGE)
        undone = submit(page, after, UNDO)
        assert "Undone. login → AuthService.login" in text_of(undone)
        assert '<span class="state unconfirmed">' in undone
        assert file.read_bytes() == before
        assert confirmed_keys(load_settings(shop)) == set()
        assert not forms_of(undone, UNDO)
        assert "Undone." in text_of(submit(page, after, UNDO))  # the same form again
        another = submit(page, after, UNDO, 409, form="another")
        assert "cannot be undone any more" in text_of(another)


def test_an_undo_that_no_longer_fits_changes_nothing(shop: Path) -> None:
    file = agree(shop, *LOGIN, confirmed=False)
    with opened_page(shop) as page:
        after = submit(page, planned(page, "confirm", file), CHANGE)
        rewrite(file, lambda text: text.replace("does it", "does more"))
        current = file.read_bytes()
        assert "Changed in the meantime" in text_of(submit(page, after, UNDO, 409))
        assert file.read_bytes() == current


def test_nothing_is_written_if_the_file_has_changed_since_it_was_shown(shop: Path) -> None:
    file = agree(shop, *LOGIN, confirmed=False)
    with opened_page(shop) as page:
        shown = planned(page, "confirm", file)
        rewrite(file, lambda text: text.replace("does it", "does more"))
        current = file.read_bytes()
        again = submit(page, shown, CHANGE, 409)
        assert "Nothing was written. This is the difference now." in text_of(again)
        assert file.read_bytes() == current
        submit(page, again, CHANGE)
        assert confirmed_keys(load_settings(shop)) == {LOGIN}


def test_nothing_is_confirmed_if_the_code_has_changed_since_it_was_shown(shop: Path) -> None:
    file = agree(shop, *LOGIN, confirmed=False)
    service = shop / "src" / "auth" / "service.py"
    with opened_page(shop) as page:
        shown = planned(page, "confirm", file)
        rewrite(service, lambda text: text.replace("def login(", "def login(  "))
        again = submit(page, shown, CHANGE, 409)
        assert any(line.startswith("symbol_digest") for line in diff_lines(again, "added"))
        assert confirmed_keys(load_settings(shop)) == set()


@pytest.mark.parametrize("change", ["confirm", "reject"])
def test_nothing_is_decided_about_a_text_that_was_not_shown(shop: Path, change: str) -> None:
    file = agree(shop, *LOGIN)
    confirmed = file.read_text("utf-8").replace("does it", "does that")
    file.write_text(confirmed, "utf-8")  # edited by hand: `confirmed: true`, but no longer here
    settings = load_settings(shop)
    with opened_page(shop) as page:
        shown = planned(page, change, file)
        assert "No file changes." in text_of(shown)
        assert "does that" in text_of(shown)
        rewrite(file, lambda text: text.replace("does that", "deletes everything"))
        again = submit(page, shown, CHANGE, 409)
        assert "Nothing was written." in text_of(again)
        assert "deletes everything" in text_of(again)
        assert confirmed_keys(settings) == set()
        with open_state(settings.state) as state:
            assert not [each for each in state.experiences() if each.kind == "rejected"]
        submit(page, again, CHANGE)
        assert confirmed_keys(settings) == ({LOGIN} if change == "confirm" else set())


def test_a_form_that_is_sent_twice_makes_its_change_once(shop: Path) -> None:
    file = agree(shop, *LOGIN)
    with opened_page(shop) as page:
        shown = planned(page, "reject", file)
        assert "Rejected." in text_of(submit(page, shown, CHANGE))
        again = submit(page, shown, CHANGE)
        assert "Rejected." in text_of(again)
        with open_state(load_settings(shop).state) as state:
            before = state.experiences()
        assert "Undone." in text_of(submit(page, again, UNDO))
        assert "Undone." in text_of(submit(page, shown, CHANGE))
        with open_state(load_settings(shop).state) as state:
            assert len(state.experiences()) == len(before) - 1


def test_an_undo_of_what_has_changed_since_says_so(shop: Path) -> None:
    file = agree(shop, *LOGIN)
    with opened_page(shop) as page:
        first = submit(page, planned(page, "reject", file), CHANGE)
        second = planned(page, "reject", file)
        submit(page, second, CHANGE)
        answer = submit(page, first, UNDO, 409)
        assert "Nothing was undone." in text_of(answer)
        assert '<span class="state rejected">' in page.get(entry_page(file, shop))


def test_showing_a_change_does_not_write_the_index(shop: Path) -> None:
    file = agree(shop, *LOGIN)
    service = shop / "src" / "auth" / "service.py"
    with opened_page(shop) as page:
        page.get("/map")
        rewrite(service, lambda text: text.replace("def login", "def sign_in"))
        before = page.project.context.forest.store.version_token()
        for change, fields in (("rename", {"to": "AuthService"}), ("confirm", {})):
            shown = text_of(planned(page, change, file, **fields))
            assert "The source has changed since it was indexed." in shown
        name = file.relative_to(shop).as_posix()
        unknown = page.text(url(CHANGE, change="rename", file=name, to="sign_in"), 400)
        assert "The source has changed since it was indexed" in unknown
        assert page.project.context.forest.store.version_token() == before
        submit(page, planned(page, "confirm", file), CHANGE, 400)
        assert page.project.context.forest.store.version_token() != before


@pytest.mark.parametrize("name", ["a\u202eb.md", "a\u200bb.md", "a\x1bb.md"])
def test_a_file_with_a_name_that_pages_cannot_show_can_be_changed(shop: Path, name: str) -> None:
    file = agree(shop, *LOGIN, confirmed=False)
    file = file.rename(file.with_name(name))
    with opened_page(shop) as page:
        (address,) = re.findall(r'href="(/map/entry[^"]*)"', page.get("/map"))
        entry = page.get(html.unescape(address))
        (confirm,) = re.findall(r'href="(/map/change\?change=confirm[^"]*)"', entry)
        submit(page, page.get(html.unescape(confirm)), CHANGE)
        assert confirmed_keys(load_settings(shop)) == {LOGIN}
        (edit,) = re.findall(r'href="(/map/edit[^"]*)"', entry)
        form = page.get(html.unescape(edit))
        text = forms_of(form, "/map/edit")[0]["text"].replace("does it", "does more")
        submit(page, submit(page, form, "/map/edit", text=text), "/map/edit")
        assert "does more" in file.read_text("utf-8")
        (delete,) = re.findall(r'href="(/map/change\?change=delete[^"]*)"', entry)
        submit(page, page.get(html.unescape(delete)), CHANGE)
        (trashed,) = re.findall(r'href="(/map/trash/file[^"]*)"', page.get("/map/trash"))
        shown = page.get(html.unescape(trashed))
        (restoring,) = re.findall(r'href="(/map/restore[^"]*)"', shown)
        submit(page, page.get(html.unescape(restoring)), "/map/restore")
        assert file.exists()


def test_a_field_that_looks_like_a_secret_is_sent_back_as_it_was(shop: Path) -> None:
    file = agree(shop, *LOGIN)
    term = "password = Tr0ub4dor&3xyz"
    with opened_page(shop) as page:
        shown = planned(page, "rename", file, term=term)
        assert forms_of(shown, CHANGE)[0]["term"] == term
        assert "Tr0ub4dor" not in text_of(shown)


def test_two_windows_lose_nothing(shop: Path) -> None:
    file = agree(shop, *LOGIN, confirmed=False)
    with opened_page(shop) as one, opened_page(shop) as two:
        first = planned(one, "confirm", file)
        second = planned(two, "rename", file, term="sign in")
        submit(one, first, CHANGE)
        again = submit(two, second, CHANGE, 409)
        assert "confirmed: true" in html.unescape(again)
        submit(two, again, CHANGE)
        (agreement,) = agreements_of(load_settings(shop)).values()
        assert (agreement.nl_term, agreement.aliases) == ("sign in", ("login",))
        assert agreement.confirmed


def test_a_rejection_shows_that_no_file_changes(shop: Path) -> None:
    file = agree(shop, *LOGIN)
    before = file.read_bytes()
    with opened_page(shop) as page:
        shown = planned(page, "reject", file)
        assert "No file changes." in text_of(shown)
        after = submit(page, shown, CHANGE)
        assert '<span class="state rejected">' in after
        assert "A person has rejected it." in text_of(after)
        undone = submit(page, after, UNDO)
        assert '<span class="state valid">' in undone
        assert file.read_bytes() == before


def test_an_agreement_is_rejected_for_one_question(shop: Path) -> None:
    file = agree(shop, *LOGIN)
    with opened_page(shop) as page:
        form = planned(page, "reject", file)
        after = submit(page, form, CHANGE, scope="one", query="sign <b>out")
        assert "rejected sign <b>out a person" in text_of(after)
        with open_state(load_settings(shop).state) as state:
            (event,) = (each for each in state.experiences() if each.kind == "rejected")
        assert event.wording == "sign <b>out"


def test_a_rejection_for_one_question_needs_the_question(shop: Path) -> None:
    file = agree(shop, *LOGIN)
    with opened_page(shop) as page:
        shown = planned(page, "reject", file)
        assert "Your teammates do not see this" in text_of(shown)
        refused = submit(page, shown, CHANGE, 400, scope="one", query=" ")
        assert "No question is given." in text_of(refused)
        (fields,) = forms_of(refused, CHANGE, "get")
        assert fields["scope"] == "one"
        with open_state(load_settings(shop).state) as state:
            assert not [each for each in state.experiences() if each.kind == "rejected"]
        submit(page, shown, CHANGE, query="a question that was typed, but not chosen")
        with open_state(load_settings(shop).state) as state:
            (event,) = (each for each in state.experiences() if each.kind == "rejected")
        assert event.wording == ""


def test_a_rename_shows_where_the_symbol_moved(shop: Path) -> None:
    file = agree(shop, *LOGIN)
    service = shop / "src" / "auth" / "service.py"
    rewrite(service, lambda text: text.replace("def login", "def sign_in"))
    with opened_page(shop) as page:
        page.post("/update")
        page.project.updater.wait()
        entry = page.get(entry_page(file, shop))
        assert "was renamed to AuthService.sign_in" in text_of(entry)
        shown = planned(page, "rename", file)
        assert "now called AuthService.sign_in" in text_of(shown)
        assert 'symbol: "AuthService.sign_in"' in diff_lines(shown, "added")
        assert len(re.findall('<div class="code diff"', shown)) == 1
        after = submit(page, shown, CHANGE)
        assert text_of(after).count("login → AuthService.sign_in") >= 1
        assert "code-intel/agreements/login_AuthService.sign_in" in text_of(after)
        undone = submit(page, after, UNDO)
        assert list(agreements_of(load_settings(shop))) == [LOGIN]
        assert file.exists()
        assert "Undone." in text_of(undone)


def test_a_rename_asks_for_a_name_first(shop: Path) -> None:
    file = agree(shop, *LOGIN)
    with opened_page(shop) as page:
        asked = planned(page, "rename", file)
        assert not forms_of(asked, CHANGE)
        assert forms_of(asked, CHANGE, "get")
        shown = planned(page, "rename", file, term="<script>x</script>")
        assert "<script>x" not in shown
        assert 'nl_term: "<script>x</script>"' in diff_lines(shown, "added")


def test_a_name_that_does_not_exist_is_refused_with_the_form(shop: Path) -> None:
    file = agree(shop, *LOGIN)
    with opened_page(shop) as page:
        name = file.relative_to(shop).as_posix()
        answer = page.get(url(CHANGE, change="rename", file=name, to="no_such"), 400)
        assert "no_such is not defined in the index." in text_of(answer)
        assert forms_of(answer, CHANGE, "get")[0]["to"] == "no_such"


def test_an_agreement_of_several_files_asks_which_one_is_meant(shop: Path) -> None:
    file = agree(shop, "fee", "no_file_yet", confirmed=False)
    for name in ("one", "two"):
        (shop / "src" / f"{name}.py").write_text("def no_file_yet():\n    return 1\n", "utf-8")
    with opened_page(shop) as page:
        page.project.writing().forest.complete(words_only=True)
        name = file.relative_to(shop).as_posix()
        asked = page.get(url(CHANGE, change="confirm", file=name), 400)
        links = re.findall(r'href="(/map/change\?[^"]*place=[^"]*)"', asked)
        assert len(links) == 2
        after = submit(page, page.get(html.unescape(links[1])), CHANGE)
        assert "src/two.py" in text_of(after)


def test_a_deleted_agreement_goes_to_the_trash_and_is_restored(shop: Path) -> None:
    file = agree(shop, *LOGIN)
    before = file.read_bytes()
    settings = load_settings(shop)
    with opened_page(shop) as page:
        after = submit(page, planned(page, "delete", file), CHANGE)
        assert "Moved to the trash." in text_of(after)
        assert not file.exists()
        assert pairs_of(settings) == {}
        (name,) = (each.name for each in trash.contents(settings))
        shown = page.get(url("/map/restore", name=name))
        assert 'nl_term: "login"' in diff_lines(shown, "added")
        restored = submit(page, shown, "/map/restore")
        assert "Restored." in text_of(restored)
        assert file.read_bytes() == before
        assert confirmed_keys(settings) == {LOGIN}
        submit(page, restored, UNDO)
        assert not file.exists()


def test_a_file_is_not_restored_over_another_one(shop: Path) -> None:
    file = agree(shop, *LOGIN)
    settings = load_settings(shop)
    trash.copy(settings, file, now=datetime.now(UTC))
    rewrite(file, lambda text: text.replace("does it", "does more"))
    with opened_page(shop) as page:
        (name,) = (each.name for each in trash.contents(settings))
        assert "exists" in page.text(url("/map/restore", name=name), 400)


def test_a_note_is_confirmed_and_deleted(shop: Path) -> None:
    note = shop / ".code-intel" / "agreements" / "kind.md"
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text(NOTE, "utf-8")
    with opened_page(shop) as page:
        after = submit(page, planned(page, "confirm", note), CHANGE)
        assert "confirmed: true" in note.read_text("utf-8")
        assert '<span class="state valid">' in after
        submit(page, planned(page, "delete", note), CHANGE)
        assert not note.exists()


def test_a_decision_record_is_not_changed(shop: Path) -> None:
    config = shop / "devrag-map.json"
    known = json.loads(config.read_text("utf-8"))
    known["document_patterns"] = [*known["document_patterns"], "./docs/adr"]
    config.write_text(json.dumps(known), "utf-8")
    record = shop / "docs" / "adr" / "0001-use-git.md"
    record.parent.mkdir(parents=True)
    record.write_text("# 1. Use git\n\n## Status\n\nAccepted\n\n## Decision\n\nGit.\n", "utf-8")
    with opened_page(shop) as page:
        found = page.get(entry_page(record, shop))
        assert "/map/edit" not in found
        assert "change=delete" not in found
        assert "change=confirm" in found


def test_an_unreadable_file_offers_only_to_be_edited(shop: Path) -> None:
    agree(shop, *LOGIN)
    file = shop / ".code-intel" / "agreements" / "bad.md"
    file.write_text("nothing", "utf-8")
    with opened_page(shop) as page:
        found = page.get(entry_page(file, shop))
        assert "/map/change" not in found
        assert "/map/edit" in found
        answer = page.get(url(CHANGE, change="confirm", file=".code-intel/agreements/bad.md"), 400)
        assert "for agreements whose file can be read" in text_of(answer)


@pytest.mark.parametrize(
    "address", [f"{CHANGE}?change=none&file=x", f"{CHANGE}?change=confirm&file=none", CHANGE]
)
def test_a_change_that_does_not_exist_is_not_found(shop: Path, address: str) -> None:
    with opened_page(shop) as page:
        page.get(address, 404)


def test_a_page_that_only_reads_shows_no_forms_and_refuses_all(shop: Path) -> None:
    file = agree(shop, *LOGIN, confirmed=False)
    before = contents(shop)
    with opened_page(shop, readonly=True) as page:
        found = page.get(entry_page(file, shop))
        assert "/map/change" not in found
        assert "/map/edit" not in found
        name = file.relative_to(shop).as_posix()
        for address in (
            url(CHANGE, change="confirm", file=name),
            url("/map/edit", file=name),
            url("/map/restore", name="x"),
        ):
            assert "This page only reads." in page.text(address, 403)
        for path in (CHANGE, UNDO, "/map/edit", "/map/restore", "/map/proposals"):
            assert page.post(path, change="confirm", file=name).status_code == 403
        assert contents(shop) == before


def test_a_form_without_its_seal_only_shows_the_difference(shop: Path) -> None:
    file = agree(shop, *LOGIN, confirmed=False)
    before = contents(shop)
    with opened_page(shop) as page:
        name = file.relative_to(shop).as_posix()
        answer = page.post(CHANGE, change="confirm", file=name)
        assert answer.status_code == 409
        assert contents(shop) == before


def test_the_undo_of_another_server_is_unknown(shop: Path) -> None:
    file = agree(shop, *LOGIN, confirmed=False)
    with opened_page(shop) as page:
        after = submit(page, planned(page, "confirm", file), CHANGE)
    with opened_page(shop) as other:
        fields = forms_of(after, UNDO)[0] | {"csrf": other.access.csrf}
        answer = other.client.post(UNDO, data=fields)
        assert answer.status_code == 409
        assert "cannot be undone any more" in text_of(answer.text)


def test_a_confirmation_shows_how_the_code_has_changed_since(shop: Path) -> None:
    file = agree(shop, *LOGIN)
    git(shop, "init", "-q")
    git(shop, "add", "--all")
    git(shop, "commit", "-q", "-m", "Agree")
    service = shop / "src" / "auth" / "service.py"
    text = service.read_text("utf-8").replace("if user is None or not", "if user is not")
    service.write_text(text, encoding="utf-8")
    with Index(load_settings(shop).forest) as forest:
        forest.complete(words_only=True)
    with opened_page(shop) as page:
        shown = planned(page, "confirm", file)
        assert "Changes of the code since it was agreed on" in shown
        assert any("if user is None or not" in line for line in diff_lines(shown, "removed"))
        assert any("if user is not" in line for line in diff_lines(shown, "added"))
        git(shop, "checkout", "-q", "--orphan", "empty")
        git(shop, "commit", "-q", "-a", "-m", "Without a history")
        shown = planned(page, "confirm", file)
        assert "The code that was agreed on is not in the history of its file." in shown
