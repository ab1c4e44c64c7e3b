"""Every call ends in projects with pipes, sockets, loops and very deep folders."""

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from code_intel.tools.context.corpus_service import open_project
from path_tools import PATH_TOOLS, arguments_for
from served import gateway, settings_of

pytestmark = pytest.mark.anyio

DEPTH = 1000
DEVICES = ("src/pipe.py", "src/socket.py", "src/null.py", "src/zero.py", "src/self.py")


@pytest.fixture
def strange(shop: Path) -> Iterator[Path]:
    """Add pipes, sockets, devices and links in circles to the shop."""
    source = shop / "src"
    os.mkfifo(source / "pipe.py")
    with socket.socket(socket.AF_UNIX) as listener:
        here = Path.cwd()
        os.chdir(source)  # a socket path has a short maximum length
        try:
            listener.bind("socket.py")
        finally:
            os.chdir(here)
        for name in ("null", "zero"):
            (source / f"{name}.py").symlink_to(f"/dev/{name}")
        (source / "self.py").symlink_to("/proc/self/environ")
        (source / "round").symlink_to(source)
        (source / "up").symlink_to("..")
        yield shop


async def test_no_tool_waits_for_a_pipe_or_device(strange: Path) -> None:
    async with gateway(strange) as call:
        for tool in PATH_TOOLS.keys() - {"query"}:
            for path in DEVICES:
                with anyio.fail_after(60):
                    result = await call.client.call_tool(tool, arguments_for(tool, path))
                data = result.structured_content
                assert data is not None
                assert data.get("error") != "unexpected", (tool, path)
                assert "PATH=" not in str(data)
                if not result.is_error:
                    rows = ("matches", "references", "definitions", "symbols")
                    assert not any(data.get(name) for name in rows), (tool, path)
        for pattern in ("{pipe,socket}.py", "round/**"):
            assert (await call("search_files", pattern=pattern))["files"] == []
        packed = await call("repo_pack", path="src", include=["*.py"])
        assert "pipe.py" not in packed["content"]
        found = await call("search_text", pattern="class AuthService")
        assert [match["file"] for match in found["matches"]] == ["src/auth/service.py"]


def test_index_has_each_file_once(strange: Path) -> None:
    service = open_project(settings_of(strange))[1]
    try:
        service.index.complete(words_only=True)
        names = [row.path for row in service.index.store.documents()]
        assert len(names) == len(set(names))
        assert "src/auth/service.py" in names
        assert not {name for name in names if name.startswith(("src/round", "src/up"))}
        assert not set(DEVICES) & set(names)
    finally:
        service.index.close()


@pytest.fixture
def deep(shop: Path) -> Iterator[Path]:
    """Add a file below a thousand folders to the shop."""
    here = Path.cwd()
    os.chdir(shop)
    try:
        for _ in range(DEPTH):
            Path("d").mkdir()
            os.chdir("d")
        Path("bottom.py").write_text("def bottomless(): pass\n", encoding="utf-8")
    finally:
        os.chdir(here)
    yield shop
    subprocess.run(["rm", "-rf", str(shop / "d")], check=True)  # Python's recursion is too deep


async def test_very_deep_folders_are_searched(deep: Path) -> None:
    service = open_project(settings_of(deep))[1]
    service.index.complete(words_only=True)
    service.index.close()
    async with gateway(deep) as call:
        for tool, arguments in (
            ("search_text", {"pattern": "AuthService"}),
            ("search_files", {"pattern": "service.py"}),
            ("find_definitions", {"symbol": "AuthService"}),
            ("repo_pack", {"path": "src/auth"}),
            ("get_symbols", {"path": "."}),
            ("get_symbols", {"path": "d/" * DEPTH}),
        ):
            with anyio.fail_after(60):
                result = await call.client.call_tool(tool, arguments)
            assert result.structured_content is not None
            assert result.structured_content.get("error") != "unexpected", tool
        found = await call("find_definitions", symbol="AuthService.login")
        assert found["definitions"][0]["file"] == "src/auth/service.py"
