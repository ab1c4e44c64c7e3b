"""The plugin in the real Claude Code."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from e2e.claude_code import ClaudeCode, gateways_of
from e2e.messages_api import MessagesApi, ToolUse
from projects import Project

pytestmark = pytest.mark.long

REPOSITORY = Path(__file__).resolve().parents[2]
PLUGIN = "code-intel@code-intel"
ABOUT_FEE = "The shipping fee of an order abroad is wrong when the total is high."
SERVER = "mcp__plugin_code-intel_code-intel"
FOUND = ToolUse("ToolSearch", {"query": f"select:{SERVER}__search_smart"})
OPENED = "code-intel opened a session for this prompt"


@pytest.fixture
def claude(words: Project, api: MessagesApi, claude_program: str, tmp_path: Path) -> ClaudeCode:
    """Install the plugin from a local marketplace; the project has no files of a client."""
    home = tmp_path / "home"
    home.mkdir()
    words.git("rm", "-rqf", ".claude", ".mcp.json")
    words.git("commit", "-qm", "No files of a client")
    found = ClaudeCode(words, api, claude_program, home)
    plugin(found, "marketplace", "add", str(REPOSITORY))
    plugin(found, "install", PLUGIN)
    return found


def plugin(claude: ClaudeCode, *words: str) -> str:
    """Run a command of `claude plugin`; return its output."""
    ran = subprocess.run(
        [claude.program, "plugin", *words], env=claude.env, capture_output=True, text=True,
        stdin=subprocess.DEVNULL, check=False, timeout=200,
    )  # fmt: skip
    assert ran.returncode == 0, (ran.stdout, ran.stderr)
    return ran.stdout


def test_the_marketplace_and_the_plugin_are_valid(claude: ClaudeCode) -> None:
    plugin(claude, "validate", "--strict", str(REPOSITORY))
    plugin(claude, "validate", "--strict", str(REPOSITORY / "plugin"))


def test_the_plugin_brings_hooks_a_server_skills_and_commands(claude: ClaudeCode) -> None:
    details = plugin(claude, "details", PLUGIN)
    assert "Hooks (7)" in details
    assert "MCP servers (1)  code-intel" in details
    assert "find-code, map, record-what-was-learned, why" in details


@pytest.mark.parametrize("folder", [".", "src/cart"])
def test_a_prompt_is_answered_by_the_hooks_and_the_server_of_the_plugin(
    claude: ClaudeCode, folder: str
) -> None:
    project = Project(claude.project.root / folder, claude.project.env)
    claude = replace(claude, project=project)
    search = ToolUse("mcp__plugin_code-intel_code-intel__search_smart", {"query": "shipping fee"})
    done = claude.ask(
        ABOUT_FEE, FOUND, search, options=["--allowedTools", "mcp__plugin_code-intel_code-intel"]
    )
    assert OPENED in done.prompt_context
    assert "src/cart/shipping.py" in done.results[-1], done.results


def test_the_plugin_is_silent_beside_the_hooks_and_servers_of_the_project(
    claude: ClaudeCode,
) -> None:
    claude.project.run("code-intel", "init")
    name = "mcp__code-intel__search_smart"  # the servers connect in the background
    found = ToolUse("ToolSearch", {"query": f"select:{name}"})
    done = claude.ask(ABOUT_FEE, found, ToolUse(name, {"query": "shipping fee"}))
    assert done.prompt_context.count(OPENED) == 1
    assert "src/cart/shipping.py" in done.results[-1], done.results
    names = {name for each in done.events for name in each.get("tools", ())}
    names |= {tool["name"] for each in done.requests for tool in each.get("tools", ())}
    assert not any("plugin" in name for name in names)


def test_the_plugin_leaves_a_project_alone_that_is_not_set_up(
    claude: ClaudeCode, tmp_path: Path
) -> None:
    bare = Project(tmp_path / "bare", claude.project.env)
    bare.root.mkdir()
    other = ClaudeCode(bare, claude.api, claude.program, claude.home)
    assert OPENED not in other.ask(ABOUT_FEE).seen
    assert list(bare.root.iterdir()) == []
    assert gateways_of(bare.root) == []


def test_the_hooks_are_silent_without_the_program(tmp_path: Path) -> None:
    for script in ("hook.sh", "serve.sh"):
        ran = subprocess.run(
            ["/bin/sh", REPOSITORY / "plugin" / "scripts" / script],
            cwd=tmp_path, env={"PATH": str(tmp_path)}, capture_output=True, text=True,
            stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
        assert ran.stdout == ""
        assert (script, ran.returncode, "not installed" in ran.stderr) in {
            ("hook.sh", 0, False), ("serve.sh", 1, True),
        }  # fmt: skip
