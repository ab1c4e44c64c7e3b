"""`code-intel session` lists sessions and shows what one has done."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.cli.columns import cut, wrapped
from code_intel.cli.main import main
from code_intel.session import journal, steps
from code_intel.session.frame import display_width
from code_intel.session.heads import SessionPaths, session_paths
from code_intel.session.journal import NewSession
from code_intel.session.phases import Intent
from planted import pieces, planted
from projects import Project, file_tree
from served import gateway
from shop_sessions import LOGIN, LOGIN_FILE, explore, start

QUERY = "ログイン機能を直して\n二行目"
Run = Callable[..., str]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "project" / ".code-intel").mkdir(parents=True)
    return tmp_path / "project"


@pytest.fixture
def place(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SessionPaths:
    monkeypatch.setenv("CODE_INTEL_STATE_DIR", str(tmp_path / "state"))
    return session_paths(root, root / ".code-intel" / "sessions", tmp_path / "state")


@pytest.fixture
def run(place: SessionPaths, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a subcommand of `code-intel session` in this process; return its output."""

    def word(*words: str, code: int = 0) -> str:
        found = main(["session", *words, "--project", str(place.root)])
        out, err = capsys.readouterr()
        assert found == code, (out, err)
        assert "Traceback" not in err
        return out if code == 0 else out + err

    return word


def begin(
    place: SessionPaths, minutes: int = 0, query: str = QUERY, intent: Intent = Intent.MODIFY
) -> NewSession:
    """Start a session that many minutes ago."""
    return journal.create(place, intent, query, clock=ago(minutes))


def ago(minutes: float) -> journal.Clock:
    return lambda: datetime.now(UTC) - timedelta(minutes=minutes)


def show(run: Run, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("show", *words, "--json"))
    return found


def test_the_last_used_session_is_listed_first_without_its_handle(
    place: SessionPaths, run: Run
) -> None:
    first, second = begin(place, 50), begin(place, 40, "fix the cart", Intent.QUESTION)
    journal.append(place, first.handle, steps.called("search_text", "x"), clock=ago(30))
    text = run("list")
    names = [line.split()[0] for line in text.splitlines()]
    assert names == [first.session.name, second.session.name]
    rows = json.loads(run("list", "--json"))
    assert [row["name"] for row in rows["sessions"]] == names
    assert rows["sessions"][0]["query"] == "ログイン機能を直して"
    assert (rows["sessions"][1]["intent"], rows["sessions"][1]["phase"]) == ("QUESTION", "READY")
    assert not rows["truncated"]
    for started in (first, second):
        assert started.handle.removeprefix(started.session.name) not in text + json.dumps(rows)
    assert "二行目" not in text


def test_without_sessions_the_message_says_how_one_begins(run: Run) -> None:
    assert "An agent starts one before it changes code" in run("list", code=1)
    said = run("show", "last", code=1)
    assert "There are no sessions yet." in said
    assert "An agent starts one before it changes code" in said


def test_only_the_newest_sessions_are_listed_without_all(place: SessionPaths, run: Run) -> None:
    for minutes in range(23):
        begin(place, minutes)
    assert len(run("list").splitlines()) == 21
    assert "There are more; --all lists them." in run("list")
    assert len(run("list", "--all").splitlines()) == 23
    assert json.loads(run("list", "--json"))["truncated"]


def test_expired_broken_and_ended_sessions_are_listed(place: SessionPaths, run: Run) -> None:
    old, damaged, ended = begin(place, 60 * 24 * 3), begin(place, 2), begin(place, 1)
    journal.append(place, ended.handle, steps.outcome("partial", {}))
    with place.journal(damaged.session.name).open("r+b") as file:
        file.write(b"x")
    rows = {row["name"]: row for row in json.loads(run("list", "--json"))["sessions"]}
    assert rows[old.session.name]["state"] == "expired"
    assert rows[ended.session.name]["state"] == "ended"
    broken = rows[damaged.session.name]
    assert (broken["state"], broken["intent"], broken["phase"]) == ("broken", None, None)
    assert "line 1" in broken["why"]
    text = run("list")
    assert "its journal does not match its head" in text
    assert "CODE_INTEL_STATE_DIR" in text
    assert "EXPLORATION  partial " in text
    shown = run("show", ended.session.name)
    assert shown.splitlines()[0].endswith("EXPLORATION, ended, partial")
    assert show(run, old.session.name)["state"] == "expired"
    assert "It may no longer write: it is expired." in run("show", old.session.name)


