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
    pipe = path.with_name(f"{path.name}.pipe")
    os.mkfifo(pipe)
    path.symlink_to(pipe)


def link_to_outside(path: Path) -> None:
    parent = next(each for each in path.parents if (each / OUTSIDE).exists())
    path.symlink_to(parent / OUTSIDE)


def huge(path: Path) -> None:
    path.touch()
    os.truncate(path, 3 << 30)


Trap = Callable[[Path], None]
TRAPS: tuple[Trap, ...] = (link_to_device, link_to_pipe, link_to_outside, os.mkfifo, huge)


@pytest.fixture
def shop(shop: Path) -> Path:
    """Put a file beside the shop whose access time shows whether it was read."""
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


def trapped_files(shop: Path) -> list[tuple[Path, Trap]]:
    """Return a file name for each trap."""
    return [(shop / "src" / f"data_{place}.py", trap) for place, trap in enumerate(TRAPS)]


async def test_untracked_data_is_not_read(shop: Path) -> None:
    for file, trap in trapped_files(shop):
        trap(file)
    assert await run_session(shop)


async def test_tracked_file_is_not_read_once_it_is_something_else(shop: Path) -> None:
    for file, _ in trapped_files(shop):
        file.write_text("def before(): return 1\n", encoding="utf-8")
    git(shop, "add", "src")
    git(shop, "commit", "-qm", "Add files")
    for file, trap in trapped_files(shop):
        file.unlink()
        trap(file)
    assert await run_session(shop)


async def test_session_starts_whatever_the_ignore_rules_and_profiles_are(shop: Path) -> None:
    for folder, trap in zip(("src", "src/auth", "src/cart", "docs", "web"), TRAPS, strict=True):
        trap(shop / folder / ".gitignore")
    profiles = shop / ".code-intel" / "scoring-profiles.toml"
    async with gateway(shop) as call:
        await start(call, "login")
        for trap in TRAPS:
            trap(profiles)
            result = await call.client.call_tool("context_bundle", {"goal": "login"})
            assert result.structured_content is not None
            assert "scoring-profiles.toml cannot be read" in result.structured_content["message"]
            profiles.unlink()
