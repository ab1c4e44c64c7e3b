"""The page of one entry: evidence in the current code, aliases, uses, history, and the file."""

import html
import re
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from code_intel.config import load_settings
from code_intel.learned.history.experience import Kind
from code_intel.learned.history.feedback import note_in
from code_intel.learned.history.state import open_state
from code_intel.ui.pages.map.entry_code import quoted_lines
from learned.builders import rewrite
from map_files import LOGIN, agree, entry_page
from page_client import opened_page, text_of
from programs import git

SESSION = "session_20261120_101010_0a0a0a0a"


def marked(page: str) -> list[str]:
    """Return the marked lines of code."""
    return [text_of(line) for line in re.findall(r'<tr class="marked".*?</tr>', page)]


def test_the_quoted_lines_of_the_current_code_are_marked(shop: Path) -> None:
    file = agree(
        shop, *LOGIN, "checks it: `verify_password(credentials.password`", "`gone_call(1)`"
    )
    with opened_page(shop) as page:
        found = page.get(entry_page(file, shop))
        (line,) = marked(found)
        number, _, text = line.partition(" ")
        assert "verify_password(credentials.password" in text
        assert f"/code?file=src%2Fauth%2Fservice.py&amp;start={number}&amp;end={number}#L" in found
        assert "(not in the code now)" in text_of(found)


def test_the_code_is_that_of_the_file_now_even_if_the_index_is_older(shop: Path) -> None:
    file = agree(shop, *LOGIN, "`raise AuthenticationError`")
    service = shop / "src" / "auth" / "service.py"
    with opened_page(shop) as page:
        before = marked(page.get(entry_page(file, shop)))[0]
        rewrite(service, lambda text: f"# one more line\n{text}")
        after = marked(page.get(entry_page(file, shop)))[0]
        assert int(after.partition(" ")[0]) == int(before.partition(" ")[0]) + 1


def test_a_quote_that_names_another_symbol_links_to_it(shop: Path) -> None:
    file = agree(shop, *LOGIN, "calls `hash_password()` first")
    with opened_page(shop) as page:
        assert "/code?file=src%2Fauth%2Fpasswords.py" in page.get(entry_page(file, shop))


@pytest.mark.parametrize(
    ("quote", "numbers"),
    [("b c", [11, 13]), ("c", [13]), ("a", [10]), ("d", []), ("  b\n\n c ", [11, 13]), (" ", [])],
)
def test_a_quote_may_go_over_lines(quote: str, numbers: list[int]) -> None:
    found = quoted_lines(["a", "  b", "", " c"], quote, 10)
    assert (found[:1] + found[-1:] if len(found) > 1 else found) == numbers


def test_a_symbol_that_is_gone_is_said_to_be_gone(shop: Path) -> None:
    file = agree(shop, "nothing", "no_such_symbol")
    with opened_page(shop) as page:
        found = page.text(entry_page(file, shop))
        assert "No file of the project defines this symbol" in found


def test_aliases_say_where_they_come_from(shop: Path) -> None:
    file = agree(shop, *LOGIN, aliases=["sign in", "enter"], session=SESSION)
    with open_state(load_settings(shop).state) as state:
        for session in (SESSION, "session_b"):
            state.record_alias(LOGIN, "Sign In", session, datetime.now(UTC))
    with opened_page(shop) as page:
        found = page.text(entry_page(file, shop))
        assert "sign in confirmed by 2 sessions , as good as the term" in found.replace(
            "sessions,", "sessions ,"
        )
        assert "session_b" in found
        assert "enter written in the file; no session of this machine used it" in found
        assert f"Learned in {SESSION}" in found


def test_the_page_says_what_sessions_made_of_it(shop: Path) -> None:
    file = agree(shop, *LOGIN)
    settings = load_settings(shop)
    with open_state(settings.state) as state:
        events: Sequence[tuple[Kind, str, str, str]] = (
            ("offered", "how to sign in", SESSION, "ready"),
            ("rejected", "sign out", "session_<b>", "another symbol"),
            ("rejected", "", "", "person"),
        )
        for kind, words, session, detail in events:
            note_in(
                state, LOGIN, kind, words=words, session_id=session, detail=detail,
                now=datetime.now(UTC),
            )  # fmt: skip
        note_in(state, ("x", "y"), "accepted", words="other", session_id="", now=datetime.now(UTC))
    journals = settings.state / "sessions"
    journals.mkdir(exist_ok=True)
    (journals / f"{SESSION}.jsonl").write_text("", "utf-8")
    with opened_page(shop) as page:
        found = page.get(entry_page(file, shop))
        text = text_of(found)
        assert "found by a search (ready) how to sign in" in text
        assert "rejected (another symbol) sign out session_<b>" in text
        assert "rejected a person" in text
        assert "other" not in text.partition("What sessions made of it")[2].split()
        assert f'href="/sessions/{SESSION}"' in found
        assert 'href="/sessions/session_' not in found.replace(f'"/sessions/{SESSION}"', "")


