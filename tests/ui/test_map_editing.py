"""Edit the file of an entry, and resolve a merge conflict side by side."""

import html
import re
from pathlib import Path

import pytest

from code_intel.config import load_settings
from code_intel.ui.diff import side_by_side
from code_intel.ui.rendering import url
from forms import forms_of, submit
from learned.builders import agreements_of, confirmed_keys, rewrite
from map_files import LOGIN, agree
from page_client import opened_page, text_of

EDIT, UNDO = "/map/edit", "/map/undo"
HEAD = '---\nnl_term: "mask"\n'
SAME = f"""{HEAD}symbol: "AuthService.login"
<<<<<<< HEAD
learned_at: "2026-01-01T00:00:00+09:00"
=======
learned_at: "2026-01-01T00:00:00+00:00"
>>>>>>> feature/<b>
---

<<<<<<< HEAD
- one <script>alert(1)</script>
=======
- two
>>>>>>> feature/<b>

## Notes

Kept.
"""
OTHER = f"{HEAD}<<<<<<< HEAD\nsymbol: a\n=======\nsymbol: b\n>>>>>>> theirs\n---\n"


@pytest.fixture(autouse=True)
def words_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODE_INTEL_EMBEDDING", "off")


def editor(file: Path, root: Path) -> str:
    return url(EDIT, file=file.relative_to(root).as_posix())


def conflict(root: Path, text: str) -> Path:
    file = root / ".code-intel" / "agreements" / "conflict.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    return file


def test_a_text_is_shown_as_a_difference_before_it_is_written(shop: Path) -> None:
    file = agree(shop, *LOGIN)
    before = file.read_bytes()
    with opened_page(shop) as page:
        form = page.get(editor(file, shop))
        text = forms_of(form, EDIT)[0]["text"]
        assert text == before.decode()
        shown = submit(page, form, EDIT, text=text.replace("does it", "does <b>more</b>"))
        assert "does &lt;b&gt;more&lt;/b&gt;" in shown
        assert "must be confirmed again" in text_of(shown)
        assert file.read_bytes() == before
        saved = submit(page, shown, EDIT)
        assert "Saved." in text_of(saved)
        assert "does <b>more</b>" in file.read_text("utf-8")
        assert confirmed_keys(load_settings(shop)) == set()
        submit(page, saved, UNDO)
        assert file.read_bytes() == before
        assert confirmed_keys(load_settings(shop)) == {LOGIN}


def test_a_text_that_cannot_be_read_is_refused_and_kept_in_the_editor(shop: Path) -> None:
    file = agree(shop, *LOGIN)
    before = file.read_bytes()
    with opened_page(shop) as page:
        form = page.get(editor(file, shop))
        again = submit(page, form, EDIT, 400, text="---\nsymbol: x\n---\n\nmy text")
        assert "nl_term" in text_of(again)
        assert "my text" in forms_of(again, EDIT)[0]["text"]
        assert file.read_bytes() == before


def test_a_file_that_has_changed_since_it_was_shown_is_not_overwritten(shop: Path) -> None:
    file = agree(shop, *LOGIN)
    with opened_page(shop) as page:
        form = page.get(editor(file, shop))
        text = forms_of(form, EDIT)[0]["text"].replace("does it", "mine")
        shown = submit(page, form, EDIT, text=text)
        rewrite(file, lambda old: old.replace("does it", "theirs"))
        current = file.read_bytes()
        for stale in (submit(page, form, EDIT, 409, text=text), submit(page, shown, EDIT, 409)):
            assert "Nothing was written." in text_of(stale)
            assert "- `AuthService.login` theirs" in text_of(stale)
            assert "mine" in forms_of(stale, EDIT)[0]["text"]
            assert file.read_bytes() == current
        submit(page, submit(page, stale, EDIT), EDIT)
        assert "mine" in file.read_text("utf-8")


