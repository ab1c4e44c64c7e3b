"""A relay copies lines both ways, whatever one side does."""

import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from code_intel.servers.relay import silence
from code_intel.servers.relay.greeting import SESSION, TAKEN
from code_intel.servers.relay.lines import MAX_WAITING_BYTES, Relay
from code_intel.servers.relay.parent import Parent

CALL = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write"}}\n'
ANSWER = b'{"jsonrpc":"2.0","id":1,"result":{}}\n'


@dataclass
class Ends:
    """The ends of a relay that the test holds."""

    relay: Relay
    server: socket.socket
    client_writes: int
    client_reads: int
    thread: threading.Thread
    results: list[bool]

    def type(self, data: bytes) -> None:
        os.write(self.client_writes, data)

    def shown(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            found += os.read(self.client_reads, size - len(found))
        return found

    def got(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            found += self.server.recv(size - len(found))
        return found

    def end_server(self) -> bool:
        """End the server; return whether the relay says that its client has ended."""
        self.server.close()
        self.thread.join(60)
        return self.results[0]


@contextmanager
def relaying() -> Iterator[Ends]:
    """Relay in a thread until the server has ended."""
    from_client, client_writes = os.pipe()
    client_reads, to_client = os.pipe()
    ours, server = socket.socketpair()
    parent, relay = Parent(), Relay(from_client, to_client)
    results: list[bool] = []
    thread = threading.Thread(target=lambda: results.append(relay.copy(ours, parent)))
    thread.start()
    ends = Ends(relay, server, client_writes, client_reads, thread, results)
    try:
        yield ends
    finally:
        ends.end_server()
        ours.close()
        for each in (from_client, client_writes, ends.client_reads, to_client, parent.handle):
            if each is not None:
                os.close(each)


def test_lines_pass_both_ways() -> None:
    with relaying() as ends:
        ends.type(CALL[:10])
        ends.type(CALL[10:] + CALL)
        assert ends.got(2 * len(CALL)) == 2 * CALL
        ends.server.sendall(2 * TAKEN + ANSWER)
        assert ends.shown(len(ANSWER)) == ANSWER


def test_the_session_is_noted_and_not_shown() -> None:
    with relaying() as ends:
        ends.server.sendall(SESSION + b"abc\n" + ANSWER)
        assert ends.shown(len(ANSWER)) == ANSWER
        assert ends.relay.last == "abc"


def test_a_client_that_reads_late_gets_everything() -> None:
    answer = json.dumps({"jsonrpc": "2.0", "id": 1, "result": "x" * (6 * MAX_WAITING_BYTES)})
    data = answer.encode() + b"\n" + ANSWER
    with relaying() as ends:
        sender = threading.Thread(target=ends.server.sendall, args=(data,))
        sender.start()
        ends.type(CALL)  # meanwhile it may send
        assert ends.got(len(CALL)) == CALL
        assert ends.shown(len(data)) == data
        sender.join(60)


def test_what_a_server_has_not_taken_is_sent_to_the_next_one() -> None:
    with relaying() as ends:
        ends.type(CALL)
        ends.got(len(CALL))
        ends.server.sendall(b'{"half')
        assert not ends.end_server()
        ends.relay.resume()
        ours, theirs = socket.socketpair()
        with ours, theirs:
            thread = threading.Thread(target=ends.relay.copy, args=(ours,))
            thread.start()
            assert theirs.recv(len(CALL)) == CALL
            theirs.sendall(ANSWER)
            assert ends.shown(len(ANSWER)) == ANSWER
            theirs.close()
            thread.join(60)


def test_the_end_of_the_client_ends_the_copying() -> None:
    with relaying() as ends:
        os.close(ends.client_reads)
        ends.client_reads = os.open(os.devnull, os.O_RDONLY)
        ends.server.sendall(ANSWER)
        ends.thread.join(60)
        assert ends.results == [True]


class Hurried(socket.socket):
    """A connection on which the server sends something just before the relay acts."""

    def __init__(self, link: socket.socket, act: Callable[[], None]) -> None:
        super().__init__(fileno=link.detach())
        self.sent, self.act = 0, act

    def send(self, data: Any, *flags: int) -> int:  # type: ignore[explicit-override]  # needs 3.12
        self.sent += 1
        if self.sent == 2:  # after the first line
            self.act()
        return super().send(data, *flags)

    def shutdown(self, how: int, /) -> None:  # type: ignore[explicit-override]  # as above
        self.act()
        super().shutdown(how)


@contextmanager
def hurried(act: Callable[[socket.socket], None]) -> Iterator[tuple[Relay, int, socket.socket]]:
    """Return a relay, the pipe of its client and its connection; the server acts in between."""
    from_client, client_writes = os.pipe()
    null = os.open(os.devnull, os.O_WRONLY)
    ours, server = socket.socketpair()
    with Hurried(ours, lambda: act(server)) as link, server:
        yield Relay(from_client, null), client_writes, link
    for each in (from_client, client_writes, null):
        os.close(each)


def take_and_end(server: socket.socket) -> None:
    server.recv(len(CALL))
    server.sendall(TAKEN)
    server.close()


def test_a_write_that_was_taken_is_not_repeated_when_the_next_line_cannot_be_sent() -> None:
    with hurried(take_and_end) as (relay, client, link):
        os.write(client, CALL + CALL.replace(b'"id":1', b'"id":2'))
        assert not relay.copy(link, Parent())
        relay.resume()
        ours, theirs = socket.socketpair()
        with ours, theirs:
            theirs.shutdown(socket.SHUT_WR)  # the relay sends before it notices
            relay.copy(ours)
            assert b'"id":1' not in theirs.recv(1 << 16)


def test_a_write_that_was_taken_is_not_repeated_when_its_server_was_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(silence, "SILENT_S", 0.2)
    with hurried(lambda server: server.sendall(TAKEN)) as (relay, client, link):
        os.write(client, CALL)
        assert not relay.copy(link, Parent())
        assert relay.was_silent
        relay.resume()
        ours, theirs = socket.socketpair()
        with ours, theirs:
            theirs.shutdown(socket.SHUT_WR)
            relay.copy(ours)
            ours.close()
            assert theirs.recv(1 << 16) == b""


def test_the_end_in_the_middle_of_a_line_ends_the_relay() -> None:
    with relaying() as ends:
        ends.type(CALL + CALL[:20])
        os.close(ends.client_writes)
        assert ends.got(len(CALL) + 20) == CALL + CALL[:20]
        ends.client_writes = os.open(os.devnull, os.O_RDONLY)
        ends.server.sendall(2 * TAKEN + ANSWER)
        assert ends.shown(len(ANSWER)) == ANSWER
        assert ends.end_server()
