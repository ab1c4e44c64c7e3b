"""Show what a session asked, found, claimed and decided, in chronological order.

If the session is damaged, shows the part that matches its head, and what is wrong with the rest.
"""

import argparse
import shlex
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
from code_intel.foundation.text import visible
from code_intel.learned.history import decisions
from code_intel.learned.history.drafts import OutcomeDraft, read_draft
from code_intel.learned.history.logs import folder_of
from code_intel.session import journal
from code_intel.session.guidance import risk_reason, risk_text
from code_intel.session.heads import SessionPaths
from code_intel.session.listing import list_sessions
from code_intel.session.phases import Phase
from code_intel.session.state import Session
from code_intel.session.story import Story, StoryLine, describe, duration, plain, with_notes
from code_intel.tools.context.gateway import sessions_of
from code_intel.tools.session.audit_writes import listed_files, unpermitted_note

FIRST_LINES, LAST_LINES = 30, 50
"""Number of lines shown from the beginning and from the end of a long session."""
_INDENT, _COLUMNS, _MAX_ROWS = 22, 88, 2
_MAX_DECISIONS = 500
_MAX_CANDIDATES = 20
"""Number of journals among which the last used session is searched."""
_PREFIX = "session_"
SESSION = IdKind(
    "session",
    "`code-intel session list --all` lists them.",
    "An agent starts one before it changes code.",
)
_DECISIONS: Mapping[str, str] = {
    "refused": "refused",
    "plan_made": "planned",
    "step_skipped": "skipped",
    "step_failed": "failed",
    "fallback_taken": "fell back",
    "fallback_refused": "no fallback",
}
"""Kinds of decisions that journals do not contain, and their labels."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("id", help="its name, the beginning of it, or `last`")
    parser.add_argument("--all", action="store_true", help="show every line in full")
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Show the session."""
    settings = project_of(args)
    paths = sessions_of(settings)
    name = _resolve_name(paths, args.id)
    intact = journal.read_intact(paths, name)
    described = describe(intact.records)
    story = with_notes(described, _decision_lines(settings, name))._replace(
        broken=described.broken or intact.problem
    )
    left_out = 0 if args.all else max(0, len(story.lines) - FIRST_LINES - LAST_LINES)
    state = _state(story, settings.session_hours)
    shown = story.lines[:FIRST_LINES] + story.lines[FIRST_LINES + left_out :]
    data: dict[str, Any] = {
        "name": name,
        "state": state,
        "broken": plain(story.broken),
        "ahead": intact.ahead,
    }
    data |= _data(story.session) if story.session else {}
    draft = read_draft(settings, name)
    data |= {"draft": _draft_data(draft)}
    data |= {"story": [line._asdict() for line in shown], "left_out": left_out}
    text = [*_text(name, state, story, left_out, 0 if args.all else _MAX_ROWS)]
    text += _draft_lines(draft) if draft else []
    emit(args, data, "\n".join([*text, *([journal.IGNORED_LINES_NOTE] if intact.ahead else [])]))
    return 0


def _resolve_name(paths: SessionPaths, text: str) -> str:
    """Return the name of a session, given its name, the beginning of it, its handle, or `last`.

    Raises:
        NotFoundError: No session matches.
        UsageError: Several sessions match; the error names two.
    """
    names = [file.name for file in journal.journal_files(paths)]
    if text == "last":
        matches = [one.name for one in list_sessions(paths, limit=_MAX_CANDIDATES)[:1]]
    else:
        with_prefix = (
            name
            for name in names
            if name.removeprefix(_PREFIX).startswith(text.removeprefix(_PREFIX))
        )
        exact = [name for name in names if text.startswith(name)]
        matches = exact or (list(with_prefix) if text else [])
    return resolve_prefix(matches, text, SESSION, any_exist=bool(names))