def test_an_unreadable_file_is_corrected(shop: Path) -> None:
    file = conflict(shop, "---\nnl_term: a\n---\n")
    with opened_page(shop) as page:
        form = page.get(editor(file, shop))
        shown = submit(page, form, EDIT, text="---\nnl_term: a\nsymbol: AuthService\n---\n")
        submit(page, shown, EDIT)
        assert list(agreements_of(load_settings(shop))) == [("a", "AuthService")]


def test_line_ends_of_the_file_stay(shop: Path) -> None:
    file = conflict(shop, "---\r\nnl_term: a\r\nsymbol: b\r\n---\r\n\r\n- one\r\n")
    file.write_bytes(file.read_bytes().replace(b"\r\r\n", b"\r\n"))
    with opened_page(shop) as page:
        form = page.get(editor(file, shop))
        text = forms_of(form, EDIT)[0]["text"]
        assert "\r" not in text
        submit(page, submit(page, form, EDIT, text=text.replace("one", "two")), EDIT)
        assert file.read_bytes() == b"---\r\nnl_term: a\r\nsymbol: b\r\n---\r\n\r\n- two\r\n"


def test_a_hidden_character_is_shown_and_written_as_it_was_shown(shop: Path) -> None:
    file = agree(shop, *LOGIN)
    with opened_page(shop) as page:
        form = page.get(editor(file, shop))
        text = forms_of(form, EDIT)[0]["text"].replace("does it", "does\u200b it")
        shown = submit(page, form, EDIT, text=text)
        assert "does\\u200b it" in shown
        submit(page, shown, EDIT)
        assert "does\\u200b it" in file.read_text("utf-8")


PLANTED = 'password = "Tr0ub4dor&3xyz"'
HIDDEN = "👩\u200d💻 می\u200cخواهم soft\u00adhyphen \u200b\x0c"


def kept(root: Path, head: str = "") -> tuple[Path, bytes]:
    """Write an agreement with secrets and hidden characters; return its file and bytes."""
    file = agree(root, *LOGIN)
    text = file.read_text("utf-8")
    data = f"{head}{text}\n## Notes\n\n{PLANTED}\n\nplain\n{HIDDEN}\n".encode()
    file.write_bytes(data)
    return file, data


def test_a_text_that_was_not_changed_cannot_be_saved(shop: Path) -> None:
    file, data = kept(shop)
    with opened_page(shop) as page:
        shown = submit(page, page.get(editor(file, shop)), EDIT)
        assert "Nothing would change." in text_of(shown)
        assert not forms_of(shown, EDIT)
        assert file.read_bytes() == data


@pytest.mark.parametrize("head", ["", "\ufeff"])
def test_lines_that_stay_keep_their_secrets_and_hidden_characters(shop: Path, head: str) -> None:
    file, data = kept(shop, head)
    with opened_page(shop) as page:
        form = page.get(editor(file, shop))
        assert "Tr0ub4dor" not in form
        text = forms_of(form, EDIT)[0]["text"]
        assert "\u200d" not in text
        text = text.replace("plain", "plainer").replace("\n", "\r\n")
        shown = submit(page, form, EDIT, text=text)
        assert "Tr0ub4dor" not in shown
        submit(page, shown, EDIT)
        assert file.read_bytes() == data.replace(b"plain", b"plainer")


@pytest.mark.parametrize(("old", "new"), [("password", "passwort"), ("soft", "hard")])
def test_a_changed_line_that_hides_something_is_refused(shop: Path, old: str, new: str) -> None:
    file, data = kept(shop)
    with opened_page(shop) as page:
        form = page.get(editor(file, shop))
        text = forms_of(form, EDIT)[0]["text"]
        (number,) = (at for at, line in enumerate(text.split("\n"), 1) if old in line)
        again = submit(page, form, EDIT, 400, text=text.replace(old, new))
        assert f"Line {number} contains a masked secret" in text_of(again)
        assert "with an editor" in text_of(again)
        assert file.read_bytes() == data


