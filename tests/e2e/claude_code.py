"""Run the real Claude Code in a project, offline, against a stand-in for its API."""

import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from e2e.messages_api import MessagesApi, Turn, texts_of
from projects import BIN, Project

INSTALLER = Path(__file__).resolve().parents[2] / ".ci" / "client"
WITHOUT_NPM = "CODE_INTEL_CI_WITHOUT_NPM"
NO_NPM = 3
"""The exit code of the installer if npm is missing."""
TOOLS = "Read,Edit,Write,Bash,Task,ToolSearch,mcp__code-intel"
TIMEOUT_S = 200


def installed(client: str) -> str:
    """Return the path of a client, which is installed if it is missing.

    Without npm, the test fails, or is skipped if the environment says so.
    """
    ran = subprocess.run([INSTALLER, client], capture_output=True, text=True, check=False)
    if ran.returncode == NO_NPM and os.environ.get(WITHOUT_NPM) == "1":
        pytest.skip(f"there is no npm, and {WITHOUT_NPM}=1 says to go on without it")
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


@dataclass(frozen=True)
class Conversation:
    """What happened after one prompt.

    Attributes:
        events: What the client printed.
        requests: The requests to the model, of subagents too.
    """

    events: Sequence[Mapping[str, Any]]
    requests: Sequence[Mapping[str, Any]]

    @property
    def prompt_context(self) -> str:
        """Everything that the model got with the prompt."""
        return "\n".join(texts_of(each["content"]) for each in self.requests[0]["messages"])

    @property
    def seen(self) -> str:
        """Everything that the model got until the end."""
        texts = (each["content"] for request in self.requests for each in request["messages"])
        return "\n".join(map(texts_of, texts))

    @property
    def results(self) -> list[str]:
        """What the tools returned, in order, without what the client adds to a message."""
        blocks = (block for message in self.requests[-1]["messages"] for block in _blocks(message))
        return [texts_of(block) for block in blocks if block["type"] == "tool_result"]

    @property
    def notices(self) -> str:
        """What the user was shown by hooks."""
        found = (each for each in self.events if each.get("subtype") == "informational")
        return "\n".join(str(each["content"]) for each in found)

    @property
    def id(self) -> str:
        """The session of the client."""
        return str(self.events[-1]["session_id"])


@dataclass(frozen=True, eq=False)
class ClaudeCode:
    """Claude Code in a project. Each prompt is a process of its own."""

    project: Project
    api: MessagesApi
    program: str
    home: Path

    def ask(self, prompt: str, *turns: Turn, options: Sequence[str] = ()) -> Conversation:
        """Send a prompt, and let the model take these turns."""
        self.api.scripts[prompt] = turns
        before = len(self.api.requests)
        words = [self.program, "-p", prompt, "--allowedTools", TOOLS, *options]
        ran = subprocess.run(
            [*words, "--output-format", "stream-json", "--verbose"],
            cwd=self.project.root,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=TIMEOUT_S,
            check=False,
        )
        assert not self.api.errors
        assert ran.returncode == 0, (ran.stdout[-4000:], ran.stderr[-4000:])
        events = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
        own = [each for each in self.api.requests[before:] if _is_about(each, prompt)]
        return Conversation(events, own)

    @property
    def env(self) -> dict[str, str]:
        """The environment of the client, which its hooks and servers inherit."""
        kept = {name: value for name, value in self.project.env.items() if "CLAUDE" not in name}
        return kept | {
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "ANTHROPIC_BASE_URL": self.api.url,
            "ANTHROPIC_API_KEY": "dummy",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "MCP_TIMEOUT": str(TIMEOUT_S * 1000),
        }


def kill_gateways(root: Path) -> list[int]:
    """Kill all gateways of a project; return their processes."""
    pids = gateways_of(root)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    return pids


def gateways_of(root: Path) -> list[int]:
    """Return the processes of `code-intel serve` in a project."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            place = (folder / "cwd").readlink()
        except OSError:
            continue
        if b"serve" in words and place == root.resolve():
            found.append(int(folder.name))
    return found


def _blocks(message: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the blocks of a message; a text alone has none."""
    content = message["content"]
    return content if isinstance(content, list) else []


def _is_about(request: Mapping[str, Any], prompt: str) -> bool:
    """Return whether a request belongs to a prompt, or to a subagent (see `Task`)."""
    return prompt in texts_of(request["messages"][0]["content"]) or "subagent" in texts_of(
        request["messages"][0]["content"]
    )
