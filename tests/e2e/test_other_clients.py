"""The hooks in the real Codex and Gemini CLI, which play scripts offline."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e.claude_code import installed
from e2e.messages_api import ToolUse
from e2e.scripted_apis import Answer, ScriptedApi, answer_codex, answer_gemini, scripted_api
from projects import BIN, Project
from shop_sessions import FEE_FILE, LOGIN_FILE

pytestmark = pytest.mark.long

ABOUT_FEE = "The shipping fee of an order abroad is wrong when the total is high."
OPENED = "code-intel opened a session for this prompt"
CODEX_CONFIG = """
model = "gpt-5"
model_provider = "local"
[model_providers.local]
name = "local"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "DUMMY"
[projects."{root}"]
trust_level = "trusted"
"""
PATCH = """cd . && apply_patch <<'EOF'
*** Begin Patch
*** Update File: {file}
@@
-{old}
+{new}
*** End Patch
EOF
"""


@dataclass(frozen=True)
class OtherClient:
    """A client, with the calls by which its model reads and edits a file.

    Attributes:
        name: Its name in `init --client`.
        program: The name in `.ci/client`.
        answer: Plays its API.
        words: The arguments before the prompt.
        prepare: Writes its configuration, and returns its environment.
        read: Reads a file.
        edit: Replaces a line of a file.
        shell: Executes a command.
        start_session: The name of the tool.
    """

    name: str
    program: str
    answer: Answer
    words: tuple[str, ...]
    prepare: Callable[[Path, str, Path], Mapping[str, str]]
    read: Callable[[str], ToolUse]
    edit: Callable[[str, str, str], ToolUse]
    shell: Callable[[str], ToolUse]
    start_session: str


def prepare_codex(home: Path, url: str, root: Path) -> Mapping[str, str]:
    folder = home / ".codex"
    folder.mkdir()
    (folder / "config.toml").write_text(CODEX_CONFIG.format(url=url, root=root), "utf-8")
    return {"CODEX_HOME": str(folder), "DUMMY": "x"}


def prepare_gemini(home: Path, url: str, root: Path) -> Mapping[str, str]:
    folder = home / ".gemini"
    folder.mkdir()
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    (folder / "settings.json").write_text(json.dumps(settings), "utf-8")
    (folder / "trustedFolders.json").write_text(json.dumps({str(root): "TRUST_FOLDER"}), "utf-8")
    return {"GEMINI_API_KEY": "dummy", "GOOGLE_GEMINI_BASE_URL": url}


def shell(command: str) -> ToolUse:
    return ToolUse("exec_command", {"cmd": command})


CODEX = OtherClient(
    "codex",
    "codex",
    answer_codex,
    (
        "exec",
        "--json",
        "--dangerously-bypass-hook-trust",
        "--dangerously-bypass-approvals-and-sandbox",  # it asks the user before start_session
    ),
    prepare_codex,
    lambda file: shell(f"cat {file}"),
    lambda file, old, new: shell(PATCH.format(file=file, old=old, new=new)),
    shell,
    "mcp__code_intel__start_session",
)
GEMINI = OtherClient(
    "gemini",
    "gemini",
    answer_gemini,
    ("--approval-mode", "yolo", "-p"),
    prepare_gemini,
    lambda file: ToolUse("read_file", {"file_path": file}),
    lambda file, old, new: ToolUse(
        "replace", {"file_path": file, "old_string": old, "new_string": new, "instruction": "x"}
    ),
    lambda command: ToolUse("run_shell_command", {"command": command}),
    "mcp_code-intel_start_session",
)
clients = pytest.mark.parametrize("client", [CODEX, GEMINI], ids=lambda client: client.name)


@pytest.fixture
def project(words: Project, tmp_path: Path) -> Project:
    """Return a project of a user with a home folder; Codex gives its hooks few variables."""
    home = tmp_path / "home"
    home.mkdir()
    env = {name: text for name, text in words.env.items() if not name.startswith("CODE_INTEL_")}
    env |= {"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(home)}
    config = words.root / ".code-intel" / "config.toml"
    config.write_text('embedding = "off"\n', "utf-8")
    return Project(words.root, env)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


def ask(
    client: OtherClient,
    project: Project,
    stack: ExitStack,
    *turns: ToolUse,
    prompt: str = ABOUT_FEE,
) -> ScriptedApi:
    """Send a prompt in a project with hooks; return what came to the API."""
    api = stack.enter_context(scripted_api(client.answer))
    api.turns = turns
    env = {**project.env, **client.prepare(Path(project.env["HOME"]), api.url, project.root)}
    ran = subprocess.run(
        [installed(client.program), *client.words, prompt],
        cwd=project.root, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        encoding="utf-8", timeout=200, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, (ran.stdout[-3000:], ran.stderr[-3000:])
    return api


@clients
def test_a_prompt_gets_context_and_what_the_client_reads_is_noted(
    client: OtherClient, project: Project, stack: ExitStack
) -> None:
    project.run("code-intel", "init", "--client", client.name, "--hooks", "advise")
    api = ask(client, project, stack, client.read(LOGIN_FILE))
    assert OPENED in json.dumps(api.requests[0])
    assert LOGIN_FILE in project.run("code-intel", "session", "show", "last").stdout


@clients
def test_enforce_denies_an_unread_write_and_tells_the_model_why(
    client: OtherClient, project: Project, stack: ExitStack
) -> None:
    project.run("code-intel", "init", "--client", client.name, "--hooks", "enforce")
    before = (project.root / LOGIN_FILE).read_text("utf-8")
    line = "        self.tokens.revoke(token)"
    edit = client.edit(LOGIN_FILE, line, f"{line}  # changed")
    api = ask(client, project, stack, edit)
    assert (project.root / LOGIN_FILE).read_text("utf-8") == before
    assert f"{LOGIN_FILE} may not be written yet" in api.seen


@clients
def test_advise_lets_writes_pass(client: OtherClient, project: Project, stack: ExitStack) -> None:
    project.run("code-intel", "init", "--client", client.name, "--hooks", "advise")
    line = 'FREE_FROM = Decimal("80.00")'
    edit = client.edit(FEE_FILE, line, line.replace("80", "90"))
    ask(client, project, stack, edit)
    assert "90.00" in (project.root / FEE_FILE).read_text("utf-8")


@clients
def test_a_new_session_adopts_what_the_client_has_read(
    client: OtherClient, project: Project, stack: ExitStack
) -> None:
    project.run("code-intel", "init", "--client", client.name, "--hooks", "enforce")
    query = "Change how a session is closed at logout"
    wait = client.shell("sleep 8")  # Codex starts servers in the background
    start = ToolUse(client.start_session, {"intent": "MODIFY", "query": query})
    ask(client, project, stack, client.read(LOGIN_FILE), wait, start, prompt="Thanks!")
    shown = project.run("code-intel", "session", "show", "last").stdout
    assert query in shown
    assert LOGIN_FILE in shown
