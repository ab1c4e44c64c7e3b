"""A pseudo-terminal in which a command runs."""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from io import RawIOBase
from pathlib import Path

from projects import BIN

COLOUR_CODE = re.compile(r"\x1b\[[\d;]*m")
TERMINAL = {"TERM": "xterm-256color"}


def on_terminal(root: Path, env: Mapping[str, str], *words: str) -> str:
    """Return what `code-intel` writes to a terminal, with its line ends."""
    control, terminal = os.openpty()
    with closing(os.fdopen(control, "rb", buffering=0)) as shown:
        command = [str(BIN / "code-intel"), *words]
        with subprocess.Popen(command, cwd=root, env={**env}, stdout=terminal) as running:
            os.close(terminal)
            text = b"".join(_parts(shown))
        assert running.returncode == 0
    return text.decode().replace("\r\n", "\n")


def _parts(shown: RawIOBase) -> Iterator[bytes]:
    with suppress(OSError):  # Linux reports the end of a terminal as an error
        while part := shown.read(65_536):
            yield part