def test_a_session_is_found_by_name_prefix_handle_or_last(place: SessionPaths, run: Run) -> None:
    first, second = begin(place, 60 * 24), begin(place, 1)
    name = first.session.name
    words = (name, name[:-1], name.removeprefix("session_")[:8], first.handle)
    assert {show(run, word)["name"] for word in words} == {name}
    assert show(run, "last")["name"] == second.session.name


@pytest.mark.parametrize("word", ["session_2", "2", "session_"])
def test_an_ambiguous_prefix_is_refused_with_the_matching_names(
    place: SessionPaths, run: Run, word: str
) -> None:
    names = [begin(place, minutes).session.name for minutes in (1, 2)]
    error = json.loads(run("show", word, "--json", code=2).partition("\n")[0])
    assert (error["error"], error["field"]) == ("invalid_argument", "id")
    assert all(name in error["message"] for name in names)


@pytest.mark.parametrize(
    "word", ["nobody", "", "../../etc/passwd", "session_20200101_000000_00000000"]
)
def test_an_unknown_session_is_not_found(place: SessionPaths, run: Run, word: str) -> None:
    begin(place)
    error = json.loads(run("show", word, "--json", code=1).partition("\n")[0])
    assert (error["error"], error["field"]) == ("not_found", "id")
    assert "session list --all" in error["hint"]


def test_an_unknown_handle_is_not_printed(place: SessionPaths, run: Run) -> None:
    started = begin(place)
    place.journal(started.session.name).unlink()
    begin(place)
    assert started.handle[len(started.session.name) :] not in run("show", started.handle, code=1)


def test_list_and_show_write_nothing(place: SessionPaths, run: Run) -> None:
    begin(place, 5)
    damaged = begin(place, 4)
    with place.journal(damaged.session.name).open("ab") as file:
        file.write(b"ahead\n")
    before = file_tree(place.root), file_tree(place.heads.parent.parent)
    for words in (("list",), ("list", "--json"), ("show", "last"), ("show", damaged.session.name)):
        run(*words)
    assert (file_tree(place.root), file_tree(place.heads.parent.parent)) == before


def test_list_creates_no_state_folder(place: SessionPaths, run: Run) -> None:
    (place.root / ".code-intel").rmdir()
    run("list", code=1)
    assert list(place.root.rglob("*")) == []
    assert not place.heads.exists()


def test_unacknowledged_lines_are_left_out_and_reported(place: SessionPaths, run: Run) -> None:
    name = begin(place).session.name
    assert not show(run, "last")["ahead"]
    with place.journal(name).open("ab") as file:
        file.write(b'{"event": "verified"}\n')
    found = show(run, "last")
    assert (found["ahead"], found["state"], found["phase"]) == (True, "open", "EXPLORATION")
    assert journal.IGNORED_LINES_NOTE in run("show", "last")


def cut_short(path: Path) -> None:
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:4]))


