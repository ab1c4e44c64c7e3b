"""Start `code-intel ui` on a project, read the link that it prints, and end it."""

import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from demo_project import environment
from projects import BIN

LINK = re.compile(r"code-intel: open (http://127\.0\.0\.1:\d+/[\w-]+/open\?token=\S+)")
PATIENCE_S = 120
COMMAND = (str(BIN / "code-intel"), "ui", "--no-open", "--port")


@dataclass
class ServedPage:
    """A running `code-intel ui`: its link, what it printed, and the cookies of the first visit."""

    root: Path
    process: "subprocess.Popen[str]"
    link: str = ""
    printed: list[str] = field(default_factory=list)
    cookies: list[Any] = field(default_factory=list)
    known: threading.Event = field(default_factory=threading.Event)

    @property
    def port(self) -> str:
        """The port of the link."""
        return self.link.removeprefix("http://127.0.0.1:").partition("/")[0]

    @property
    def home(self) -> str:
        """The address below which all pages are, without a slash at its end."""
        return self.link.partition("/open?")[0]

    def stop(self) -> int:
        """End it as Ctrl-C does; return its exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE_S)

    def read(self) -> None:
        """Keep what it prints until it ends, and find the link."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.printed.append(line)
            if match := LINK.match(line):
                self.link = match[1]
                self.known.set()
        self.known.set()


@contextmanager
def serving_page(
    root: Path,
    *options: str,
    port: str = "0",
    env: Mapping[str, str] | None = None,
    command: Sequence[str] = COMMAND,
) -> Iterator[ServedPage]:
    """Run `code-intel ui` in a process of its own, without a model unless `env` says so."""
    process = subprocess.Popen(
        [*command, port, *options],
        cwd=root,
        env={**environment(root), **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )
    page = ServedPage(root, process)
    reader = threading.Thread(target=page.read)
    reader.start()
    try:
        assert page.known.wait(PATIENCE_S), "no link within two minutes"
        assert page.link, f"it ended without a link:\n{''.join(page.printed)}"
        yield page
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        reader.join()
        assert process.stderr is not None
        process.stderr.close()
