"""Run `code-intel serve-shared` in processes of their own."""

import os
import select
import subprocess
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
    assert started.stderr is not None
    served = Served(started, stdout)
    try:
        ready, _, _ = select.select([started.stderr], [], [], PATIENCE)
        assert ready, "no line on stderr"
        served.messages.append(started.stderr.readline().decode())
        yield served
        assert not stdout.read_bytes()
    finally:
        if started.poll() is None:
            os.killpg(started.pid, 9)
        started.wait()
        started.stderr.close()
