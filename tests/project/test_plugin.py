"""The files of the plugin agree with the set-up and the package."""

import json
import re
from pathlib import Path
from typing import Any

import frontmatter
import pytest

from code_intel import __version__
from code_intel.cli.setup.client_hooks import CLAUDE_CODE

REPOSITORY = Path(__file__).resolve().parents[2]
PLUGIN = REPOSITORY / "plugin"
START = "|mcp__plugin_code-intel_code-intel__start_session"


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_the_plugin_has_the_version_of_the_package() -> None:
    assert read(PLUGIN / ".claude-plugin" / "plugin.json")["version"] == __version__


def test_the_marketplace_names_the_plugin() -> None:
    (entry,) = read(REPOSITORY / ".claude-plugin" / "marketplace.json")["plugins"]
    manifest = read(PLUGIN / ".claude-plugin" / "plugin.json")
    assert (REPOSITORY / entry["source"]).resolve() == PLUGIN
    assert {name: manifest[name] for name in ("name", "description")} == {
        name: entry[name] for name in ("name", "description")
    }


def test_the_plugin_has_the_hooks_that_init_writes() -> None:
    groups = read(PLUGIN / "hooks" / "hooks.json")["hooks"]
    matchers = {
        event: group.get("matcher", "").removesuffix(START) for event, (group,) in groups.items()
    }
    assert matchers == CLAUDE_CODE.events
    assert groups["PreToolUse"][0]["matcher"].endswith(START)
    handlers = [handler for (group,) in groups.values() for handler in group["hooks"]]
    assert {handler["timeout"] for handler in handlers} == {CLAUDE_CODE.timeout}
    assert f"hook {CLAUDE_CODE.adapter}" in (PLUGIN / "scripts" / "hook.sh").read_text("utf-8")


@pytest.mark.parametrize(
    "path", sorted(PLUGIN.glob("*/**/*.md")), ids=lambda path: path.parent.name
)
def test_skills_and_commands_describe_themselves(path: Path) -> None:
    found = frontmatter.loads(path.read_text(encoding="utf-8"))
    assert 40 <= len(str(found["description"])) <= 200
    assert found.content.strip()
    if path.name == "SKILL.md":
        assert found["name"] == path.parent.name


def test_skills_and_commands_name_only_what_exists() -> None:
    from code_intel.cli.main import COMMANDS
    from code_intel.tools.table import GATEWAY_TOOLS

    text = "\n".join(path.read_text(encoding="utf-8") for path in PLUGIN.rglob("*.md"))
    commands = set(re.findall(r"`code-intel ([a-z]+)", text))
    assert commands <= {each.name for each in COMMANDS}
    tools = {name for name in re.findall(r"`([a-z]+_[a-z_]+)`", text) if name != "session_id"}
    assert tools
    assert tools <= {tool.name for tool in GATEWAY_TOOLS}
