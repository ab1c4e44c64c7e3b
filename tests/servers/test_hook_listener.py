"""The first gateway of a project answers its hooks, and the next one takes over."""

import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import anyio
import pytest
from anyio import to_thread

from code_intel.foundation.gateway_socket import (
    HookOutput,
    HookRequest,
    NoGatewayError,
    ask_gateway,
    decode_output,
    decode_request,
    socket_path,
)
from code_intel.servers.hook_listener import listen_for_hooks

REQUEST = HookRequest("claude-code", enforces=True, event=b'{"a": "\xe3\x81\x82"}')


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / ".code-intel").mkdir()
    yield tmp_path
    Path(socket_path(tmp_path)).unlink(missing_ok=True)


async def listen(root: Path, name: str) -> None:
    async def answer(request: HookRequest) -> HookOutput:
        return HookOutput(f"{name} {request.client} {request.enforces}", "あ", 2)

    await listen_for_hooks(root, answer)


async def ask(root: Path) -> HookOutput:
    """Ask until a gateway answers."""
    with anyio.fail_after(60):
        while True:
            with suppress(NoGatewayError):
                return await to_thread.run_sync(ask_gateway, root, REQUEST)
            await anyio.sleep(0.02)


async def test_the_first_gateway_answers_and_the_next_one_takes_over(project: Path) -> None:
    async with anyio.create_task_group() as group:
        with anyio.CancelScope() as first:
            async with anyio.create_task_group() as inner:
                inner.start_soon(listen, project, "first")
                assert await ask(project) == HookOutput("first claude-code True", "あ", 2)
                group.start_soon(listen, project, "second")
                await anyio.sleep(0.1)
                assert (await ask(project)).stdout.startswith("first")
                first.cancel()
        assert (await ask(project)).stdout.startswith("second")
        group.cancel_scope.cancel()
    assert not os.path.lexists(socket_path(project))  # noqa: ASYNC240 - the loop is idle


async def test_a_socket_that_a_killed_gateway_left_is_replaced(project: Path) -> None:
    path = Path(socket_path(project))
    path.parent.mkdir(mode=0o700, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    async with anyio.create_task_group() as group:
        group.start_soon(listen, project, "new")
        assert (await ask(project)).stdout.startswith("new")
        group.cancel_scope.cancel()


async def test_a_request_of_another_version_gets_no_answer(project: Path) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(listen, project, "one")
        await ask(project)
        async with await anyio.connect_unix(socket_path(project)) as link:
            await link.send(b"0.0.1 claude-code advise\n{}")
            await link.send_eof()
            with pytest.raises(anyio.EndOfStream):
                await link.receive()
        group.cancel_scope.cancel()


async def test_a_request_that_cannot_be_answered_does_not_end_the_listening(project: Path) -> None:
    async def answer(request: HookRequest) -> HookOutput:
        if request.client == "unknown":
            raise KeyError(request.client)
        return HookOutput("answered")

    async with anyio.create_task_group() as group:
        group.start_soon(listen_for_hooks, project, answer)
        await ask(project)
        with pytest.raises(NoGatewayError):
            await to_thread.run_sync(ask_gateway, project, REQUEST._replace(client="unknown"))
        assert (await ask(project)).stdout == "answered"
        group.cancel_scope.cancel()


async def test_only_the_user_can_reach_the_socket(project: Path) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(listen, project, "one")
        await ask(project)
        path = socket_path(project)
        for each in (path, path.rpartition("/")[0]):
            found = os.stat(each)  # noqa: PTH116 - the loop is idle
            assert found.st_mode & 0o077 == 0
            assert found.st_uid == os.getuid()
        group.cancel_scope.cancel()


def test_requests_and_answers_survive_the_socket() -> None:
    assert decode_request(REQUEST.encode()) == REQUEST
    output = HookOutput("日本\nx", "err", 2)
    assert decode_output(output.encode()) == output
    assert decode_output(b"") is None
    assert decode_output(output.encode()[:-12]) is None


async def test_sockets_of_killed_gateways_are_removed_after_a_day(project: Path) -> None:
    folder = Path(socket_path(project)).parent
    folder.mkdir(mode=0o700, exist_ok=True)
    old, new = folder / "test-old.sock", folder / "test-new.sock"
    for path in (old, new):
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(path))
    os.utime(old, (0, 0))
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(listen, project, "one")
            await ask(project)
            group.cancel_scope.cancel()
        assert not old.exists()
        assert new.exists()
    finally:
        new.unlink(missing_ok=True)
        old.unlink(missing_ok=True)
