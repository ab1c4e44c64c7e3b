"""Run `milvus-lite server` in a process of its own, so that several processes can use it."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from projects import BIN

START_S = 60.0


class MilvusServer:
    """A server that can be killed and started again on the same data and port."""

    def __init__(self, folder: Path, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}"
        self._folder = folder
        self._port = port
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it accepts connections."""
        words = ["server", "--data-dir", str(self._folder), "--host", "127.0.0.1"]
        with (self._folder.parent / "milvus.log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(BIN / "milvus-lite"), *words, "--port", str(self._port)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + START_S
        while not self._accepts():
            assert self._process.poll() is None, "milvus-lite has ended"
            assert time.monotonic() < deadline, "milvus-lite does not accept connections"

    def kill(self) -> None:
        """End it at once, as a crash does."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def _accepts(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self._port), timeout=0.2):
                return True
        except OSError:
            return False


def free_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def milvus_server(folder: Path) -> Iterator[MilvusServer]:
    """Run a server until the block ends."""
    folder.mkdir(parents=True, exist_ok=True)
    server = MilvusServer(folder, free_port())
    server.start()
    try:
        yield server
    finally:
        server.kill()
