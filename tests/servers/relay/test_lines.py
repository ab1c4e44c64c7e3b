"""A relay copies lines both ways, whatever one side does."""

import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

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
