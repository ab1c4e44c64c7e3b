"""The pages of sessions: the list, the story of one as a time line, and lines as it saw them."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
import pytest

from code_intel.learned.history import decisions
from code_intel.learned.history.decisions import Decision
from code_intel.learned.history.drafts import OutcomeDraft, write_draft
from code_intel.learned.history.logs import folder_of
from code_intel.records import Agreement
from code_intel.session import journal, steps
from code_intel.session.frame import SlotSource
from code_intel.session.journal import NewSession
from code_intel.session.phases import Event, Intent
from code_intel.session.state import Step
from code_intel.session.write_gate import UNUSABLE, WRITE_RULES
from code_intel.tools.context.client_reads import WRITE_TOOL
from code_intel.tools.context.gateway import sessions_of
from code_intel.tools.context.prints import prints_of
from code_intel.ui.pages.sessions import listing
from code_intel.ui.rendering import environment
from map_files import agree
from page_client import PageClient, opened_page, text_of
from programs import git
from served import gateway, settings_of
from shop_sessions import FEE, FEE_FILE, LOGIN, LOGIN_FILE, change, explore, learn, start, succeed

HOSTILE = "<script>alert('x')</script> & \"quoted\" {{ 'a' ~ 'bc' }}"
HREF = re.compile(r'href="([^"]*)"')


@pytest.fixture
def page(shop: Path) -> Iterator[PageClient]:
    with opened_page(shop) as opened:
        yield opened


def begin(
    page: PageClient, query: str = "fix the login", intent: Intent = Intent.MODIFY, minutes: int = 0
) -> NewSession:
    return journal.create(
        page.project.context.sessions, intent, query, clock=ago(minutes), demands="evidence"
    )


def add(page: PageClient, session: NewSession, *found: Step, minutes: int = 0) -> str:
    """Append steps to a session; return the address of its page."""
    paths = page.project.context.sessions
    journal.append(paths, session.handle, *found, clock=ago(minutes))
    return f"/sessions/{session.session.name}"


def ago(minutes: float) -> journal.Clock:
    return lambda: datetime.now(UTC) - timedelta(minutes=minutes)


def printed(root: Path, file: str, first: int, last: int) -> Step:
    """Return a call that printed lines of a file as it is now."""
    lines = (root / file).read_text("utf-8").splitlines()[first - 1 : last]
    found = prints_of(file, first, lines)
    return steps.called("snippets_get", file, found=1, files=[file], printed=found)


def links(found: str, word: str) -> list[str]:
    return [link.replace("&amp;", "&") for link in HREF.findall(found) if word in link]


def understood(**more: Any) -> Step:
    symbol = {
        "name": FEE,
        "source": SlotSource.FACT.value,
        "confirmed": True,
        "confidence": 0.9,
        "file": FEE_FILE,
        "evidence": "It has the fee.",
        "quote": "def shipping_fee(total: Decimal, zone: str) -> Decimal:",
    }
    data = {"symbols": [symbol], "files": [FEE_FILE], "missing": [], "risk": "LOW"}
    return Step(Event.UNDERSTOOD, data | more)


def test_without_sessions_the_page_says_how_one_begins(page: PageClient) -> None:
    assert "There are no sessions yet. An agent starts one" in page.text("/sessions")


def test_the_list_has_what_the_terminal_lists(page: PageClient) -> None:
    old = begin(page, "change the cart\nin two lines", minutes=60 * 24 * 9)
    ended = begin(page, "fix the fee", minutes=3)
    add(page, ended, steps.outcome("partial", {}), minutes=2)
    broken = begin(page, minutes=1)
    with page.project.context.sessions.journal(broken.session.name).open("r+b") as file:
        file.write(b"x")
    found = page.text("/sessions")
    assert found.index(broken.session.name) < found.index("fix the fee") < found.index("the cart")
    assert "in two lines" not in found
    assert "change the cart " + old.session.name + " MODIFY EXPLORATION expired" in found
    assert "fix the fee " + ended.session.name + " MODIFY EXPLORATION partial" in found
    assert "line 1 or a later one was changed" in found
    assert all(each.handle not in found for each in (old, ended, broken))


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("q=FEE", {"fix the fee"}),
        ("q=the+fix", {"fix the fee", "fix the login"}),
        ("state=ended", {"fix the fee"}),
        ("state=open", {"fix the login"}),
        ("outcome=success", {"fix the fee"}),
        ("outcome=failure", set()),
        ("q=fee&state=open", set()),
    ],
)
def test_the_list_is_filtered(page: PageClient, query: str, names: set[str]) -> None:
    add(page, begin(page, "fix the fee"), steps.outcome("success", {}))
    begin(page, "fix the login")
    found = page.text(f"/sessions?{query}")
    assert {name for name in ("fix the fee", "fix the login") if name in found} == names
    assert ("No session matches." in found) is not bool(names)


@pytest.mark.parametrize("query", ["state=x", "outcome=x", "refused=x", "page=x"])
def test_an_unknown_filter_is_refused(page: PageClient, query: str) -> None:
    assert "Traceback" not in page.text(f"/sessions?{query}", 400)


def test_the_list_has_pages_that_keep_the_filter(page: PageClient) -> None:
    for number in range(listing.PAGE_SIZE + 3):
        begin(page, f"fix number {number}")
    first = page.get("/sessions?q=number")
    assert f"1 to {listing.PAGE_SIZE} of {listing.PAGE_SIZE + 3}" in text_of(first)
    assert links(first, "page=2") == ["/sessions?q=number&page=2"]
    last = page.text("/sessions?page=99")
    assert f"{listing.PAGE_SIZE + 1} to {listing.PAGE_SIZE + 3} of" in last
    assert "Page 2 of 2" in last


def test_a_session_that_changes_is_listed_as_it_is_now(page: PageClient) -> None:
    session = begin(page)
    assert "EXPLORATION open" in page.text("/sessions")
    add(page, session, steps.outcome("failure", {}))
    assert "EXPLORATION failure" in page.text("/sessions")
    page.project.context.sessions.head(session.session.name).unlink()
    assert "it has no head on this machine" in page.text("/sessions")


def test_the_story_of_a_real_session_has_every_kind_of_step(shop: Path) -> None:
    async def work() -> None:
        async with gateway(shop) as call:
            await learn(call, shop, "ログイン処理", LOGIN, LOGIN_FILE)
            await start(call, "送料の計算")
            await call.client.call_tool("submit_verification", {"verified": []})
            await explore(call, FEE, FEE_FILE)
            await call("check_write_target", file_path=FEE_FILE)
            await succeed(call, shop, FEE_FILE)

    anyio.run(work)
    with opened_page(shop) as page:
        newest = links(page.get("/sessions"), "/sessions/session_")[0]
        found, text = page.get(newest), page.text(newest)
    words = ("Asked", "Understood the request as", "Searched", "Claimed", "Understanding accepted")
    for word in (*words, "Permitted", "Ended"):
        assert f"{word} " in text
    assert "EXPLORATION → READY after" in text
    assert "Refused submit_verification" in text
    assert "送料の計算 を見直す時に動作のバグ" in text
    assert "“" not in found, "quotation marks come from the language of the page"
    (learned,) = links(found, "/map/entry")
    assert f"agreements%2F{quote('送料の計算')}" in learned
    assert f"送料の計算 → {FEE} new agreement" in text
    assert "It may no longer write: its outcome was recorded." in text


def test_printed_lines_link_to_what_was_seen_and_to_what_is_there_now(
    page: PageClient, shop: Path
) -> None:
    address = add(page, begin(page), printed(shop, FEE_FILE, 5, 11))
    found = page.get(address)
    assert (
        "Shown to the agent: src/cart/shipping.py 5–11 as seen as it is now unchanged since"
        in text_of(found)
    )
    (seen,) = links(found, "/seen?")
    assert seen == f"{address}/seen?step=2&file=src%2Fcart%2Fshipping.py&first=5"
    assert links(found, "/code?") == ["/code?file=src%2Fcart%2Fshipping.py&start=5&end=11"]
    assert "return Decimal(0) if total >= FREE_FROM else ZONES[zone]" in page.text(seen)


def test_lines_that_moved_are_found_where_they_are_now(page: PageClient, shop: Path) -> None:
    address = add(page, begin(page), printed(shop, FEE_FILE, 9, 11))
    file = shop / FEE_FILE
    file.write_text("# one\n# two\n" + file.read_text("utf-8"), "utf-8")
    found = page.get(address)
    assert "moved since" in text_of(found)
    assert links(found, "/code?") == ["/code?file=src%2Fcart%2Fshipping.py&start=11&end=13"]


def test_lines_with_others_between_them_now_have_changed(page: PageClient, shop: Path) -> None:
    file = shop / FEE_FILE
    address = add(page, begin(page), printed(shop, FEE_FILE, 1, 11))
    lines = file.read_text("utf-8").splitlines(keepends=True)
    file.write_text("".join([*lines[:10], "    # between\n", *lines[10:]]), "utf-8")
    assert "changed since" in page.text(address)
    (seen,) = links(page.get(address), "/seen?")
    assert "# between" not in page.text(seen)


def test_changed_lines_are_shown_from_git_as_they_were(page: PageClient, shop: Path) -> None:
    session = begin(page)
    address = add(page, session, printed(shop, FEE_FILE, 9, 11))
    change(shop, FEE_FILE)
    git(shop, "commit", "-qam", "Change the fee")
    (shop / FEE_FILE).write_text("nothing\n", "utf-8")
    found = page.get(address)
    assert "changed since" in text_of(found)
    (seen,) = links(found, "/seen?")
    text = page.text(seen)
    assert "9 def shipping_fee(total: Decimal, zone: str) -> Decimal:" in text
    assert "assert" not in text
    first = git(shop, "rev-list", "--max-parents=0", "HEAD").strip()
    assert f"This is its text of commit {first[:10]}." in text
    assert "nothing" not in text


def test_lines_that_git_never_had_are_said_to_be_lost(page: PageClient, shop: Path) -> None:
    file = shop / FEE_FILE
    original = file.read_text("utf-8")
    change(shop, FEE_FILE)
    address = add(page, begin(page), printed(shop, FEE_FILE, 1, 12))
    file.write_text(original, "utf-8")
    (seen,) = links(page.get(address), "/seen?")
    text = page.text(seen)
    assert "A session keeps a digest of the lines that it saw, not their text." in text
    assert "neither in the file nor in its history in git: 11–12" in text
    assert "FREE_FROM = Decimal" in text


def test_lines_of_a_deleted_file_and_without_git_are_lost(page: PageClient, shop: Path) -> None:
    (shop / "new file.py").write_text("x = 1\n", "utf-8")
    address = add(page, begin(page), printed(shop, "new file.py", 1, 1))
    (shop / "new file.py").unlink()
    (shop / ".git").rename(shop.parent / "away")
    assert "as seen file is gone" in page.text(address)
    (seen,) = links(page.get(address), "/seen?")
    assert "nor in its history in git: 1" in page.text(seen)


@pytest.mark.parametrize(
    "query",
    ["step=2&file=src/cart/cart.py", "step=9&file=src/cart/shipping.py", "step=2", "file=../x"],
)
def test_only_lines_that_the_session_printed_are_shown_as_seen(
    page: PageClient, shop: Path, query: str
) -> None:
    address = add(page, begin(page), printed(shop, FEE_FILE, 9, 11))
    assert "printed no lines of this file" in page.text(f"{address}/seen?{query}", 404)


def test_files_that_may_hold_secrets_are_never_shown(page: PageClient, shop: Path) -> None:
    (shop / ".env").write_text("TOKEN=1\n", "utf-8")
    git(shop, "add", "-f", ".env")
    git(shop, "commit", "-qm", "A secret")
    address = add(page, begin(page), printed(shop, ".env", 1, 1))
    assert "TOKEN" not in page.text(address)
    page.get(f"{address}/seen?step=2&file=.env", 404)


def test_a_claim_is_shown_with_its_quote_and_where_that_stands(
    page: PageClient, shop: Path
) -> None:
    address = add(page, begin(page), understood(notes="A note."))
    found = page.get(address)
    text = text_of(found)
    assert f"{FEE} in {FEE_FILE} FACT It has the fee. def shipping_fee" in text
    assert "Notes: A note." in text
    assert links(found, "start=9") == ["/code?file=src%2Fcart%2Fshipping.py&start=9&end=9"]
    assert "as it is now unchanged since" in text
    (shop / FEE_FILE).write_text("", "utf-8")
    assert "as it is now changed since" in page.text(address)


def test_what_is_missing_is_given_as_the_reason_of_doubt(page: PageClient) -> None:
    doubted = Step(Event.DOUBTED, {"symbols": [], "files": [], "missing": ["symbols: 0/1"]})
    text = page.text(add(page, begin(page), doubted))
    assert "Understanding not accepted Something is missing: symbols: 0/1" in text
    assert "EXPLORATION → SEMANTIC" in text


def test_what_was_about_to_be_written_is_marked(page: PageClient) -> None:
    text = page.text(add(page, begin(page), steps.called(WRITE_TOOL, FEE_FILE)))
    assert f"About to write {WRITE_TOOL} {FEE_FILE}" in text
    assert "nothing found" not in text


def test_a_draft_of_the_outcome_is_shown_with_its_agreements(page: PageClient) -> None:
    session = begin(page)
    agreement = Agreement("送料", FEE, evidence=("It has the fee.",), files=())
    draft = OutcomeDraft(
        session.session.name,
        session.handle,
        datetime.now(UTC).isoformat(),
        (FEE_FILE, "other.py"),
        ("other.py",),
        (agreement,),
    )
    write_draft(page.project.settings, draft)
    text = page.text(f"/sessions/{session.session.name}")
    assert "Its outcome is a draft" in text
    assert "other.py written without permission" in text
    assert f"What a success would teach 送料 → {FEE}" in text
    assert f"adds the agreement to the map: code-intel map confirm '送料' {FEE} Copy" in text
    found = page.get(f"/sessions/{session.session.name}")
    assert 'data-copy="confirm-1"' in found
    (confirming,) = links(found, "/map/draft?")
    assert "Its file is written now." in page.text(confirming)
    assert session.handle not in text
    assert "draft" in page.text("/sessions?outcome=draft")
    assert session.session.name in page.text("/sessions?outcome=draft")


def test_the_command_of_a_draft_is_quoted_for_a_shell(page: PageClient) -> None:
    session = begin(page)
    agreement = Agreement("fee's $(x)", FEE, evidence=("It has the fee.",), files=())
    now = datetime.now(UTC).isoformat()
    draft = OutcomeDraft(session.session.name, session.handle, now, (FEE_FILE,), (), (agreement,))
    write_draft(page.project.settings, draft)
    found = page.text(f"/sessions/{session.session.name}")
    assert f"""code-intel map confirm 'fee'"'"'s $(x)' {FEE} Copy""" in found


@pytest.mark.parametrize("readonly", [False, True])
def test_a_drafted_agreement_that_the_map_has_is_confirmed_on_the_page(
    shop: Path, *, readonly: bool
) -> None:
    file = agree(shop, "login", LOGIN, confirmed=False)
    with opened_page(shop, readonly=readonly) as page:
        session = begin(page)
        agreement = Agreement("login", LOGIN, evidence=("It logs in.",), files=())
        now = datetime.now(UTC).isoformat()
        draft = OutcomeDraft(
            session.session.name, session.handle, now, (LOGIN_FILE,), (), (agreement,)
        )
        write_draft(page.project.settings, draft)
        found = page.get(f"/sessions/{session.session.name}")
        assert "The map has it already." in text_of(found)
        assert "code-intel map confirm" not in text_of(found)
        offered = links(found, "change=confirm")
        assert len(offered) == (0 if readonly else 1)
        if offered:
            assert file.relative_to(shop).as_posix().replace("/", "%2F") in offered[0]
            assert "confirmed: true" in page.text(offered[0])


async def refused(shop: Path) -> None:
    """Hold a session whose write is refused, and one without refusals."""
    async with gateway(shop) as call:
        await start(call, "送料の計算")
        await call("check_write_target", file_path=FEE_FILE)
        await start(call, "ログイン処理")


def test_a_refused_write_is_a_step_of_the_story(shop: Path) -> None:
    anyio.run(refused, shop)
    with opened_page(shop) as page:
        listed = page.get("/sessions?refused=yes")
        (address,) = links(listed, "/sessions/session_")
        assert "1 refusal" in text_of(listed)
        assert "ログイン処理" not in text_of(listed)
        assert text_of(page.get("/sessions")).count("1 refusal") == 1
        found = page.get(address)
        assert f"Write refused {FEE_FILE} · phase EXPLORATION" in text_of(found)
        assert "The session was not READY yet" in text_of(found)
        assert "Answer to the agent: Read the code" in text_of(found)
        assert 'class="step write-refused"' in found
        assert links(found, "/code?file=src%2Fcart%2Fshipping.py")


def test_each_reason_to_refuse_a_write_has_words() -> None:
    module = (
        environment("en")
        .get_template("sessions/steps.html")
        .make_module({"_": lambda text, **_: text})
    )
    for error in {rule.error for rule in WRITE_RULES} | {UNUSABLE.error}:
        assert "_" not in str(vars(module)["refusal_of"](error)), error


def test_refusals_of_calls_are_counted_and_the_cause_of_an_end_is_named(page: PageClient) -> None:
    session = begin(page)
    rows = (
        Decision("refused", "submit_understanding in EXPLORATION: invalid_phase", "too early"),
        Decision("refused", "write a in b.py in READY: file_not_explored", "read it"),
        Decision("refused", "write in READY: <b>", "odd"),
        Decision("phase_moved", "x", '"decision": "refused"'),
    )
    decisions.append(folder_of(page.project.settings.state), session.session.name, rows)
    cause = {"root_cause": "no newsletter", "user_feedback_summary": "fine"}
    text = page.text(add(page, session, steps.outcome("failure", cause)))
    assert "Write refused a in b.py · phase READY The session had not read the file." in text
    assert "Refused submit_understanding in EXPLORATION: invalid_phase : too early" in text
    assert "Cause no newsletter Feedback of the user fine" in text
    assert "3 refusals" in page.text("/sessions")


def test_a_damaged_session_shows_its_intact_part_and_the_reason(page: PageClient) -> None:
    session = begin(page)
    add(page, session, steps.called("search_text", "first", found=1))
    address = add(page, session, steps.called("search_text", "second", found=1))
    file = page.project.context.sessions.journal(session.session.name)
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([*lines[:2], lines[2].replace(b"second", b"forged")]))
    text = page.text(address)
    assert "The journal is damaged. The part that its head confirms is shown." in text
    assert "line 3 or a later one was changed" in text
    assert "first" in text
    assert "forged" not in text


def test_lines_ahead_of_the_head_are_left_out(page: PageClient) -> None:
    session = begin(page)
    with page.project.context.sessions.journal(session.session.name).open("ab") as file:
        file.write(b'{"event": "verified"}\n')
    text = page.text(f"/sessions/{session.session.name}")
    assert "Lines after the last acknowledged step of the journal are left out." in text


def test_events_of_another_version_do_not_break_the_page(page: PageClient) -> None:
    # `apply` reads neither the reason nor the analysis.
    odd = Step(Event.REVERTED, {})
    doubted = Step(Event.DOUBTED, {"symbols": [], "files": [], "missing": ["x"]})
    text = page.text(add(page, begin(page), doubted, odd))
    assert "Went back no reason given" in text


@pytest.mark.parametrize(
    "name", ["x", "session_20200101_000000_00000000", "..%2F..%2Fetc%2Fpasswd", "%3Cscript%3E"]
)
def test_an_unknown_session_is_not_found(page: PageClient, name: str) -> None:
    assert "There is no s" in page.text(f"/sessions/{name}", 404) or "no such page" in page.text(
        f"/sessions/{name}", 404
    )


def test_a_long_story_has_pages(page: PageClient) -> None:
    session = begin(page)
    calls = [steps.called(("search_text", "search_map")[n % 2], f"call {n}") for n in range(150)]
    address = add(page, session, *calls)
    first, second = page.get(address), page.get(f"{address}?page=2")
    assert "Page 1 of 2" in text_of(first)
    assert "call 149" in text_of(second)
    assert "call 149" not in text_of(first)
    ids = re.findall(r'id="(step-\d+)"', first + second)
    assert len(ids) == len(set(ids)) == 151


def test_what_sessions_say_is_text_never_markup(page: PageClient, shop: Path) -> None:
    session = begin(page, HOSTILE)
    (shop / HOSTILE.replace("/", "")).write_text("<b>bold</b>\n", "utf-8")
    address = add(
        page,
        session,
        printed(shop, HOSTILE.replace("/", ""), 1, 1),
        steps.called(HOSTILE, HOSTILE, found=1, files=[HOSTILE], symbols=[HOSTILE]),
        understood(notes=HOSTILE, risk_reason=HOSTILE),
        steps.revert(HOSTILE),
        steps.outcome("partial", {"root_cause": HOSTILE}),
        steps.learned(HOSTILE, HOSTILE),
    )
    (seen,) = links(page.get(address), "/seen?")
    for found in (page.get("/sessions"), page.get(address), page.get(seen)):
        assert not re.search(r"<script(?! src=\"/static/)|<b>|abc", found.partition("<main")[2])
    assert HOSTILE in page.text(address)
    assert "<b>bold</b>" in page.text(seen)


def test_secrets_and_hidden_characters_of_sessions_are_not_shown(page: PageClient) -> None:
    address = add(page, begin(page, "fix\u202e it"), steps.called("x", "a\u200bb", found=1))
    found = page.get("/sessions") + page.get(address)
    assert "\u202e" not in found
    assert "\u200b" not in found


def test_the_pages_write_nothing(page: PageClient, shop: Path) -> None:
    address = add(page, begin(page), printed(shop, FEE_FILE, 9, 11))
    paths = sessions_of(settings_of(shop))
    before = paths.journal(address.rpartition("/")[2]).stat().st_mtime_ns
    for path in ("/sessions", address, links(page.get(address), "/seen?")[0]):
        page.get(path)
    assert paths.journal(address.rpartition("/")[2]).stat().st_mtime_ns == before
