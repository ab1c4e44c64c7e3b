"""Servers that are ended while idle, indexing or writing leave no partial work and no locks."""

import select
import signal
import subprocess
import time
from collections.abc import Callable

import pytest

from piped import GATEWAY, Pipe, doctor, ended, grow, started
from projects import BIN, Project, processes
from sampling import sampled


def rest(pipe: Pipe) -> None:
    pipe.call("search_text", pattern="login")


def index(pipe: Pipe) -> None:
    pipe.send("tools/call", {"name": "search_forest", "arguments": {"query": "move an order"}})
    select.select([], [], [], 0.5)  # somewhere in the middle of it


def write(pipe: Pipe) -> None:
    sent = []
    for number in range(40):
        arguments = {"nl_term": f"term {number}", "symbol": "Cart", "code_evidence": "it sums"}
        sent.append(pipe.send("tools/call", {"name": "add_agreement", "arguments": arguments}))
    pipe.read(sent[3])  # some are written, the others are in the middle of it


State = Callable[[Pipe], None]


@pytest.mark.parametrize("state", sampled([rest, write], write))
def test_a_server_ends_with_its_parent_while_its_stdin_is_open(
    words: Project, state: State
) -> None:
    inner = f'"{BIN / GATEWAY[0]}" {GATEWAY[1]}; true'  # the shell stays, and is the parent
    with subprocess.Popen(
        ["sh", "-c", inner],
        cwd=words.root,
        env=words.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as parent:
        pipe = Pipe(parent)
        pipe.greet()
        state(pipe)
        (server,) = processes(1, parent.pid)
        parent.kill()
        parent.wait()
        began = time.monotonic()
        assert ended(parent.pid), server
        assert time.monotonic() - began < pipe.patience
    check_sound(words, state)


@pytest.mark.parametrize(
    ("state", "stop"),
    [(index, signal.SIGTERM), pytest.param(write, signal.SIGHUP, marks=pytest.mark.long)],
)
def test_a_signal_during_work_leaves_no_partial_work(
    words: Project, state: State, stop: signal.Signals
) -> None:
    if state is index:
        grow(words, 60)
    ours = signal.signal(stop, signal.SIG_DFL)  # a child inherits what `nohup` ignores
    with started(words, GATEWAY) as pipe:
        signal.signal(stop, ours)
        pipe.greet()
        state(pipe)
        began = time.monotonic()
        pipe.process.send_signal(stop)
        pipe.process.wait(60)
        assert time.monotonic() - began < pipe.patience
        assert ended(pipe.process.pid)
    check_sound(words, state)


def check_sound(project: Project, state: State) -> None:
    """Check that the next process finds no lock and no partial work."""
    if state is index:
        project.run("code-intel", "sync", "--words-only")
    if state is not rest:
        doctor(project)
    for file in (project.root / ".code-intel" / "agreements").glob("*.md"):
        assert file.read_text("utf-8").endswith("\n")