def test_a_side_of_a_conflict_is_kept_byte_by_byte(shop: Path) -> None:
    notes = f"Kept.\n\n{PLANTED}\n{HIDDEN}\n"
    file = conflict(shop, SAME.replace("- two", f"- two {HIDDEN}").replace("Kept.\n", notes))
    with opened_page(shop) as page:
        form = page.get(editor(file, shop))
        fields = forms_of(form, EDIT)[1]
        assert fields["side"] == "theirs"
        assert "text" not in fields
        submit(page, submit(page, form, EDIT, at=1), EDIT)
        assert f"- two {HIDDEN}\n" in file.read_text("utf-8")
        assert file.read_text("utf-8").endswith(notes)


def test_a_conflict_shows_both_sides_with_the_differing_lines_marked(shop: Path) -> None:
    file = conflict(shop, SAME)
    with opened_page(shop) as page:
        found = page.get(editor(file, shop))
        marked = [html.unescape(line) for line in re.findall("<mark>(.*?)</mark>", found)]
        assert marked == [
            'learned_at: "2026-01-01T00:00:00+09:00"',
            "- one <script>alert(1)</script>",
            'learned_at: "2026-01-01T00:00:00+00:00"',
            "- two",
        ]
        assert "This branch HEAD" in text_of(found)
        assert "The other branch feature/<b>" in text_of(found)
        assert "<script>alert" not in found
        assert "change=confirm" not in found


@pytest.mark.parametrize(("side", "kept", "left"), [(0, "one", "two"), (1, "two", "one")])
def test_one_side_of_a_conflict_is_kept(shop: Path, side: int, kept: str, left: str) -> None:
    file = conflict(shop, SAME)
    with opened_page(shop) as page:
        shown = submit(page, page.get(editor(file, shop)), EDIT, at=side)
        assert file.read_text("utf-8") == SAME
        saved = submit(page, shown, EDIT)
        text = file.read_text("utf-8")
        assert kept in text
        assert left not in text
        assert "<<<" not in text
        submit(page, saved, UNDO)
        assert file.read_text("utf-8") == SAME


def test_the_text_that_combines_both_sides_has_the_evidence_of_both(shop: Path) -> None:
    file = conflict(shop, SAME)
    with opened_page(shop) as page:
        found = page.get(editor(file, shop))
        assert "This text combines both sides" in text_of(found)
        assert '<button form="editor">Keep both</button>' in found
        assert re.findall(r'<form [^>]*id="editor"', found)
        submit(page, submit(page, found, EDIT, at=2), EDIT)
        (agreement,) = agreements_of(load_settings(shop)).values()
        assert set(agreement.evidence) == {"one <script>alert(1)</script>", "two"}
        assert agreement.learned_at == "2026-01-01T00:00:00+00:00"
        assert "Kept." in file.read_text("utf-8")


def test_sides_show_only_lines_near_a_difference() -> None:
    lines = [f"line {number}" for number in range(1, 31)]
    other = [*lines[:4], "four and a half", *lines[4:24], "another 25", *lines[25:]]
    left, right = side_by_side("\n".join(lines), "\n".join(other))
    assert [line.old for line in left] == [2, 3, 4, 5, 6, 7, 0, *range(22, 29)]
    assert [line.new for line in left if line.kind == "gap"] == [0]
    assert [line.kind for line in left].count("removed") == 1
    assert [line.text for line in right if line.kind == "added"] == [
        "four and a half",
        "another 25",
    ]
    assert side_by_side("a\nb", "a\nb") == ([], [])


def test_sides_that_say_different_things_are_not_combined(shop: Path) -> None:
    file = conflict(shop, OTHER)
    with opened_page(shop) as page:
        found = page.get(editor(file, shop))
        assert "The sides say different things." in text_of(found)
        assert "Keep both" not in found
        assert forms_of(found, EDIT)[2]["text"] == OTHER
        again = submit(page, found, EDIT, 400, at=2)
        assert "merge conflict markers" in text_of(again)
        assert file.read_text("utf-8") == OTHER


def test_a_file_outside_the_map_cannot_be_edited(shop: Path) -> None:
    with opened_page(shop) as page:
        page.get(url(EDIT, file="../../etc/passwd"), 404)
        assert page.post(EDIT, file="README.md", step="check", text="x").status_code == 404
