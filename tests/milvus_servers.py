"""Run Milvus Lite in its own process, which several clients can use."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def milvus_server(folder: Path) -> Iterator[str]:
    """Yield the URL of a server that keeps its data in a folder."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    command = [str(Path(sys.executable).with_name("milvus-lite")), "server"]
    command += ["--data-dir", str(folder), "--host", "127.0.0.1", "--port", str(port)]
    environ = os.environ | {"PYTHONUNBUFFERED": "1"}  # its line "listening" is waited for
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environ
    ) as process:
        try:
            assert process.stdout is not None
            assert b"listening" in process.stdout.readline()
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()