def test_the_history_has_the_commits_with_their_changes(shop: Path) -> None:
    file = agree(shop, *LOGIN)
    git(shop, "add", "-A")
    git(shop, "commit", "-qm", "Agree on <script>alert(1)</script>")
    rewrite(file, lambda text: text.replace("does it", "does more"))
    moved = file.rename(file.with_name("moved.md"))
    git(shop, "add", "-A")
    git(shop, "commit", "-qm", "Say more")
    with opened_page(shop) as page:
        address = entry_page(moved, shop)
        assert address.replace("entry", "history") in html.unescape(page.get(address))
        found = page.get(address.replace("entry", "history"))
        text = text_of(found)
        assert text.index("Say more") < text.index("Agree on")
        assert "removed - - `AuthService.login` does it" in text
        assert "added + - `AuthService.login` does more" in text
        assert "<script>alert" not in found


def test_the_history_masks_the_middle_of_a_private_key(shop: Path) -> None:
    file = agree(shop, *LOGIN)
    body = [f"{at:02}{'Ab9/' * 15}" for at in range(30)]
    key = "\n".join(("-----BEGIN PRIVATE KEY-----", *body, "-----END PRIVATE KEY-----"))
    rewrite(file, lambda text: f"{text}\n## Notes\n\n{key}\n")
    git(shop, "add", "-A")
    git(shop, "commit", "-qm", "Add it")
    rewrite(file, lambda text: text.replace(body[15], f"15{'Cd7+' * 15}"))
    git(shop, "add", "-A")
    git(shop, "commit", "-qm", "Change its middle")
    with opened_page(shop) as page:
        found = page.text(entry_page(file, shop).replace("entry", "history"))
        assert "Change its middle" in found
        assert "Ab9/" not in found
        assert "Cd7+" not in found


def test_a_file_without_commits_or_without_git_has_no_history(shop: Path) -> None:
    file = agree(shop, *LOGIN)
    with opened_page(shop) as page:
        address = entry_page(file, shop).replace("entry", "history")
        assert "No commit contains this file yet." in page.text(address)
        shutil.rmtree(shop / ".git")
        assert "Git has no history of this project." in page.text(address)


def test_an_unreadable_file_is_shown_with_the_line_at_fault(shop: Path) -> None:
    agree(shop, *LOGIN)
    file = shop / ".code-intel" / "agreements" / "bad.md"
    file.write_text("---\nnl_term: a\nnl_term: b\nsymbol: c\n---\n", "utf-8")
    with opened_page(shop) as page:
        found = page.get(entry_page(file, shop))
        assert "nl_term twice" in text_of(found)
        assert marked(found) == ["3 nl_term: b"]


def test_a_note_shows_all_that_it_says(shop: Path) -> None:
    folder = shop / ".code-intel" / "agreements"
    folder.mkdir(parents=True, exist_ok=True)
    note = folder / "note.md"
    note.write_text(
        "---\nkind: decision\nsymbols:\n  - AuthService\nsupersedes:\n  - old one\n"
        "status: accepted\n---\n\n# Use <b>tokens</b>\n\n## Context\n\nMany clients.\n\n"
        "## Decision\n\nTokens it is.\n\n## Consequences\n\nThey expire.\n",
        "utf-8",
    )
    with opened_page(shop) as page:
        text = page.text(entry_page(note, shop))
        for part in ("Use <b>tokens</b>", "Many clients.", "Tokens it is.", "They expire."):
            assert part in text
        for part in ("AuthService", "old one", "accepted"):
            assert part in text


def test_secrets_in_a_file_are_masked(shop: Path) -> None:
    file = agree(shop, *LOGIN)
    rewrite(file, lambda text: f'{text}\npassword = "Tr0ub4dor&3xyz"\n')
    with opened_page(shop) as page:
        found = page.get(entry_page(file, shop))
        assert "password = " in html.unescape(found)
        assert "Tr0ub4dor" not in found


def test_a_file_that_the_map_does_not_have_is_not_found(shop: Path) -> None:
    with opened_page(shop) as page:
        for file in ("none.md", "", "../../etc/passwd", "src/auth/service.py"):
            page.client.get("/map/entry", params={"file": file})
            assert page.client.get("/map/entry", params={"file": file}).status_code == 404
            assert page.client.get("/map/history", params={"file": file}).status_code == 404


def test_a_file_whose_name_is_not_text_can_be_opened(shop: Path) -> None:
    agree(shop, *LOGIN)
    folder = shop / ".code-intel" / "agreements"
    (folder / "caf\udce9.md").write_bytes(b"nothing")
    with opened_page(shop) as page:
        found = page.get("/map?state=invalid")
        (address,) = re.findall(r'href="(/map/entry[^"]*caf[^"]*)"', found)
        assert "Its name is not UTF-8 text." in page.text(html.unescape(address))
