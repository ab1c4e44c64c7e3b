"""A gateway leaves no process of its upstreams behind, however it ends."""

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from projects import BIN, processes
from sampling import sampled
from upstreams import command, marked, point, until

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at /proc"),
]
Gateway = subprocess.Popen[bytes]


@pytest.fixture
def shop(indexed_shop: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(indexed_shop, tmp_path / "shop"))


def close(gateway: Gateway) -> None:
    assert gateway.stdin is not None
    gateway.stdin.close()


ENDS: dict[str, Callable[[Gateway], None]] = {
    "the client closes the pipe": close,
    "SIGTERM": lambda gateway: gateway.terminate(),
    "SIGKILL": lambda gateway: gateway.kill(),
}


def serve(shop: Path, env: dict[str, str]) -> Gateway:
    return subprocess.Popen(
        [str(BIN / "code-intel"), "serve"],
        cwd=shop,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def ask(gateway: Gateway, number: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    assert gateway.stdin is not None
    assert gateway.stdout is not None
    gateway.stdin.write(json.dumps(message).encode() + b"\n")
    gateway.stdin.flush()
    while True:
        answer: dict[str, Any] = json.loads(gateway.stdout.readline())
        if answer.get("id") == number:
            return answer


def upstreams_in_status(shop: Path, env: dict[str, str]) -> list[dict[str, Any]]:
    """Return what `code-intel status` says of the upstreams."""
    status = subprocess.run(
        [str(BIN / "code-intel"), "status", "--json"],
        cwd=shop,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
    )
    found: list[dict[str, Any]] = json.loads(status.stdout)["upstreams"]
    return found


def children(parent: int) -> set[int]:
    return processes(1, parent)


def alive(process: int) -> bool:
    try:
        stat = Path(f"/proc/{process}/stat").read_text("utf-8", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize("end", sampled(ENDS, "SIGKILL"))
async def test_nothing_of_an_upstream_outlives_the_gateway(shop: Path, end: str) -> None:
    mark = f"E2E-{os.getpid()}-{end.replace(' ', '-')}"
    both = {"env": {"TEST_MARK": mark}, "call_seconds": 60}
    point(shop, map=command("stubborn_parent") | both, forest=command("good") | both)
    env = {**os.environ, "CODE_INTEL_EMBEDDING": "off", "CODE_INTEL_ROOT": str(shop)}
    gateway = serve(shop, env)
    try:
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}}
        ask(gateway, 1, "initialize", {**hello, "clientInfo": {"name": "t", "version": "1"}})
        for number, tool in enumerate(("search_map", "search_forest"), 2):
            call = {"name": tool, "arguments": {"query": "login"}}
            answer = ask(gateway, number, "tools/call", call)["result"]["structuredContent"]
            assert "unavailable" not in answer
        all_of_it = marked(mark)
        assert len(all_of_it) == 4
        guard = children(gateway.pid) - all_of_it
        assert [item["gateways"][0]["state"] for item in upstreams_in_status(shop, env)] == [
            "ready",
            "ready",
        ]
        ENDS[end](gateway)
        gateway.wait(60)
        await until(lambda: not marked(mark))
        await until(lambda: not any(map(alive, guard)))
        assert [item["gateways"] for item in upstreams_in_status(shop, env)] == [[], []]
    finally:
        gateway.kill()
        gateway.wait()
        for pipe in (gateway.stdin, gateway.stdout):
            assert pipe is not None
            pipe.close()
        for process in marked(mark):
            os.kill(process, signal.SIGKILL)
