"""Log who asked what, without code: a JSON object per request and line.

The text of a question may hold pasted code, so the log has its digest and length; if
`audit_questions` is set, also its beginning with secrets masked.
"""

import hashlib
import json
import logging
import secrets
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from code_intel.errors import BusyError, StorageError
from code_intel.foundation.durable import append, locked
from code_intel.foundation.redaction import masked
from code_intel.foundation.text import visible

MAX_REPOSITORIES = 20
"""How many repositories a line names; it has the number of all."""
MAX_NAME_CHARS = 200
MAX_QUESTION_CHARS = 200
DIGEST_DIGITS = 16
MAX_WAITING = 10_000
"""How many lines may wait for the disk."""
END_TIMEOUT_S = 5.0
"""How long the end waits for the lines that are not written yet."""
logger = logging.getLogger(__name__)


@dataclass
class RequestLog:
    """What is known of a request; handlers add to it.

    Attributes:
        id: Names the request in logs and in the header X-Request-Id.
        began: A monotonic time.
        principal: Who sent it; empty if that is unknown.
        route: The path of the route, with placeholders; empty if no route matched.
        tool: The MCP tool, or what a route did.
        repositories: The repositories that it asked for, whether or not they exist.
        question: The text that was searched for.
        refused: Which limit or check refused it.
        received: Bytes of the body.
        sent: Bytes of the answer's body.
        status: The status of the answer; 0 if the client went away before.
    """

    id: str = field(default_factory=lambda: secrets.token_hex(8))
    began: float = field(default_factory=time.monotonic)
    principal: str = ""
    route: str = ""
    tool: str = ""
    repositories: tuple[str, ...] = ()
    question: str = ""
    refused: str = ""
    received: int = 0
    sent: int = 0
    status: int = 0

    def add_repositories(self, names: Iterable[str]) -> None:
        """Note repositories, each once."""
        self.repositories = tuple(dict.fromkeys((*self.repositories, *names)))

    def seconds(self) -> float:
        """Return for how long the request has been running."""
        return time.monotonic() - self.began


def line_of(record: RequestLog, *, with_question: bool) -> dict[str, Any]:
    """Return the line of a request, with nothing that could be code."""
    names = record.repositories[:MAX_REPOSITORIES]
    line: dict[str, Any] = {
        "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "id": record.id,
        "principal": record.principal,
        "route": record.route,
        "status": record.status,
        "ms": round(record.seconds() * 1000, 1),
        "received": record.received,
        "sent": record.sent,
    }
    if record.tool:
        line["tool"] = record.tool
    if record.refused:
        line["refused"] = record.refused
    if names:
        line["repositories"] = [visible(name[:MAX_NAME_CHARS]) for name in names]
        line["repositories_total"] = len(record.repositories)
    if record.question:
        digest = hashlib.sha256(record.question.encode("utf-8", "replace")).hexdigest()
        line["question"] = {"sha256": digest[:DIGEST_DIGITS], "chars": len(record.question)}
        if with_question:
            text = " ".join(masked(record.question).split())
            line["question"]["text"] = visible(text[:MAX_QUESTION_CHARS])
    return line


class AuditLog:
    """Appends lines to a file, which can be renamed at any time: it is opened again for each write.

    A thread of its own writes, so that a slow disk does not delay requests.

    Attributes:
        failures: How many lines could not be written.
    """

    def __init__(self, path: Path | None, *, with_questions: bool) -> None:
        self._path = path
        self._with_questions = with_questions
        self._waiting: SimpleQueue[bytes | None] = SimpleQueue()
        self.failures = 0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Write lines during the block, and all that wait at its end.

        Raises:
            BusyError: Another instance uses the file.
            StorageError: It cannot be written.
        """
        if self._path is None:
            yield
            return
        try:
            with locked(self._path.with_name(f"{self._path.name}.lock"), timeout=0):
                append(self._path, b"", flushed=False)
                writer = threading.Thread(
                    target=self._write_lines, args=(self._path,), name="audit", daemon=True
                )
                writer.start()
                try:
                    yield
                finally:
                    self._waiting.put(None)
                    writer.join(END_TIMEOUT_S)
        except BusyError:
            raise BusyError(
                f"Another instance logs to {self._path}.",
                hint="Set another audit_file: each instance needs its own.",
                details={"field": "audit_file"},
            ) from None

    def write(self, record: RequestLog) -> None:
        """Let the line of a request be appended; if too many wait, it is lost and counted."""
        if self._path is None:
            return
        if self._waiting.qsize() >= MAX_WAITING:
            self.failures += 1
            return
        line = line_of(record, with_question=self._with_questions)
        data = json.dumps(line, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        self._waiting.put(data)

    def _write_lines(self, path: Path) -> None:
        """Append lines until the end of `running`; a failure is counted and reported on stderr."""
        while (line := self._waiting.get()) is not None:
            try:
                append(path, line, flushed=False)
            except StorageError as error:
                self.failures += 1
                logger.warning("the audit log lacks a line: %s", error.message)
