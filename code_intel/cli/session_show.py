"""Tell the story of a session: asked, framed, found, claimed, believed or refused and why, in the order it happened.

Of a damaged session what was acknowledged and is still there is told, and what is wrong with the rest.
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
from code_intel.learned import decisions
from code_intel.learned.logs import folder_of
from code_intel.session import journal
from code_intel.session.heads import Place
from code_intel.session.listing import list_sessions
from code_intel.session.phases import Phase
from code_intel.session.state import Session
from code_intel.session.story import Line, Story, duration, plain, tell, woven
from code_intel.tools.desk import sessions_of

FIRST, LAST = 30, 50
"""Lines of a long story that are told from its beginning and from its end."""
_INDENT, _COLUMNS, _ROWS = 22, 88, 2
_MOST_DECISIONS = 500
_NEWEST = 20  # journals among which the last used is looked for
_PREFIX = "session_"
SESSION = IdKind(
    "session",
    "`code-intel session list --all` lists them.",
    "An agent begins one with start_session.",
)
_DECISIONS: Mapping[str, str] = {
    "refused": "refused",
    "plan_made": "planned",
    "step_skipped": "skipped",
    "step_failed": "failed",
    "fallback_taken": "fell back",
    "fallback_refused": "no fallback",
}
"""Kinds of decisions that a journal does not tell, and how they are called."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("id", help="its name, the beginning of its name, or `last`")
    parser.add_argument("--all", action="store_true", help="every line of the story, in full")
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Tell it."""
    settings = project_of(args)
    place = sessions_of(settings)
    name = _meant(place, args.id)
    left = journal.read_intact(place, name)
    told = tell(left.records)
    story = woven(told, _decided(settings, name))._replace(broken=told.broken or left.problem)
    left_out = 0 if args.all else max(0, len(story.lines) - FIRST - LAST)
    state = _state(story, settings.session_hours)
    shown = story.lines[:FIRST] + story.lines[FIRST + left_out :]
    data: dict[str, Any] = {
        "name": name,
        "state": state,
        "broken": plain(story.broken),
        "ahead": left.ahead,
    }
    data |= _data(story.session) if story.session else {}
    data |= {"story": [line._asdict() for line in shown], "left_out": left_out}
    text = _text(name, state, story, left_out, 0 if args.all else _ROWS)
    emit(args, data, "\n".join([*text, *([journal.AHEAD] if left.ahead else [])]))
    return 0


def _meant(place: Place, text: str) -> str:
    """Return the name of the one session that is meant; a handle means the session it belongs to.

    Raises:
        NotFoundError: There is none.
        UsageError: Several begin like this; names some of them.
    """
    names = [file.name for file in journal.journal_files(place)]
    if text == "last":
        found = [one.name for one in list_sessions(place, most=_NEWEST)[:1]]
    else:
        begun = (
            name
            for name in names
            if name.removeprefix(_PREFIX).startswith(text.removeprefix(_PREFIX))
        )
        found = [name for name in names if text.startswith(name)] or (list(begun) if text else [])
    return resolve_prefix(found, text, SESSION, some=bool(names))


def _decided(settings: Settings, name: str) -> list[Line]:
    """Return what the log of decisions adds to a journal; a log that cannot be read adds nothing."""
    try:
        log = decisions.newest(folder_of(settings.state), name, _MOST_DECISIONS)
    except StorageError:
        return []
    lines = []
    for (at, kind), rows in groupby(log.records, key=_when_and_what):
        if kind in _DECISIONS:
            texts = [
                f"{plain(row.get('what') or '')}: {plain(row.get('why') or '')}" for row in rows
            ]
            lines.append(Line(at, "", _DECISIONS[kind], "; ".join(texts)))
    return lines


def _when_and_what(row: Mapping[str, Any]) -> tuple[str, str]:
    """Decisions of one kind that were made together are told together."""
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
    """Return where the session stood after what is told of it."""
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
        yield f"{began.astimezone():%Y-%m-%d %H:%M:%S}, {took}, calls: {len(session.calls)}, risk {session.risk}"
        yield ""
    for number, line in enumerate(story.lines):
        if number == FIRST and left_out:
            yield f"          … {left_out} more; --all tells them"
        if not FIRST <= number < FIRST + left_out:
            yield from _rows(line, rows)
    yield ""
    if story.broken:
        yield f"What follows cannot be believed: {plain(story.broken)}"
    yield from wrapped(_writes(session, state), _COLUMNS + _INDENT, rows and rows + 1)


def _rows(line: Line, rows: int) -> Iterator[str]:
    try:
        at = f"{datetime.fromisoformat(line.at).astimezone():%H:%M:%S}"
    except ValueError:  # the log of decisions is no journal
        at = "?"
    for number, row in enumerate(wrapped(line.text, _COLUMNS, rows)):
        head = "" if number else f"{at:<10}{line.what:<12}"
        yield f"{head:<{_INDENT}}{row}".rstrip()


def _writes(session: Session | None, state: str) -> str:
    """Return what the session may write now; the files themselves say whether it has."""
    if session is None or state != "open":
        return f"It may write nothing any more: it is {state}."
    if not session.intent.writes:
        return f"It may write nothing: {session.intent} only reads."
    if session.phase is not Phase.READY:
        return f"It may write nothing before READY; it is in {session.phase}."
    files = ", ".join(map(plain, (*session.explored_files, *session.planned_files)))
    return f"It may write, and create files beside them: {files or 'no file explored yet'}"
