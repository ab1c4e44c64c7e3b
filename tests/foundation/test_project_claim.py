"""One process of a project may listen, and the next one may after it."""

import os
import select
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from code_intel.foundation.gateway_socket import (
    ANSWERS_HOOKS,
    LOCK_NAME,
    HookRequest,
    NoGatewayError,
    ask_gateway,
    has_sockets,
    is_stopped,
    peer_process,
    read_listener,
    socket_path,
)
from code_intel.foundation.project_claim import Claim, claim_project, is_of_this_version

pytestmark = pytest.mark.skipif(not has_sockets(), reason="needs Unix sockets")


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / ".code-intel").mkdir()
    yield tmp_path
    with suppress(FileNotFoundError):
        Path(socket_path(tmp_path)).unlink()


def claim(root: Path) -> Claim:
    found = claim_project(str(root))
    assert found is not None
    return found


def test_one_claim_at_a_time_listens(root: Path) -> None:
    first = claim(root)
    assert claim_project(str(root)) is None
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(first.path)
        assert peer_process(link) in {os.getpid(), None}
    first.release()
    assert not Path(first.path).exists()
    claim(root).release()


def test_a_socket_that_was_left_behind_is_replaced(root: Path) -> None:
    path = Path(socket_path(root))
    path.parent.mkdir(mode=0o700, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    found = claim(root)
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(found.path)
    found.release()


def test_a_project_without_a_state_folder_cannot_be_claimed(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        claim_project(str(tmp_path))


def test_a_lock_that_is_a_link_is_not_followed(root: Path, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    (root / ".code-intel" / LOCK_NAME).symlink_to(target)
    with pytest.raises(OSError, match="symbolic link"):
        claim_project(str(root))
    assert not target.exists()


def test_a_running_process_is_not_stopped() -> None:
    assert not is_stopped(os.getpid())
    assert not is_stopped(None)
    assert not is_stopped(0)


REQUEST = HookRequest("claude-code", enforces=True, event=b"{}")


def test_a_hook_does_not_wait_for_a_process_that_is_still_starting(root: Path) -> None:
    found = claim(root)
    with pytest.raises(NoGatewayError):  # it listens, and would not answer
        ask_gateway(root, REQUEST, timeout=60)
    found.release()


def test_a_hook_whose_gateway_ends_before_it_reads_works_in_its_own_process(root: Path) -> None:
    found = claim(root)
    found.note_hooks()
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(ask_gateway, root, REQUEST, 60)
        select.select([found.listener], [], [])
        found.release()  # as a kill does
        with pytest.raises(NoGatewayError):
            asked.result(60)


def test_the_lock_names_the_version_and_whether_hooks_are_answered(root: Path) -> None:
    assert not is_of_this_version(str(root))
    found = claim(root)
    assert is_of_this_version(str(root))
    found.note("0.0.1-of-a-long-name")
    assert not is_of_this_version(str(root))
    found.note_hooks()
    assert is_of_this_version(str(root))
    assert read_listener(root).endswith(ANSWERS_HOOKS)
    found.release()
    again = claim(root)
    assert not read_listener(root).endswith(ANSWERS_HOOKS)
    again.release()
