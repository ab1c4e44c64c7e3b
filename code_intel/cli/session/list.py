"""List sessions, the most recently used first, with intent, phase, outcome or state, and query.

`draft` and `unconfirmed` stand for a session that changed files and recorded no outcome.
`unconfirmed` means that its client has ended, or that a day has passed.

Exits with 1 if none exist.
"""

import argparse
from datetime import datetime

from code_intel.cli.columns import cut
from code_intel.cli.output import emit
from code_intel.cli.project import add_project, project_of
from code_intel.operations.sessions import listed_sessions
from code_intel.session.journal import MAX_JOURNALS
from code_intel.session.listing import SessionSummary
from code_intel.session.story import plain

MAX_SESSIONS_SHOWN = 20
_QUERY_COLUMNS = 60
BROKEN_NOTE = (
    "`code-intel session show` says why a session is broken. If all are, this terminal and the "
    "servers may use different state folders (CODE_INTEL_STATE_DIR)."
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--all", action="store_true", help=f"list all, not only the last {MAX_SESSIONS_SHOWN}"
    )
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """List the sessions; return 1 if none exist."""
    most = MAX_JOURNALS if args.all else MAX_SESSIONS_SHOWN + 1
    sessions = listed_sessions(project_of(args), most)
    listed = sessions if args.all else sessions[:MAX_SESSIONS_SHOWN]
    lines = [_line(session.summary, session.draft) for session in listed] or [
        "There are no sessions yet. An agent starts one before it changes code."
    ]
    if any(session.summary.state == "broken" for session in listed):
        lines.append(BROKEN_NOTE)
    if len(sessions) > len(listed):
        lines.append("There are more; --all lists them.")
    rows = [session.data for session in listed]
    data = {"sessions": rows, "truncated": len(sessions) > len(listed)}
    emit(args, data, "\n".join(lines))
    return 0 if listed else 1


def _line(session: SessionSummary, draft: str) -> str:
    used = datetime.fromisoformat(session.used_at).astimezone()
    text = plain(session.query) if session.intent else "its journal does not match its head"
    result = session.outcome or draft or session.state
    status = f"{session.intent or '-':<12}{session.phase or '-':<13}{result:<12}"
    return f"{session.name}  {used:%Y-%m-%d %H:%M}  {status}{cut(text, _QUERY_COLUMNS)}"