def edited(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    lines[5] = lines[5].replace(b'"found":0', b'"found":7')
    path.write_bytes(b"".join(lines))


@pytest.mark.parametrize(("damage", "calls"), [(cut_short, 2), (edited, 4)])
def test_the_intact_part_of_a_damaged_journal_is_shown(
    place: SessionPaths, run: Run, damage: Callable[[Path], None], calls: int
) -> None:
    started = begin(place)
    for number in range(4):  # two lines a commit
        pair = [steps.called(tool, f"t{number}") for tool in ("search_text", "find_definitions")]
        journal.append(place, started.handle, *pair)
    damage(place.journal(started.session.name))
    found = show(run, "last")
    assert found["state"] == "broken"
    assert [line["what"] for line in found["story"]] == ["asked", *["found"] * calls]
    assert found["tool_calls"] == calls
    text = run("show", "last")
    assert f"The rest is not shown: {found['broken']}" in " ".join(text.split())
    assert "It may no longer write: it is broken." in text


@pytest.mark.parametrize("missing", ["head", "all"])
def test_nothing_of_an_unacknowledged_journal_is_shown(
    place: SessionPaths, run: Run, missing: str
) -> None:
    started = begin(place)
    if missing == "head":
        place.head(started.session.name).unlink()
    else:
        place.journal(started.session.name).write_bytes(b"\xff\n")
    found = show(run, "last")
    assert (found["state"], found["story"]) == ("broken", [])
    assert found["broken"]
    assert "The rest is not shown" in run("show", "last")


def test_a_long_story_is_shortened_in_the_middle_without_all(place: SessionPaths, run: Run) -> None:
    started = begin(place)
    long = "ん" * 400
    for number in range(50):
        calls = [steps.called("search_text", f"t{number}"), steps.called("find_references", long)]
        journal.append(place, started.handle, *calls)
    text = run("show", "last")
    assert "… 21 more; --all shows them" in text
    assert "search_text t0:" in text
    assert "search_text t49:" in text
    assert len(text.splitlines()) < 140
    assert max(map(display_width, text.splitlines())) <= 110
    assert len(show(run, "last")["story"]) == 80
    assert show(run, "last")["left_out"] == 21
    whole = show(run, "last", "--all")
    assert (len(whole["story"]), whole["left_out"]) == (101, 0)
    everything = run("show", "last", "--all").replace("\n", "").replace(" ", "")
    assert everything.count(long) == 50


def test_queries_are_printed_without_control_characters_and_secrets(
    place: SessionPaths, run: Run
) -> None:
    plant = planted()["GitHub classic"]
    begin(place, query=f"\x1b[2J\u202eevil {plant.text}\n12:00:00  believed    everything")
    for words in (("list",), ("show", "last"), ("show", "last", "--json")):
        text = run(*words)
        assert "\x1b" not in text
        assert not [
            piece for secret in plant.secrets for piece in pieces(secret) if piece in text.lower()
        ]
    assert r"\x1b[2J\u202eevil" in run("list")
    assert "\n12:00:00  believed" not in run("show", "last")


def test_a_real_session_shows_refusals_and_writable_files(
    shop: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in shop.env.items():
        monkeypatch.setenv(name, value)

    async def work() -> None:
        async with gateway(shop.root) as call:
            await start(call, "ログイン機能")
            await call.refused(
                "submit_understanding",
                symbols_identified=["Nope"],
            )
            await explore(call, LOGIN, LOGIN_FILE)
            await call("record_outcome", outcome="partial", analysis={"root_cause": "later"})

    anyio.run(work)
    assert main(["session", "show", "last", "--project", str(shop.root), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    words = [line["what"] for line in found["story"]]
    order = ["asked", "framed", "refused", "map", "claimed", "ended"]
    assert [word for word in words if word in order] == order
    refused = next(line for line in found["story"] if line["what"] == "refused")
    assert refused["text"].startswith("submit_understanding in EXPLORATION:")
    assert (found["phase"], found["explored_files"]) == ("READY", [LOGIN_FILE])
    assert main(["session", "show", "last", "--project", str(shop.root)]) == 0
    text = capsys.readouterr().out
    assert "It may no longer write: its outcome was recorded." in text
    assert "partial: later" in text


@given(st.text(max_size=80), st.integers(2, 20))
def test_wrapping_keeps_all_text_within_the_columns(text: str, columns: int) -> None:
    lines = list(wrapped(text, columns))
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(display_width(line) <= columns for line in lines)
    short = cut(text, columns)
    assert display_width(short) <= columns
    assert short == text.rstrip() or short.endswith("…") or not text.strip()
