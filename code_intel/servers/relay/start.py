"""Become a relay if another server of the project does the work already (docs/decisions/0099).

This runs before anything heavy is imported. `begin` returns when this process has to be a server,
which may be at once, or later, when the server that it relayed to has ended.
"""

import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from code_intel.foundation.gateway_socket import find_project, has_sockets
from code_intel.foundation.project_claim import Claim, claim_project, is_of_this_version
from code_intel.servers.relay.greeting import (
    GREETING_TIMEOUT_S,
    EndedError,
    Greeting,
    greet,
    own_code,
    starts_server,
)
from code_intel.servers.relay.lines import Relay
from code_intel.servers.relay.parent import Parent

ATTEMPTS, BETWEEN_S = 40, 0.05
"""How often a relay looks for a listener, and the seconds between. A process that ends closes its
connections before it frees the lock, and one that has the lock listens a moment later."""
QUICK_S, MAX_LOST = 5.0, 3
"""How many servers in a row may end within seconds before a relay serves its client itself."""
_ROOT_VARIABLES = ("CODE_INTEL_ROOT", "CLAUDE_PROJECT_DIR")


class Beginning:
    """How this process began to serve.

    Attributes:
        claim: Its right to listen for the project, or None.
        last: The session that its connection used last, before this process became a server.
        words: The command line by which other processes name the server of this process.
    """

    claim: Claim | None = None
    last: str | None = None
    words: tuple[str, ...] = ()


beginning = Beginning()


def begin(program: str, argv: list[str]) -> None:
    """Relay the client's lines while another process of the project serves it; else return."""
    try:
        os.fstat(0), os.fstat(1)
        folder, words = os.getcwd(), _server_words(program, argv)
        root = None if words is None or os.isatty(0) else _project(words)
    except OSError:  # a stream is closed, or the current folder has been deleted
        return
    if words is None or root is None or not has_sockets():
        return
    beginning.words = (program, *words)
    environ = dict(os.environ)  # noqa: TID251 - the server compares the settings
    greeting = Greeting(program, words, folder, environ, own_code(), None)
    link = _reach(root, greeting, lambda: not _has_hung_up(0))
    if link is None:
        return
    parent, (words_from, words_to) = Parent(), _take_streams()
    relay = Relay(words_from, words_to)

    def has_client() -> bool:
        if parent.has_ended or _has_hung_up(words_from):
            os._exit(0)
        return True

    _exit_on_signals()
    lost = 0
    while link is not None:
        began = time.monotonic()
        has_ended = relay.copy(link, parent)
        lost = lost + 1 if time.monotonic() - began < QUICK_S else 0
        link.close()
        if has_ended:
            relay.finish()
            os._exit(0)
        relay.resume()
        link = None
        # A server that has stopped still holds the lock, and one may fail for what it is asked.
        if not relay.was_silent and lost < MAX_LOST:
            link = _reach(root, greeting._replace(last=relay.last), has_client)
    beginning.last = relay.last
    _serve_here(relay)


def _server_words(program: str, argv: list[str]) -> list[str] | None:
    """Return the arguments with an absolute path; None if they start no server on stdin."""
    if not starts_server(program, argv):
        return None
    if program != "devrag":
        return argv
    given, environ = argv[1], os.environ  # noqa: TID251 - as below
    folders = (".", *filter(None, map(environ.get, _ROOT_VARIABLES)))  # as `find_index_config`
    paths = (os.path.abspath(os.path.join(folder, given)) for folder in folders)
    path = next(filter(os.path.isfile, paths), None)
    return None if path is None else ["--config", path, *argv[2:]]


def _project(words: list[str]) -> str | None:
    """Return the folder of the project that is set up, or None."""
    if words[:1] == ["--config"]:
        return find_project(os.path.dirname(words[1]))
    environ = os.environ  # noqa: TID251 - the settings would cost more than the relay
    return find_project(next(filter(None, map(environ.get, _ROOT_VARIABLES)), "."))


def _reach(root: str, greeting: Greeting, may_wait: Callable[[], bool]) -> socket.socket | None:
    """Return a connection to the server that listens; None if this process has to serve."""
    end = time.monotonic() + GREETING_TIMEOUT_S
    for _ in range(ATTEMPTS):
        try:
            beginning.claim = claim_project(root)
            if beginning.claim is not None:
                return None
            if is_of_this_version(root):
                return greet(root, greeting, may_wait)
        except EndedError:
            if time.monotonic() > end:
                return None
        except OSError:
            return None
        select.select([], [], [], BETWEEN_S)
    return None


def _has_hung_up(stream: int) -> bool:
    """Return whether the other end of a pipe has been closed."""
    poll = select.poll()
    poll.register(stream, 0)  # a hang-up is always reported
    return bool(poll.poll(0))


def _take_streams() -> tuple[int, int]:
    """Return the client's streams; what else is printed goes to stderr."""
    words_from, words_to = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    with suppress(OSError):
        os.dup2(2, 1)
    return words_from, words_to


def _serve_here(relay: Relay) -> None:
    """Relay to this process: its stdin and stdout become a connection to the relay's thread."""
    ours, theirs = socket.socketpair()
    os.dup2(theirs.fileno(), 0)
    os.dup2(theirs.fileno(), 1)
    theirs.close()

    def copy() -> None:
        relay.copy(ours)  # until this process ends, or should have ended
        relay.finish()
        from code_intel.servers.ending import exit_process

        exit_process(0)

    threading.Thread(target=copy, name="relay", daemon=True).start()


def _exit_on_signals() -> None:
    """Exit at once when a signal says so, as a server does."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name)
        if signal.getsignal(number) is not signal.SIG_IGN:  # as `nohup` sets it
            signal.signal(number, lambda number, _frame: os._exit(128 + number))
