"""Log what sessions decided and why, in `decisions.jsonl` (docs/decisions/0031).

A decision records what a journal does not: the plan for a question, what was left out of it, why a
hit of the map was not enough, what was refused. The log has names of sessions, never handles.
"""

from collections.abc import Iterable
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

_MAX_TEXT_CHARS = 300
_LOCK_TIMEOUT_S = 1.0
"""A call waits no longer for its log entry."""


class Decision(NamedTuple):
    """One decision.

    Attributes:
        kind: What kind of decision it is.
        what: What was decided, in a few words: the plan, the step, the phases, the agreement.
        why: What it follows from, in a clause.
        tool: The tool that was called.
    """

    kind: Kind
    what: str
    why: str
    tool: str = ""

    @property
    def data(self) -> dict[str, Any]:
        """The decision in an answer: `decision`, `what`, `why`, each on one line."""
        return {"decision": self.kind, "what": _line(self.what), "why": _line(self.why)}


_LOG = LogFile("decisions", flushed=False)


def note(folder: Path, session: str, decisions: Iterable[Decision]) -> None:
    """Append decisions; `session` is the name of a session, or empty where none exists.

    Raises:
        StorageError: The disk refused.
        BusyError: Another process is writing for too long.
    """
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    records = [
        {"timestamp": now, "session_id": session, "tool": item.tool, **item.data}
        for item in decisions
    ]
    if records:
        _LOG.append(folder, *records, patience=_LOCK_TIMEOUT_S)


def newest(folder: Path, session: str, most: int = 100) -> Log:
    """Return the newest decisions of a session, oldest first.

    Each record has `timestamp` (ISO 8601, UTC), `session_id` (the session's name), `tool`,
    `decision` (a `Kind`), `what` and `why`.

    Raises:
        StorageError: The log exists but cannot be read.
    """
    return _LOG.read(folder, most=most, session_id=session)


def _line(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _MAX_TEXT_CHARS else f"{plain[:_MAX_TEXT_CHARS]}…"
