"""Sessions in projects with pipes, devices, huge files and links that lead out of the project."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from programs import git
from served import gateway
from shop_sessions import LOGIN, LOGIN_FILE, change, explore, start

pytestmark = pytest.mark.anyio

OUTSIDE = "outside.py"


def link_to_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def link_to_pipe(path: Path) -> None:
    pipe = path.parents[2] / "pipe"
    if not pipe.exists():
        os.mkfifo(pipe)
    path.symlink_to(pipe)


def link_to_outside(path: Path) -> None:
    path.symlink_to(path.parents[2] / OUTSIDE)


def huge(path: Path) -> None:
    path.touch()
    os.truncate(path, 3 << 30)


Trap = Callable[[Path], None]
TRAPS: tuple[Trap, ...] = (link_to_device, link_to_pipe, link_to_outside, os.mkfifo, huge)


@pytest.fixture
def shop(shop: Path) -> Path:
    """The shop, beside a file whose access time shows whether it was read."""
    outside = shop.parent / OUTSIDE
    outside.write_text("def secret(): return 1\n", encoding="utf-8")
    os.utime(outside, (0, outside.stat().st_mtime))
    return shop


async def run_session(shop: Path) -> bool:
    """Start a session, earn READY, change the file and report success; return what was learned."""
    async with gateway(shop) as call:
        session = await start(call, "login")
        await explore(call, LOGIN, LOGIN_FILE)
        change(shop, LOGIN_FILE)
        answer = await call("record_outcome", session_id=session, outcome="success")
    assert (shop.parent / OUTSIDE).stat().st_atime == 0, "the file outside was read"
    return bool(answer["cached_pairs"])


@pytest.mark.parametrize("trap", TRAPS)
async def test_untracked_data_is_not_read(shop: Path, trap: Trap) -> None:
    trap(shop / "src" / "data.py")
    assert await run_session(shop)


@pytest.mark.parametrize("trap", TRAPS)
async def test_a_tracked_file_is_not_read_once_it_is_something_else(shop: Path, trap: Trap) -> None:
    tracked = shop / "src" / "data.py"
    tracked.write_text("def before(): return 1\n", encoding="utf-8")
    git(shop, "add", "src/data.py")
    git(shop, "commit", "-qm", "Add a file")
    tracked.unlink()
    trap(tracked)
    assert await run_session(shop)


@pytest.mark.parametrize("trap", TRAPS)
async def test_ignore_rules_and_profiles_that_are_something_else_do_not_stop_a_session(
    shop: Path, trap: Trap
) -> None:
    trap(shop / "src" / ".gitignore")
    trap(shop / ".code-intel" / "scoring-profiles.toml")
    async with gateway(shop) as call:
        await start(call, "login")
        result = await call.client.call_tool("context_bundle", {"goal": "login"})
    assert result.structured_content is not None
    assert "scoring-profiles.toml cannot be read" in result.structured_content["message"]
