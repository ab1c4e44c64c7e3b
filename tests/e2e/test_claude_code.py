"""The hooks and servers in the real Claude Code, which plays scripts offline."""

import re
import shutil
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from e2e.claude_code import ClaudeCode, Conversation, gateways_of, kill_gateways
from e2e.conftest import new_project
from e2e.messages_api import MessagesApi, ToolUse, Turn, texts_of
from projects import Project, file_tree
from shop_sessions import FEE, FEE_FILE, LOGIN_FILE

pytestmark = pytest.mark.long

ABOUT_FEE = "The shipping fee of an order abroad is wrong when the total is high."
AGAIN = "When the total is high, the shipping fee of an order abroad is wrong."
TERM = "shipping fee of an order abroad"
QUOTE = "return Decimal(0) if total >= FREE_FROM else ZONES[zone]"
HANDLE = re.compile(r"""session_id"?: ?"?(session_\w+)""")
Start = Callable[..., ClaudeCode]


@pytest.fixture
def start(words: Project, api: MessagesApi, claude_program: str, tmp_path: Path) -> Start:
    """Return a function that sets a project up, and returns Claude Code in it."""

    def set_up(
        hooks: str = "advise", project: Project = words, *, commits: bool = True
    ) -> ClaudeCode:
        project.run("code-intel", "init", "--hooks", hooks)
        if commits:
            project.git("add", "-A")
            project.git("commit", "-qm", "Set up", "--allow-empty")
        home = tmp_path / "home"
        home.mkdir(exist_ok=True)
        return ClaudeCode(project, api, claude_program, home)

    return set_up


def read(claude: ClaudeCode, file: str) -> ToolUse:
    return ToolUse("Read", {"file_path": str(claude.project.root / file)})


def edit(claude: ClaudeCode, file: str, old: str, new: str) -> ToolUse:
    path = str(claude.project.root / file)
    return ToolUse("Edit", {"file_path": path, "old_string": old, "new_string": new})


def edit_fee(claude: ClaudeCode) -> ToolUse:
    return edit(claude, FEE_FILE, "total >= FREE_FROM", "total > FREE_FROM")


def edit_login(claude: ClaudeCode) -> ToolUse:
    return edit(claude, LOGIN_FILE, "if user is None or", "if not user or")


def call(claude: ClaudeCode, tool: str, **arguments: object) -> tuple[Turn, Turn]:
    """Return the turns in which the model loads a tool of the gateway and calls it.

    It knows the session from the context of the prompt.
    """
    name = f"mcp__code-intel__{tool}"

    def with_session() -> ToolUse:
        handle = HANDLE.findall(texts_of(claude.api.requests[-1]["messages"]))[-1]
        return ToolUse(name, {**arguments, "session_id": handle})

    return ToolUse("ToolSearch", {"query": f"select:{name}"}), with_session


def understand(claude: ClaudeCode) -> tuple[Turn, Turn]:
    claim = {"symbol": FEE, "file": FEE_FILE, "explanation": "It computes the fee.", "quote": QUOTE}
    return call(claude, "submit_understanding", symbols_identified=[claim])


def text_of(claude: ClaudeCode, file: str) -> str:
    return (claude.project.root / file).read_text(encoding="utf-8")


def sessions(claude: ClaudeCode) -> list[str]:
    out = claude.project.run("code-intel", "session", "list", check=False).stdout
    return [line for line in out.splitlines() if line.startswith("session_")]


def agree(claude: ClaudeCode) -> None:
    evidence = ("--evidence", "shipping_fee returns what delivery costs")
    claude.project.run("code-intel", "map", "add", TERM, FEE, *evidence)
    claude.project.run("code-intel", "map", "confirm", TERM, FEE)


def test_the_map_answers_in_the_context_of_the_prompt(start: Start) -> None:
    claude = start()
    agree(claude)
    context = claude.ask(ABOUT_FEE).prompt_context
    assert f"{TERM} → {FEE}" in context
    assert QUOTE in context
    assert len(sessions(claude)) == 1


