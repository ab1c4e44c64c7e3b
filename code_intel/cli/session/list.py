"""List sessions, the last used first, with intent, phase, outcome or state, and query.

Exits 1 if none exist.
"""

import argparse
from datetime import datetime
from typing import Any

from code_intel.cli.columns import cut
from code_intel.cli.output import emit
from code_intel.cli.project import add_project, project_of
from code_intel.session.journal import MAX_JOURNALS
from code_intel.session.listing import SessionSummary, list_sessions
from code_intel.session.story import plain
from code_intel.tools.context.gateway import sessions_of

MAX_SESSIONS_SHOWN = 20
_QUERY_COLUMNS = 60
_BROKEN = (
    "`code-intel session show` says why a session is broken. If all are, terminal and servers may "
    "use different state folders (CODE_INTEL_STATE_DIR)."
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--all", action="store_true", help=f"list all, not only the last {MAX_SESSIONS_SHOWN}"
    )
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """List the sessions; return 1 if none exist."""
    settings = project_of(args)
    paths = sessions_of(settings)
    most = MAX_JOURNALS if args.all else MAX_SESSIONS_SHOWN + 1
    found = list_sessions(paths, expire_hours=settings.session_hours, limit=most)
    shown = found if args.all else found[:MAX_SESSIONS_SHOWN]
    lines = [_line(one) for one in shown] or [
        "There are no sessions yet. An agent starts one with start_session."
    ]
    if any(one.state == "broken" for one in shown):
        lines.append(_BROKEN)
    if len(found) > len(shown):
        lines.append("There are more; --all lists them.")
    data = {"sessions": [_data(one) for one in shown], "truncated": len(found) > len(shown)}
    emit(args, data, "\n".join(lines))
    return 0 if shown else 1


def _data(one: SessionSummary) -> dict[str, Any]:
    return {
        **one._asdict(),
        "query": plain(one.query),
        "why": plain(one.why),
    }


def _ended(one: SessionSummary) -> str:
    return one.outcome or one.state


def _line(one: SessionSummary) -> str:
    used = datetime.fromisoformat(one.used_at).astimezone()
    said = plain(one.query) if one.intent else "its journal does not match its head"
    stands = f"{one.intent or '-':<12}{one.phase or '-':<13}{_ended(one):<9}"
    return f"{one.name}  {used:%Y-%m-%d %H:%M}  {stands}{cut(said, _QUERY_COLUMNS)}"
