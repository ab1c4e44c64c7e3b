"""Drive server processes through raw pipes; check every byte they print and what they leave."""

import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from contract.manifest import completed
from projects import BIN, GATEWAY_NAMES, Project, processes

GATEWAY = ("code-intel", "serve")
MAP = ("devrag", "--config", "devrag-map.json")
FOREST = ("devrag", "--config", "devrag-forest.json")
SERVERS = (GATEWAY, MAP, FOREST)
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
END = 2.0
"""Seconds that a server may take to end on a quiet machine.

`Pipe.patience` adds four times what its start took.
"""


@dataclass
class Pipe:
    """A server process, and every byte it has printed.

    `patience` is the seconds it may take to end: `END`, and four times what its start took, because
    the machine may be busy.
    """

    process: "subprocess.Popen[bytes]"
    printed: bytes = b""
    lines: list[bytes] = field(default_factory=list)
    number: int = 0
    answers: dict[object, dict[str, Any]] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)
    patience: float = END

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, method: str, params: object = None, *, notify: bool = False) -> int:
        self.number += 1
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        message |= {} if params is None else {"params": params}
        message |= {} if notify else {"id": self.number}
        self.write(json.dumps(message).encode() + b"\n")
        return self.number

    def read(self, number: object, timeout: float = 120) -> dict[str, Any]:
        """Return the answer with this id; every line before it must be JSON-RPC, too."""
        deadline = time.monotonic() + timeout
        while number not in self.answers:
            while self.lines:
                message = json.loads(self.lines.pop(0))
                assert message["jsonrpc"] == "2.0"
                if "method" not in message:
                    self.answers[message.get("id")] = message
            if number not in self.answers:
                assert self._fill(deadline - time.monotonic()), f"no answer {number}"
        return self.answers.pop(number)

    def ask(self, method: str, params: object = None) -> dict[str, Any]:
        return self.read(self.send(method, params))

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments})
        data = dict(answer["result"]["structuredContent"])
        return completed(f"answer.{tool}", data) if tool in GATEWAY_NAMES else data

    def greet(self) -> dict[str, Any]:
        answer = self.ask("initialize", HELLO)
        self.patience = END + 4 * (time.monotonic() - self.began)
        self.send("notifications/initialized", notify=True)
        return answer

    def close(self) -> tuple[int, float]:
        """Close stdin; return the exit code and the seconds it took to end."""
        started = time.monotonic()
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = self.process.wait(60)
        return code, time.monotonic() - started

    def rest(self) -> list[bytes]:
        """Return the unread lines after the end."""
        while self._fill(5):
            pass
        assert not self.printed
        return self.lines

    def _fill(self, timeout: float) -> bool:
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, timeout))
        data = os.read(self.process.stdout.fileno(), 1 << 16) if ready else b""
        *lines, self.printed = (self.printed + data).split(b"\n")
        self.lines += lines
        return bool(data)


@contextmanager
def started(project: Project, server: tuple[str, ...], **env: str) -> Iterator[Pipe]:
    """Start a server in a process group of its own; nothing of it is left afterwards."""
    with (project.root.parent / "stderr.log").open("ab") as log:
        process = subprocess.Popen(
            [str(BIN / server[0]), *server[1:]],
            cwd=project.root,
            env={**project.env, **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield Pipe(process)
    finally:
        alive = process.poll() is None
        if alive:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            with suppress(BrokenPipeError):
                pipe.close()
        assert alive or ended(process.pid), "a child outlived its server"


def group(leader: int) -> set[int]:
    """Return the processes of a process group that still run; without /proc, none."""
    return processes(2, leader)


def ended(leader: int) -> bool:
    """Return whether a server's group has ended.

    A `git` that it read from may take a moment to notice.
    """
    for process in group(leader):
        with suppress(ProcessLookupError):
            handle = os.pidfd_open(process)
            select.select([handle], [], [], 10)
            os.close(handle)
    return not group(leader)


def doctor(project: Project) -> None:
    done = project.run("code-intel", "doctor", "--json", check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def grow(project: Project, files: int) -> None:
    """Add source that takes a while to index and longer to embed."""
    for number in range(files):
        body = "".join(
            f"def task_{number}_{i}(order, price):\n    '''Move order {i} of {number}.'''\n"
            f"    return order.total(price, {i})\n\n\n"
            for i in range(20)
        )
        (project.root / "src" / f"grown_{number}.py").write_text(body, encoding="utf-8")