def test_small_talk_gets_no_context_and_opens_no_session(start: Start) -> None:
    claude = start()
    assert "code-intel opened a session" not in claude.ask("Thanks, that is great!").seen
    assert sessions(claude) == []


def test_advise_comments_on_an_unread_write_and_lets_it_pass(start: Start) -> None:
    claude = start()
    done = claude.ask(ABOUT_FEE, ToolUse("Bash", {"command": f"echo >> {LOGIN_FILE}"}))
    assert f"{LOGIN_FILE} was not read in this session" in done.seen
    assert text_of(claude, LOGIN_FILE).endswith("\n\n")


def test_enforce_denies_an_unread_write_and_tells_the_model_why(start: Start) -> None:
    claude = start("enforce")
    before = text_of(claude, LOGIN_FILE)
    done = claude.ask(ABOUT_FEE, read(claude, LOGIN_FILE), edit_login(claude))
    assert text_of(claude, LOGIN_FILE) == before
    assert f"{LOGIN_FILE} may not be written yet" in done.seen


def test_reading_with_the_tool_of_the_client_opens_a_write(start: Start) -> None:
    claude = start("enforce")
    claude.ask(ABOUT_FEE, read(claude, FEE_FILE), *understand(claude), edit_fee(claude))
    assert "total > FREE_FROM" in text_of(claude, FEE_FILE)


def test_a_write_by_a_command_is_reported_to_the_user(start: Start) -> None:
    claude = start()
    script = f"from pathlib import Path; f = Path('{LOGIN_FILE}'); f.open('a').write('#')"
    (claude.project.root / "write.py").write_text(script, encoding="utf-8")
    claude.project.git("add", "write.py")
    claude.project.git("commit", "-qm", "A program that writes")
    done = claude.ask(ABOUT_FEE, ToolUse("Bash", {"command": f"'{sys.executable}' write.py"}))
    assert text_of(claude, LOGIN_FILE).endswith("#")
    assert "Changed without a check by code-intel" in done.notices
    assert LOGIN_FILE in done.notices


def test_a_confirmed_success_answers_the_next_session(start: Start) -> None:
    claude = start()
    request = "Change the shipping fee of an order abroad"
    first = claude.ask(request, read(claude, FEE_FILE), edit_fee(claude))
    assert "agreements: facts" in first.seen
    assert "total > FREE_FROM" in text_of(claude, FEE_FILE)
    drafted = claude.project.run("code-intel", "map", "list").stdout
    assert f"[unconfirmed] {request} → {FEE}" in drafted
    claude.project.run("code-intel", "map", "confirm", request, FEE)
    claude.project.git("commit", "-qam", "Change the fee")
    second = claude.ask(f"{request}: it is wrong for exactly 80.")
    assert f"{request} → {FEE}" in second.prompt_context


def test_a_subagent_writes_in_the_session_of_its_parent(start: Start) -> None:
    claude = start("enforce")
    task = "As a subagent, change the check of the user at login."
    claude.api.scripts[task] = (read(claude, LOGIN_FILE), edit_login(claude))
    arguments = {"description": "Login", "prompt": task, "subagent_type": "general-purpose"}
    before = text_of(claude, LOGIN_FILE)
    done = claude.ask(ABOUT_FEE, ToolUse("Task", arguments))
    assert text_of(claude, LOGIN_FILE) == before
    assert f"{LOGIN_FILE} may not be written yet" in done.seen
    assert len(sessions(claude)) == 1


def test_a_new_session_adopts_what_the_client_has_read(start: Start) -> None:
    claude = start("enforce")
    query = {"intent": "MODIFY", "query": "Make an order of exactly 80 pay for delivery"}
    name = "mcp__code-intel__start_session"
    load = ToolUse("ToolSearch", {"query": f"select:{name}"})
    opened = ToolUse(name, query)
    claude.ask(
        "Thanks!", read(claude, FEE_FILE), load, opened, *understand(claude), edit_fee(claude)
    )
    assert "total > FREE_FROM" in text_of(claude, FEE_FILE)


