"""Run `code-intel serve-shared` in processes of their own."""

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from projects import BIN
from servers.http_processes import PATIENCE, Served, environment


@contextmanager
def process(folder: Path, engine: str, tokens: Path, **settings: object) -> Iterator[Served]:
    """Run an instance; its audit log is `audit.jsonl` in its folder.

    Args:
        folder: Its folder; the file that takes its standard output is beside it.
        engine: The address of the engine.
        tokens: The token file.
        **settings: Further settings.
    """
    folder.mkdir(parents=True, exist_ok=True)
    own = {"port": 0, "audit_file": "audit.jsonl"}
    given = {"engine": engine, "token_file": tokens, **own, **settings}
    lines = [
        f"{name} = {value}" if isinstance(value, int) else f'{name} = "{value}"'
        for name, value in given.items()
    ]
    (folder / "shared.toml").write_text("\n".join(lines), encoding="utf-8")
    stdout = folder / "stdout"
    with stdout.open("ab") as out:
        started = subprocess.Popen(
            [str(BIN / "code-intel"), "serve-shared", "--config", "shared.toml"],
            cwd=folder,
            env=environment(folder),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    served, first = Served(started, stdout), threading.Event()
    # An instance that reports much would wait for a reader.
    reader = threading.Thread(target=_read, args=(served, first), daemon=True)
    reader.start()
    try:
        assert first.wait(PATIENCE), "no line on stderr"
        yield served
        assert not stdout.read_bytes()
    finally:
        if started.poll() is None:
            os.killpg(started.pid, signal.SIGKILL)
        started.wait()
        reader.join(PATIENCE)


def _read(served: Served, first: threading.Event) -> None:
    """Keep the lines on stderr until the process ends."""
    stream = served.process.stderr
    assert stream is not None
    with stream:
        for line in stream:
            served.messages.append(line.decode(errors="replace"))
            first.set()
    first.set()
