"""List sessions, the last used first: what for, in which phase, how it ended, or else whether it is still open.

Exits 1 when there is none.
"""

import argparse
from datetime import datetime
from typing import Any

from code_intel.cli.columns import cut
from code_intel.cli.output import emit
from code_intel.cli.project import add_project, project_of
from code_intel.session.journal import MAX_JOURNALS
from code_intel.session.listing import Listed, list_sessions
from code_intel.session.story import plain
from code_intel.tools.desk import sessions_of

SHOWN = 20
_QUERY_COLUMNS = 60
_BROKEN = (
    "What is wrong with a broken one: code-intel session show. Where all are, terminal and servers may have "
    "been told different state folders (CODE_INTEL_STATE_DIR)."
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--all", action="store_true", help=f"all of them, not only the last {SHOWN}"
    )
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """List; 1 when there is nothing."""
    settings = project_of(args)
    place = sessions_of(settings)
    most = MAX_JOURNALS if args.all else SHOWN + 1
    found = list_sessions(place, expire_hours=settings.session_hours, most=most)
    shown = found if args.all else found[:SHOWN]
    lines = [_line(one) for one in shown] or [
        "No sessions yet; an agent begins one with start_session."
    ]
    if any(one.state == "broken" for one in shown):
        lines.append(_BROKEN)
    if len(found) > len(shown):
        lines.append("There are more: --all lists them.")
    data = {"sessions": [_data(one) for one in shown], "truncated": len(found) > len(shown)}
    emit(args, data, "\n".join(lines))
    return 0 if shown else 1


def _data(one: Listed) -> dict[str, Any]:
    return {
        **one._asdict(),
        "query": plain(one.query),
        "why": plain(one.why),
    }


def _ended(one: Listed) -> str:
    return one.outcome or one.state


def _line(one: Listed) -> str:
    used = datetime.fromisoformat(one.used_at).astimezone()
    said = plain(one.query) if one.intent else "its journal is not what was acknowledged"
    stands = f"{one.intent or '-':<12}{one.phase or '-':<13}{_ended(one):<9}"
    return f"{one.name}  {used:%Y-%m-%d %H:%M}  {stands}{cut(said, _QUERY_COLUMNS)}"
