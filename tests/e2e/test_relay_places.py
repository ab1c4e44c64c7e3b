"""Servers of one project where folders, users or rights are unusual."""

import os
import shutil
import socket
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from code_intel.foundation.gateway_socket import has_sockets, socket_path
from code_intel.servers.relay.greeting import Greeting, own_code
from e2e.test_relays import relays, serving
from piped import GATEWAY, MAP
from projects import BIN, Project

pytestmark = pytest.mark.skipif(
    not has_sockets() or not Path("/proc/self/maps").exists(), reason="needs sockets and /proc"
)
PYTHON = Path("/usr/bin/python3")
"""An interpreter that other users may start, too."""
LIMITED = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
"""Starts a program as root without root's right to write everything."""
as_root = pytest.mark.skipif(
    not (
        hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("setpriv") and PYTHON.exists()
    ),
    reason="only root may become another user",
)
CONNECT = """
import socket, sys
with socket.socket(socket.AF_UNIX) as link:
    link.settimeout(30)
    try:
        link.connect(sys.argv[1])
        link.sendall(sys.stdin.buffer.read())
        print("answer", link.recv(1000))
    except OSError as error:
        print(type(error).__name__)
"""


def tried_by(user: int, path: str, data: bytes) -> str:
    """Return what a process of another user gets from a socket."""
    words = ("setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups")
    command = [*words, str(PYTHON), "-c", CONNECT, path]
    done = subprocess.run(command, input=data, capture_output=True, check=True, cwd="/")
    return done.stdout.decode().strip()


@pytest.fixture
def opened() -> Iterator[Callable[[Path], None]]:
    """Open a folder and a socket to all users; close the folder afterwards."""
    changed: list[tuple[Path, int]] = []

    def open_to_all(path: Path) -> None:
        for each, mode in ((path.parent, 0o755), (path, 0o666)):
            changed.append((each, stat.S_IMODE(each.stat().st_mode)))
            each.chmod(mode)

    yield open_to_all
    for each, mode in reversed(changed):
        if each.exists():
            each.chmod(mode)


@as_root
def test_another_user_gets_no_answer(words: Project, opened: Callable[[Path], None]) -> None:
    path = Path(socket_path(words.root))
    greeting = Greeting("code-intel", ["serve"], str(words.root), words.env, own_code(), None)
    with serving(words, GATEWAY) as (first,):
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert tried_by(65534, str(path), greeting.encode()) == "PermissionError"
        opened(path)
        refused = {"answer b''", "ConnectionResetError", "BrokenPipeError"}
        assert tried_by(65534, str(path), greeting.encode()) in refused
        assert tried_by(0, str(path), greeting.encode()) == "answer b'accepted\\n'"
        assert first.ask("ping")["result"] == {}


@as_root
def test_a_socket_of_another_user_is_not_trusted(
    words: Project, opened: Callable[[Path], None]
) -> None:
    path = Path(socket_path(words.root))
    with serving(words, GATEWAY), serving(words, GATEWAY):
        opened(path)
        with serving(words, GATEWAY) as (third,):  # the folder is not private
            assert not relays(third)
            assert third.call("search_text", pattern="login")["matches"]


@as_root
def test_servers_serve_themselves_where_the_state_folder_is_read_only(words: Project) -> None:
    state = words.root / ".code-intel"
    server = (shutil.which("setpriv") or "", LIMITED[1], str(BIN / "code-intel"), "serve")
    (state / "hooks.lock").unlink(missing_ok=True)
    mode = state.stat().st_mode
    state.chmod(0o555)
    try:
        with serving(words, server, server) as pipes:
            for pipe in pipes:
                assert not relays(pipe)
                assert pipe.call("search_text", pattern="login")["matches"]
    finally:
        state.chmod(mode)


def test_a_project_with_a_long_path_has_one_process(words: Project, tmp_path: Path) -> None:
    root = tmp_path.joinpath(*(20 * ["a-rather-long-name"]), "shop")
    root.parent.mkdir(parents=True)
    words.root.rename(root)
    project = Project(root, words.env)
    with serving(project, GATEWAY, GATEWAY) as (_, relay):
        assert relays(relay)
        assert relay.call("search_text", pattern="login")["matches"]


def test_a_relay_says_what_is_wrong_when_its_project_and_server_are_gone(words: Project) -> None:
    with serving(words, GATEWAY, GATEWAY, MAP) as (first, relay, of_map):
        shutil.rmtree(words.root)
        assert relay.ask("ping")["result"] == {}
        first.process.kill()
        relay.send("tools/call", {"name": "search_text", "arguments": {"pattern": "login"}})
        assert relay.process.wait(60) in {1, 2, 3}
        assert of_map.process.wait(60) in {1, 2, 3}
    assert "no longer exists" in (words.root.parent / "stderr.log").read_text("utf-8")


def test_a_project_that_was_replaced_has_a_process_of_its_own(
    words: Project, tmp_path: Path
) -> None:
    shutil.copytree(words.root, tmp_path / "new")
    with serving(words, GATEWAY, GATEWAY) as (first, relay):
        words.root.rename(tmp_path / "old")
        (tmp_path / "new").rename(words.root)
        (words.root / "src" / "fresh.py").write_text("only_in_the_new_one = 1\n", encoding="utf-8")
        with serving(words, GATEWAY, GATEWAY) as (other, of_other):
            assert not relays(other)
            assert relays(of_other)
            assert of_other.call("search_text", pattern="only_in_the_new_one")["matches"]
            first.process.kill()
            assert relay.call("search_text", pattern="only_in_the_new_one")["matches"]


def test_a_socket_that_never_accepts_does_not_hold_a_server_up(words: Project) -> None:
    path = Path(socket_path(words.root))
    with serving(words, GATEWAY) as (first,):
        path.unlink()
        with socket.socket(socket.AF_UNIX) as deaf:
            deaf.bind(str(path))  # connections are refused
            with serving(words, GATEWAY) as (second,):
                assert second.call("search_text", pattern="login")["matches"]
                assert not relays(second)
        assert first.ask("ping")["result"] == {}
