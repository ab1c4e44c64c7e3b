"""Show what a session asked, found, claimed and decided, in chronological order.

Of a damaged session it shows the part that matches its head, and what is wrong with the rest.
"""

import argparse
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from code_intel.cli.columns import wrapped
from code_intel.cli.id_prefix import IdKind, resolve_prefix
from code_intel.cli.output import emit
from code_intel.cli.project import add_project, project_of
from code_intel.config import Settings
from code_intel.errors import StorageError
from code_intel.learned.history import decisions
from code_intel.learned.history.logs import folder_of
from code_intel.session import journal
from code_intel.session.heads import SessionPaths
from code_intel.session.listing import list_sessions
from code_intel.session.phases import Phase
from code_intel.session.state import Session
from code_intel.session.story import Story, StoryLine, describe, duration, plain, with_notes
from code_intel.tools.context.gateway import sessions_of

FIRST_LINES, LAST_LINES = 30, 50
"""Lines that are shown of the beginning and the end of a long session."""
_INDENT, _COLUMNS, _ROWS = 22, 88, 2
_MAX_DECISIONS = 500
_NEWEST = 20
"""Journals among which the last used session is searched."""
_PREFIX = "session_"
SESSION = IdKind(
    "session",
    "`code-intel session list --all` lists them.",
    "An agent starts one with start_session.",
)
_DECISIONS: Mapping[str, str] = {
    "refused": "refused",
    "plan_made": "planned",
    "step_skipped": "skipped",
    "step_failed": "failed",
    "fallback_taken": "fell back",
    "fallback_refused": "no fallback",
}
"""Kinds of decisions that a journal does not have, and their labels."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("id", help="its name, the beginning of its name, or `last`")
    parser.add_argument("--all", action="store_true", help="show every line in full")
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Show the session."""
    settings = project_of(args)
    paths = sessions_of(settings)
    name = _meant(paths, args.id)
    left = journal.read_intact(paths, name)
    described = describe(left.records)
    story = with_notes(described, _decided(settings, name))._replace(
        broken=described.broken or left.problem
    )
    left_out = 0 if args.all else max(0, len(story.lines) - FIRST_LINES - LAST_LINES)
    state = _state(story, settings.session_hours)
    shown = story.lines[:FIRST_LINES] + story.lines[FIRST_LINES + left_out :]
    data: dict[str, Any] = {
        "name": name,
        "state": state,
        "broken": plain(story.broken),
        "ahead": left.ahead,
    }
    data |= _data(story.session) if story.session else {}
    data |= {"story": [line._asdict() for line in shown], "left_out": left_out}
    text = _text(name, state, story, left_out, 0 if args.all else _ROWS)
    emit(args, data, "\n".join([*text, *([journal.IGNORED_LINES_NOTE] if left.ahead else [])]))
    return 0


def _meant(paths: SessionPaths, text: str) -> str:
    """Return the name of the session that `text` names or begins; a handle names its session.

    Raises:
        NotFoundError: None exists.
        UsageError: Several names begin like this; the message lists some.
    """
    names = [file.name for file in journal.journal_files(paths)]
    if text == "last":
        found = [one.name for one in list_sessions(paths, limit=_NEWEST)[:1]]
    else:
        begun = (
            name
            for name in names
            if name.removeprefix(_PREFIX).startswith(text.removeprefix(_PREFIX))
        )
        found = [name for name in names if text.startswith(name)] or (list(begun) if text else [])
    return resolve_prefix(found, text, SESSION, some=bool(names))


def _decided(settings: Settings, name: str) -> list[StoryLine]:
    """Return what the log of decisions adds to a journal; nothing if it cannot be read."""
    try:
        log = decisions.newest(folder_of(settings.state), name, _MAX_DECISIONS)
    except StorageError:
        return []
    lines = []
    for (at, kind), rows in groupby(log.records, key=_when_and_what):
        if kind in _DECISIONS:
            texts = [
                f"{plain(row.get('what') or '')}: {plain(row.get('why') or '')}" for row in rows
            ]
            lines.append(StoryLine(at, "", _DECISIONS[kind], "; ".join(texts)))
    return lines


def _when_and_what(row: Mapping[str, Any]) -> tuple[str, str]:
    """Return the key by which decisions are shown in one line."""
    return str(row.get("timestamp") or ""), str(row.get("decision") or "")


def _state(story: Story, hours: float) -> str:
    if story.broken or story.session is None:
        return "broken"
    return (
        "expired"
        if journal.is_expired(story.session.updated_at, hours, datetime.now(UTC))
        else "open"
    )


def _data(session: Session) -> dict[str, Any]:
    """Return the state of the session after the shown lines."""
    return {
        "intent": session.intent.value,
        "query": plain(session.query),
        "phase": session.phase.value,
        "ready_by": session.ready_by,
        "risk": session.risk.value,
        "started_at": session.started_at,
        "used_at": session.updated_at,
        "tool_calls": len(session.calls),
        "symbols": [symbol.name for symbol in session.symbols if symbol.confirmed],
        "explored_files": list(session.explored_files),
        "planned_files": list(session.planned_files),
        "hypotheses": [item.text for item in session.hypotheses],
        "missing": list(session.missing),
        "outcomes": [item.outcome for item in session.outcomes],
        "learned": [{"nl_term": term, "symbol": symbol} for term, symbol in session.learned],
    }


def _text(name: str, state: str, story: Story, left_out: int, rows: int) -> Iterator[str]:
    session = story.session
    if session is None:
        yield f"{name}: {state}"
    else:
        ends = [state, *(item.outcome for item in session.outcomes[-1:])]
        yield f"{name}: {session.intent}, {session.phase}, {', '.join(ends)}"
        began, used = map(datetime.fromisoformat, (session.started_at, session.updated_at))
        took = duration((used - began).total_seconds())
        at, calls = f"{began.astimezone():%Y-%m-%d %H:%M:%S}", len(session.calls)
        yield f"{at}, {took}, calls: {calls}, risk {session.risk}"
        yield ""
    for number, line in enumerate(story.lines):
        if number == FIRST_LINES and left_out:
            yield f"          … {left_out} more; --all shows them"
        if not FIRST_LINES <= number < FIRST_LINES + left_out:
            yield from _rows(line, rows)
    yield ""
    if story.broken:
        yield f"The rest is not shown: {plain(story.broken)}"
    yield from wrapped(_writes(session, state), _COLUMNS + _INDENT, rows and rows + 1)


def _rows(line: StoryLine, rows: int) -> Iterator[str]:
    try:
        at = f"{datetime.fromisoformat(line.at).astimezone():%H:%M:%S}"
    except ValueError:  # the log of decisions is not verified
        at = "?"
    for number, row in enumerate(wrapped(line.text, _COLUMNS, rows)):
        head = "" if number else f"{at:<10}{line.what:<12}"
        yield f"{head:<{_INDENT}}{row}".rstrip()


def _writes(session: Session | None, state: str) -> str:
    """Return what the session may write now."""
    if session is None or state != "open":
        return f"It may no longer write: it is {state}."
    if not session.intent.writes:
        return f"It may not write: {session.intent} is read-only."
    if session.phase is not Phase.READY:
        return f"It may not write before READY; it is in {session.phase}."
    files = ", ".join(map(plain, (*session.explored_files, *session.planned_files)))
    return f"It may write, and create files beside: {files or 'no file explored yet'}"