def _decision_lines(settings: Settings, name: str) -> list[StoryLine]:
    """Return what the log of decisions adds to a journal, or nothing if it cannot be read."""
    try:
        log = decisions.newest(folder_of(settings.state), name, _MAX_DECISIONS)
    except StorageError:
        return []
    lines = []
    for (time, kind), rows in groupby(log.records, key=_time_and_kind):
        if kind in _DECISIONS:
            texts = [
                f"{plain(row.get('what') or '')}: {plain(row.get('why') or '')}" for row in rows
            ]
            lines.append(StoryLine(time, "", _DECISIONS[kind], "; ".join(texts)))
    return lines


def _time_and_kind(row: Mapping[str, Any]) -> tuple[str, str]:
    """Return the key of decisions that are shown in one line."""
    return str(row.get("timestamp") or ""), str(row.get("decision") or "")


def _state(story: Story, hours: float) -> str:
    if story.broken or story.session is None:
        return "broken"
    if story.session.ended:
        return "ended"
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
        **risk_reason(session),
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


def _text(name: str, state: str, story: Story, left_out: int, max_rows: int) -> Iterator[str]:
    session = story.session
    if session is None:
        yield f"{name}: {state}"
    else:
        results = [state, *(item.outcome for item in session.outcomes[-1:])]
        yield f"{name}: {session.intent}, {session.phase}, {', '.join(results)}"
        began, used = map(datetime.fromisoformat, (session.started_at, session.updated_at))
        length = duration((used - began).total_seconds())
        time, calls = f"{began.astimezone():%Y-%m-%d %H:%M:%S}", len(session.calls)
        yield f"{time}, {length}, calls: {calls}. {risk_text(session)}"
        yield ""
    for number, line in enumerate(story.lines):
        if number == FIRST_LINES and left_out:
            yield f"          … {left_out} more; --all shows them"
        if not FIRST_LINES <= number < FIRST_LINES + left_out:
            yield from _rows(line, max_rows)
    yield ""
    if story.broken:
        yield f"The rest is not shown: {plain(story.broken)}"
    permission = _write_permission(session, state)
    yield from wrapped(permission, _COLUMNS + _INDENT, max_rows and max_rows + 1)


def _rows(line: StoryLine, max_rows: int) -> Iterator[str]:
    try:
        time = f"{datetime.fromisoformat(line.at).astimezone():%H:%M:%S}"
    except ValueError:  # the decision log is not verified
        time = "?"
    for number, row in enumerate(wrapped(line.text, _COLUMNS, max_rows)):
        head = "" if number else f"{time:<10}{line.what:<12}"
        yield f"{head:<{_INDENT}}{row}".rstrip()


def _draft_data(draft: OutcomeDraft | None) -> dict[str, Any] | None:
    """Return the draft of the outcome as data, without the handle of the session."""
    if draft is None:
        return None
    return {
        "state": draft.state(),
        "drafted_at": draft.drafted_at,
        "files": list(draft.files),
        "unpermitted_files": list(draft.unpermitted),
        "agreements": [
            {"nl_term": each.nl_term, "symbol": each.symbol} for each in draft.agreements
        ],
    }


def _draft_lines(draft: OutcomeDraft) -> Iterator[str]:
    head = "Its outcome is a draft" if draft.state() == "draft" else "Its outcome is unconfirmed"
    yield f"{head}. Changed: {listed_files(draft.files)}."
    if note := unpermitted_note(draft.unpermitted):
        yield note
    for each in draft.agreements:
        pair = shlex.join((each.nl_term, each.symbol))
        yield visible(f"`code-intel map confirm {pair}` records it as a success, and learns it.")


def _write_permission(session: Session | None, state: str) -> str:
    """Return a sentence about what the session may write now."""
    if session is not None and session.ended:
        return "It may no longer write: its outcome was recorded."
    if session is None or state != "open":
        return f"It may no longer write: it is {state}."
    if not session.intent.writes:
        return f"It may not write: {session.intent} is read-only."
    if session.phase is not Phase.READY:
        return f"It may not write before READY; it is in {session.phase}."
    if session.demands == "evidence":
        permitted = ", ".join(map(plain, session.permitted_files)) or "none yet"
        return f"It may write the files that the write gate has allowed: {permitted}"
    files = ", ".join(map(plain, (*session.explored_files, *session.planned_files)))
    return f"It may write, and create files beside: {files or 'no file explored yet'}"
