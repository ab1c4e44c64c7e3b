"""A cancelled call ends its work and the programs it started."""

import os
import select
import signal
import time
from pathlib import Path

import pytest

from piped import GATEWAY, Pipe, doctor, ended, group, started
from projects import Project
from sampling import sampled

AT_ONCE = 30.0
"""Seconds until the work of a cancelled call has ended; it would have taken a minute."""


@pytest.fixture
def slow_git(tmp_path: Path) -> dict[str, str]:
    """An environment in which git hangs."""
    folder = tmp_path / "slow"
    folder.mkdir()
    git = folder / "git"
    git.write_text('#!/bin/sh\ncase "$*" in *show-prefix*) exec sleep 60;; esac\nexit 1\n')
    git.chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


def begin(pipe: Pipe) -> int:
    """Start a session, which asks git; return the number of the call once git runs."""
    pipe.greet()
    number = pipe.send(
        "tools/call", {"name": "start_session", "arguments": {"intent": "MODIFY", "query": "login"}}
    )
    assert children(pipe, least=1, seconds=60)
    return number


def children(pipe: Pipe, *, least: int, seconds: float) -> bool:
    """Wait until the server has `least` children, or none if it is 0. Return whether it has."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        found = len(group(pipe.process.pid)) - 1
        if found >= least and (least or not found):
            return True
        select.select([], [], [], 0.02)
    return False


def journals(project: Project) -> list[Path]:
    return sorted((project.root / ".code-intel" / "sessions").glob("*"))


def test_a_cancelled_call_ends_its_children_and_writes_nothing(
    words: Project, slow_git: dict[str, str]
) -> None:
    with started(words, GATEWAY, **slow_git) as pipe:
        number = begin(pipe)
        pipe.send("notifications/cancelled", {"requestId": number}, notify=True)
        began = time.monotonic()
        assert pipe.ask("ping")["result"] == {}
        assert children(pipe, least=0, seconds=AT_ONCE)
        assert time.monotonic() - began < AT_ONCE
        assert number not in pipe.answers
        assert not journals(words)
        assert pipe.call("search_text", pattern="login")["matches"]


@pytest.mark.parametrize("how", sampled(["stdin", "stdout", signal.SIGTERM], "stdout"))
def test_ending_during_a_call_leaves_nothing_behind(
    words: Project, slow_git: dict[str, str], how: str | signal.Signals
) -> None:
    with started(words, GATEWAY, **slow_git) as pipe:
        begin(pipe)
        began = time.monotonic()
        if isinstance(how, str):
            pipe.process.stdout.close()  # type: ignore[union-attr]  # it is a pipe
            if how == "stdin":
                pipe.process.stdin.close()  # type: ignore[union-attr]  # as above
            else:
                pipe.send("ping")
        else:
            pipe.process.send_signal(how)
        pipe.process.wait(60)
        assert time.monotonic() - began < pipe.patience + 1
        assert ended(pipe.process.pid)
    assert not journals(words)
    log = (words.root.parent / "stderr.log").read_text("utf-8", errors="replace")
    assert "Traceback" not in log
    doctor(words)
