"""Show what a session asked, found, claimed and decided, in chronological order.

If the session is damaged, shows the part that matches its head, and what is wrong with the rest.
"""

import argparse
import shlex
from collections.abc import Iterator
from datetime import datetime

from code_intel.cli.columns import wrapped
from code_intel.cli.output import emit
from code_intel.cli.project import add_project, project_of
from code_intel.foundation.text import visible
from code_intel.learned.history.drafts import OutcomeDraft
from code_intel.operations.sessions import (
    SessionStory,
    resolve_name,
    session_story,
    write_permission,
)
from code_intel.session import journal
from code_intel.session.guidance import risk_text
from code_intel.session.story import StoryLine, duration, plain
from code_intel.tools.session.audit_writes import listed_files, unpermitted_note

FIRST_LINES, LAST_LINES = 30, 50
"""Number of lines shown from the beginning and from the end of a long session."""
_INDENT, _COLUMNS, _MAX_ROWS = 22, 88, 2


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("id", help="its name, the beginning of it, or `last`")
    parser.add_argument("--all", action="store_true", help="show every line in full")
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Show the session."""
    settings = project_of(args)
    found = session_story(settings, resolve_name(settings, args.id))
    lines = found.story.lines
    left_out = 0 if args.all else max(0, len(lines) - FIRST_LINES - LAST_LINES)
    shown = lines[:FIRST_LINES] + lines[FIRST_LINES + left_out :]
    data = found.data | {"story": [line._asdict() for line in shown], "left_out": left_out}
    text = [*_text(found, left_out, 0 if args.all else _MAX_ROWS)]
    text += _draft_lines(found.draft) if found.draft else []
    emit(args, data, "\n".join([*text, *([journal.IGNORED_LINES_NOTE] if found.is_ahead else [])]))
    return 0


def _text(found: SessionStory, left_out: int, max_rows: int) -> Iterator[str]:
    name, state, story = found.name, found.state, found.story
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
    permission = write_permission(session, state)
    yield from wrapped(permission, _COLUMNS + _INDENT, max_rows and max_rows + 1)


def _rows(line: StoryLine, max_rows: int) -> Iterator[str]:
    try:
        time = f"{datetime.fromisoformat(line.at).astimezone():%H:%M:%S}"
    except ValueError:  # the decision log is not verified
        time = "?"
    for number, row in enumerate(wrapped(line.text, _COLUMNS, max_rows)):
        head = "" if number else f"{time:<10}{line.what:<12}"
        yield f"{head:<{_INDENT}}{row}".rstrip()


def _draft_lines(draft: OutcomeDraft) -> Iterator[str]:
    head = "Its outcome is a draft" if draft.state() == "draft" else "Its outcome is unconfirmed"
    yield f"{head}. Changed: {listed_files(draft.files)}."
    if note := unpermitted_note(draft.unpermitted):
        yield note
    for each in draft.agreements:
        pair = shlex.join((each.nl_term, each.symbol))
        yield visible(f"`code-intel map confirm {pair}` records it as a success, and learns it.")
