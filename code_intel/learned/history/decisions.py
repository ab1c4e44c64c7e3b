"""Log what sessions decided and why, in `decisions.jsonl` (docs/decisions/0031).

Decisions are not in the journal: the plan for a question, the steps left out of it, why a hit of
the map was not enough, and what was refused. The log contains session names, never handles.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from code_intel.learned.history.logs import Log, LogFile

Kind = Literal[
    "plan_made",
    "step_skipped",
    "step_failed",
    "step_discounted",
    "fallback_taken",
    "fallback_refused",
    "phase_moved",
    "refused",
    "map_used",
    "map_rejected",
    "ready_lowered",
]

MAX_REFUSALS = 20_000
"""Maximum number of refusals that are read, newest first."""
_MAX_TEXT_CHARS = 300
_LOCK_TIMEOUT_S = 1.0
"""Limit of the time that a call waits to write its log entry."""


class Decision(NamedTuple):
    """One decision.

    Attributes:
        kind: The kind of decision.
        what: What was decided, in a few words: the plan, the step, the phases, the agreement.
        why: The reason, as a clause.
        tool: The tool that was called.
    """

    kind: Kind
    what: str
    why: str
    tool: str = ""

    @property
    def data(self) -> dict[str, Any]:
        """The decision as JSON data for an answer, with each text on one line."""
        return {"decision": self.kind, "what": _one_line(self.what), "why": _one_line(self.why)}


_LOG = LogFile("decisions", flushed=False)


def append(folder: Path, session: str, decisions: Iterable[Decision]) -> None:
    """Append decisions of a session to the log; `session` is its name, or empty without one.

    Raises:
        StorageError: The log could not be written.
        BusyError: Another process holds the lock for too long.
    """
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    records = [
        {"timestamp": now, "session_id": session, "tool": item.tool, **item.data}
        for item in decisions
    ]
    if records:
        _LOG.append(folder, *records, patience=_LOCK_TIMEOUT_S)


def newest(folder: Path, session: str, limit: int = 100) -> Log:
    """Return the newest decisions of a session, oldest first.

    Each record has `timestamp` (ISO 8601, UTC), `session_id` (the session's name), `tool`,
    `decision` (a `Kind`), `what` and `why`.

    Raises:
        StorageError: The log exists but cannot be read.
    """
    return _LOG.read(folder, limit=limit, session_id=session)


def refusals(folder: Path) -> Sequence[Mapping[str, Any]]:
    """Return the newest refusals of all sessions, oldest first; other records are not parsed.

    Raises:
        StorageError: The log exists but cannot be read.
    """
    mark = b'"decision": "refused"'
    return _LOG.read(folder, limit=MAX_REFUSALS, containing=mark, decision="refused").records


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_TEXT_CHARS else f"{line[:_MAX_TEXT_CHARS]}…"
