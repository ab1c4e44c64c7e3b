"""Hooks leave no process, handle or socket behind: after 200 sessions, crashes and upgrades."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from platform import libc_ver
from time import monotonic, sleep
from typing import Any

import pytest

from code_intel.foundation.gateway_socket import (
    HookOutput,
    HookRequest,
    NoGatewayError,
    ask_gateway,
    socket_path,
)
from e2e.claude_code import gateways_of
from projects import BIN, Project
from shop_sessions import FEE_FILE

pytestmark = pytest.mark.long

SESSIONS = 200
CRASHES = 3
PROMPT = "The shipping fee of an order abroad is wrong when the total is high."
GATEWAY = (str(BIN / "code-intel"), "serve")
OTHER_VERSION = (
    "import sys, code_intel; code_intel.__version__ = '99.0'; sys.argv = ['code-intel', 'serve']; "
    "from code_intel.__main__ import run; run()"
)
UPGRADED = (sys.executable, "-c", OTHER_VERSION)
"""A gateway of another version."""


Server = subprocess.Popen[bytes]


@contextmanager
def gateway(
    project: Project, command: Sequence[str] = GATEWAY
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a gateway as a client does, and end it as one does."""
    with subprocess.Popen(
        command, cwd=project.root, env=dict(project.env), stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as server:  # fmt: skip
        assert server.stdin
        assert server.stdout
        client = {"name": "test", "version": "0"}
        parameters = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
        row = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": parameters}
        server.stdin.write(json.dumps(row).encode() + b"\n")
        server.stdin.flush()
        assert server.stdout.readline()
        yield server
        with suppress(BrokenPipeError):  # it was killed
            server.stdin.close()
        server.wait(60)


def event(root: Path, session: str, name: str, **fields: Any) -> HookRequest:
    row = {"session_id": session, "cwd": str(root), "hook_event_name": name, **fields}
    return HookRequest("claude-code", enforces=False, event=json.dumps(row).encode())


def ask(root: Path, request: HookRequest) -> HookOutput:
    """Ask until a gateway answers."""
    end = monotonic() + 60
    while True:
        try:
            return ask_gateway(root, request)
        except (NoGatewayError, OSError):
            assert monotonic() < end
            sleep(0.05)


def hold(root: Path, session: str) -> None:
    """Play one session of a client."""
    text = (root / FEE_FILE).read_text("utf-8")
    shown = {"file": {"filePath": str(root / FEE_FILE), "content": text, "startLine": 1}}
    given = {"file_path": str(root / FEE_FILE)}
    ask(root, event(root, session, "SessionStart", source="startup"))
    answer = ask(root, event(root, session, "UserPromptSubmit", prompt=PROMPT))
    assert "code-intel opened a session" in answer.stdout
    read = {"tool_name": "Read", "tool_input": given, "tool_response": shown}
    ask(root, event(root, session, "PostToolUse", **read))
    ask(root, event(root, session, "Stop"))
    ask(root, event(root, session, "SessionEnd", reason="other"))


def handles(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


def has_no_children(pid: int) -> bool:
    """Wait for the git commands of the indexer; return whether none is left."""
    end = monotonic() + 60
    while children(pid):
        if monotonic() > end:
            return False
        sleep(0.05)
    return True


def test_the_handles_of_a_gateway_do_not_grow_with_the_sessions(words: Project) -> None:
    with gateway(words) as server:
        for number in range(10):
            hold(words.root, f"warm-{number}")
        before = handles(server.pid)
        for number in range(SESSIONS):
            hold(words.root, f"session-{number}")
        assert handles(server.pid) <= before + 8  # connections to the databases
        assert has_no_children(server.pid)
        assert gateways_of(words.root) == [server.pid]
    assert gateways_of(words.root) == []
    assert not os.path.lexists(socket_path(words.root))


def other_heaps(pid: int) -> int:
    """Count the heaps of glibc besides the first: each reserves 64 MiB at a multiple of them."""
    found, size = 0, 64 << 20
    lines = [line.split() for line in Path(f"/proc/{pid}/maps").read_text("utf-8").splitlines()]
    for (used, mode, *_), (free, reserved, *_) in pairwise(lines):
        start, end = (int(number, 16) for number in used.split("-"))
        follows, last = (int(number, 16) for number in free.split("-"))
        is_reserved = reserved == "---p" and (follows, last) == (end, start + size)
        found += mode == "rw-p" and start % size == 0 and is_reserved
    return found


@pytest.mark.skipif(libc_ver()[0] != "glibc", reason="another C library has other heaps")
def test_all_threads_of_a_gateway_allocate_from_one_heap(words: Project) -> None:
    with gateway(words) as server:
        hold(words.root, "one")
        assert other_heaps(server.pid) == 0


def test_crashes_and_upgrades_leave_nothing_and_the_next_gateway_answers(words: Project) -> None:
    for number in range(CRASHES):
        with gateway(words) as crashed:
            hold(words.root, f"crash-{number}")
            os.kill(crashed.pid, signal.SIGKILL)
            crashed.wait(60)
        assert os.path.lexists(socket_path(words.root))  # the next gateway replaces it
        with gateway(words), gateway(words, UPGRADED):
            hold(words.root, f"upgrade-{number}")  # the first one answers
    with gateway(words, UPGRADED) as other:
        end = monotonic() + 60
        while not os.path.lexists(socket_path(words.root)) and monotonic() < end:
            sleep(0.05)
        with pytest.raises(NoGatewayError):  # a hook of this version does not use it
            ask_gateway(words.root, event(words.root, "s", "SessionStart"))
        while (left := children(other.pid)) and monotonic() < end:  # git ends in a moment
            sleep(0.05)
        assert left == []
    assert gateways_of(words.root) == []
    assert not os.path.lexists(socket_path(words.root))


def descendants(variable: str) -> list[Path]:
    """Return the processes that have this variable in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # it has ended, or it belongs to another user
            if variable.encode() in path.read_bytes().split(b"\0"):
                found.append(path.parent)
    return found


def test_a_hook_process_starts_no_other(words: Project) -> None:
    environment = {**words.env, "HOOKS_OF_TEST": str(words.root)}
    for number in range(5):
        request = event(words.root, f"alone-{number}", "UserPromptSubmit", prompt=PROMPT)
        ran = subprocess.run(
            [str(BIN / "code-intel"), "hook", "claude-code"], input=request.event,
            cwd=words.root, env=environment, capture_output=True, check=True,
        )  # fmt: skip
        assert b"code-intel" in ran.stdout
    with subprocess.Popen(
        ["cat"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdin
        assert other.stdout
        other.stdin.write(b"\n")
        other.stdin.flush()
        assert other.stdout.readline()  # it runs now
        found = descendants(f"HOOKS_OF_TEST={words.root}")
        assert [path.name for path in found] == [str(other.pid)]  # no hook
        other.stdin.close()
    assert gateways_of(words.root) == []
