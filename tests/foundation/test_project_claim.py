"""One process of a project may listen, and the next one may after it."""

import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from code_intel.foundation.gateway_socket import has_sockets, is_stopped, peer_process, socket_path
from code_intel.foundation.project_claim import LOCK_NAME, Claim, claim_project

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
