"""Copy lines between a client and the server that does its work.

One loop waits for both and never blocks on either: a pipe that accepts bytes gets at most as many
as it is sure to take. What waits is limited, so that a slow reader slows the writer.
"""

import os
import select
import socket
from collections import deque
from contextlib import suppress

from code_intel.foundation.gateway_socket import peer_process
from code_intel.servers.relay.calls import Calls
from code_intel.servers.relay.greeting import PING, PONG, SESSION, TAKEN
from code_intel.servers.relay.parent import Parent
from code_intel.servers.relay.silence import END_S, Silence

MAX_WAITING_BYTES = 1 << 20
MAX_LINE_BYTES = 64 << 20
"""Maximum length of a line that is remembered: 16 Mi characters of up to four bytes."""
_PART = 65_536
_LOOK_S = 0.5
"""Seconds between two looks at the clock, while something has a time limit."""


class _ClientEndedError(Exception):
    """The client has ended."""


class _ServerEndedError(Exception):
    """The connection to the server has ended."""


class Relay:
    """The client of this process, and what it waits for.

    Attributes:
        last: The session that the connection used last, or None.
        was_silent: Whether the last server gave no sign of life, although its process exists.
    """

    def __init__(self, words_from: int, words_to: int) -> None:
        """Begin with the descriptors of the client's input and output."""
        self.last: str | None = None
        self.was_silent = False
        self._input, self._output = words_from, words_to
        self._calls = Calls()
        self._typed = bytearray()
        self._is_long = False
        self._to_server: deque[bytes] = deque()
        self._not_taken: deque[bytes] = deque()
        self._sent_bytes = 0
        self._to_client = bytearray()
        self._has_ended = False
        self._counts_taken = self._can_send = True

    def resume(self) -> None:
        """Prepare for another server."""
        waiting = [line for line in self._to_server if line != PING and line.endswith(b"\n")]
        to_server, to_client = self._calls.resume([*self._not_taken, *waiting])
        self._to_server, self._sent_bytes = deque(to_server), 0
        self._not_taken.clear()
        self._to_client += b"".join(to_client)
        if self._is_long:  # the first part of this line is lost
            self._typed.clear()

    def copy(self, link: socket.socket, parent: Parent | None = None) -> bool:
        """Copy lines until the connection ends; return whether the client has ended.

        Args:
            link: The connection to the server.
            parent: The parent process, with which the client ends; None if the server is in this
                process, which then needs no sign of life either.
        """
        self._counts_taken, self._can_send = parent is not None, True
        link.setblocking(False)  # noqa: FBT003 - the name is the meaning
        answered = bytearray()
        silence = Silence(peer_process(link), asks=parent is not None)
        try:
            while True:
                self._look(silence, link)
                readable, writable = self._wait(link, parent)
                if parent is not None and (parent.handle in readable or parent.has_ended):
                    return True
                if link in writable:
                    self._send(link)
                if link in readable:
                    silence.end()
                    self._receive(link, answered)
                if self._output in writable:
                    self._write()
                if self._input in readable:
                    self._read(link)
        except _ServerEndedError:
            return self._has_ended
        except _ClientEndedError:
            return True

    def finish(self) -> None:
        """Write what the client has not got yet, as long as it reads."""
        with suppress(_ClientEndedError):
            while self._to_client:
                _, writable, _ = select.select([], [self._output], [], END_S)
                if not writable:
                    return
                self._write()

    def _look(self, silence: Silence, link: socket.socket) -> None:
        """Look how long the server has been silent, and ask it for a sign of life.

        One that is silent for too long can send nothing from then on. What it has sent before is
        received, so that no line that it has taken counts as not taken.
        """
        is_blocked = len(self._to_client) >= MAX_WAITING_BYTES  # the client does not read
        silence.look(is_waiting=not is_blocked and (self._calls.has_open or self._has_ended))
        if self._has_ended and silence.is_over(END_S):
            raise _ClientEndedError
        if silence.is_too_long:
            self.was_silent, self._can_send = True, False
            with suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)
        elif silence.must_ask:
            self._to_server.append(PING)

    def _wait(
        self, link: socket.socket, parent: Parent | None
    ) -> tuple[list[socket.socket | int], list[socket.socket | int]]:
        """Return what can be read and written."""
        reads: list[socket.socket | int] = []
        writes: list[socket.socket | int] = []
        if parent is not None and parent.handle is not None:
            reads.append(parent.handle)
        if len(self._to_client) < MAX_WAITING_BYTES:
            reads.append(link)
        if sum(map(len, self._to_server)) < MAX_WAITING_BYTES and not self._has_ended:
            reads.append(self._input)
        if self._to_server and self._can_send:
            writes.append(link)
        if self._to_client:
            writes.append(self._output)
        must_look = self._calls.has_open or self._has_ended
        must_look = must_look or (parent is not None and parent.must_be_asked)
        readable, writable, _ = select.select(reads, writes, [], _LOOK_S if must_look else None)
        return readable, writable

    def _send(self, link: socket.socket) -> None:
        """Send a part of the next line to the server."""
        line = memoryview(self._to_server[0])
        try:
            self._sent_bytes += link.send(line[self._sent_bytes : self._sent_bytes + _PART])
        except BlockingIOError:
            return
        except OSError:  # it has ended; what it has taken and answered can still be received
            self._can_send = False
            return
        if self._sent_bytes == len(line):
            sent, self._sent_bytes = self._to_server.popleft(), 0
            if self._counts_taken and sent != PING and sent.endswith(b"\n"):
                self._not_taken.append(sent)
            self._end_input(link)

    def _receive(self, link: socket.socket, answered: bytearray) -> None:
        """Take the lines that the server has completed; `answered` keeps what is left."""
        try:
            part = link.recv(_PART)
        except BlockingIOError:
            return
        except OSError as error:
            raise _ServerEndedError from error
        if not part:
            raise _ServerEndedError
        for line in _complete(answered, part):
            if line.startswith(SESSION):
                self.last = line.removeprefix(SESSION).decode().strip() or None
            elif line == TAKEN:
                if self._not_taken:  # a line without an end is taken, but not counted
                    self._not_taken.popleft()
            elif line != PONG and self._calls.received(line):
                self._to_client += line

    def _read(self, link: socket.socket) -> None:
        """Read from the client."""
        try:
            part = os.read(self._input, _PART)
        except OSError:
            part = b""
        for line in _complete(self._typed, part):
            if not self._is_long:
                self._calls.sent(line)
            self._is_long = False
            self._to_server.append(line)
        if len(self._typed) > MAX_LINE_BYTES or (self._typed and not part):  # both are refused
            self._is_long = True
            self._to_server.append(bytes(self._typed))
            self._typed.clear()
        if not part:
            self._has_ended = True
            self._end_input(link)

    def _end_input(self, link: socket.socket) -> None:
        """Tell the server that its client has ended, once all is sent."""
        if self._has_ended and not self._to_server:
            with suppress(OSError):
                link.shutdown(socket.SHUT_WR)

    def _write(self) -> None:
        """Write a part of the answers to the client."""
        try:
            data = self._to_client[: select.PIPE_BUF]
            written = os.write(self._output, data)  # noqa: TID251 - the client's pipe
        except OSError as error:
            raise _ClientEndedError from error
        del self._to_client[:written]


def _complete(begun: bytearray, part: bytes) -> list[bytes]:
    """Return the lines that a part of a stream completes; `begun` keeps what is left."""
    if b"\n" not in part:
        begun += part
        return []
    *lines, rest = part.split(b"\n")
    lines[0] = bytes(begun) + lines[0]
    begun[:] = rest
    return [line + b"\n" for line in lines]