def test_hooks_survive_the_death_of_the_gateway(start: Start) -> None:
    claude = start("enforce")
    before = text_of(claude, LOGIN_FILE)
    killed: list[int] = []

    def kill() -> ToolUse:
        killed.extend(kill_gateways(claude.project.root))
        return edit_login(claude)

    done = claude.ask(ABOUT_FEE, read(claude, LOGIN_FILE), kill)
    assert killed
    assert text_of(claude, LOGIN_FILE) == before
    assert f"{LOGIN_FILE} may not be written yet" in done.seen
    assert len(sessions(claude)) == 1
    assert gateways_of(claude.project.root) == []


def test_two_projects_at_once_have_their_own_answers(start: Start, tmp_path: Path) -> None:
    one = start()
    root = Path(shutil.copytree(one.project.root, tmp_path / "other"))
    other = start(project=Project(root, one.project.env))
    agree(other)
    done = ask_at_once({one: ABOUT_FEE, other: AGAIN})
    assert f"{TERM} → {FEE}" not in done[one].prompt_context
    assert f"{TERM} → {FEE}" in done[other].prompt_context
    assert len(sessions(one)) == len(sessions(other)) == 1


def test_two_windows_in_one_project_share_no_session(start: Start) -> None:
    one = start()
    other = replace(one, home=one.home.with_name("second"))
    other.home.mkdir()
    done = ask_at_once({one: ABOUT_FEE, other: AGAIN})
    handles = {handle for each in done.values() for handle in HANDLE.findall(each.prompt_context)}
    assert len(handles) == len(sessions(one)) == 2


def test_a_later_prompt_joins_the_session_of_its_conversation(start: Start) -> None:
    claude = start()
    first = claude.ask(ABOUT_FEE)
    claude.ask("Yes, and what about ShoppingCart.total?", options=["--resume", first.id])
    assert len(sessions(claude)) == 1


def test_compaction_keeps_the_session(start: Start) -> None:
    claude = start()
    first = claude.ask(ABOUT_FEE)
    compacted = claude.ask("/compact", options=["--resume", first.id])
    assert "SessionStart:compact" in {each.get("hook_name") for each in compacted.events}
    later = claude.ask("Yes, do it.", options=["--resume", compacted.id])
    state = later.prompt_context.rpartition("SessionStart hook additional context")[2]
    assert HANDLE.findall(first.prompt_context)[0] in state


def test_remove_leaves_the_project_as_it_was(start: Start, tmp_path: Path, cache: Path) -> None:
    bare = new_project(tmp_path / "bare", cache)
    before = file_tree(bare.root)
    claude = start(project=bare, commits=False)
    bare.run("code-intel", "sync", "--words-only")
    claude.ask(ABOUT_FEE, read(claude, FEE_FILE))
    bare.run("code-intel", "init", "--remove")
    left = file_tree(bare.root)
    kept = [name for name in left if name.startswith(".code-intel/sessions/session_")]
    assert len(kept) == 1  # journals stay, and so do the local files about them
    log = "logs/answers.jsonl"
    about = (".gitignore", "state.db", "learned.lock", log, f"{log}.lock")
    local = {*kept, *(f".code-intel/{name}" for name in about)}
    assert {name: left[name] for name in left.keys() - local} == before
    assert gateways_of(bare.root) == []


def ask_at_once(prompts: Mapping[ClaudeCode, str]) -> dict[ClaudeCode, Conversation]:
    """Send one prompt each at the same time."""
    with ThreadPoolExecutor() as pool:
        running = {claude: pool.submit(claude.ask, prompt) for claude, prompt in prompts.items()}
        return {claude: each.result() for claude, each in running.items()}
