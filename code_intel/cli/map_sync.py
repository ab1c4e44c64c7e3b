"""Bring learned_pairs.json and the agreements together, then the map's index up to date: words and vectors.

Edits of either side are honoured; what was deleted on one goes to the trash on the other. Says what was done, what
waits for people, and which files cannot be read. Every question does the same by itself.

--json: `actions` {nl_term, symbol, action}, `unreadable` {file, problem, reason}, `notes`, `agreements`, `dry_run`, `map_sync`.
"""

import argparse
from typing import Any

from code_intel.chunking.agreement_body import encodable
from code_intel.cli.map_context import refresh_whole_map, run_in_project
from code_intel.cli.output import emit
from code_intel.cli.project import add_project, project_of
from code_intel.learned import agreements
from code_intel.learned.reconcile import planned, reconcile
from code_intel.text import counted, visible
from code_intel.tools.declaration import Answer
from code_intel.tools.desk import Desk, thread
from code_intel.tools.freshen import DRY_RUN

ACTIONS = {
    "write_pair": "pair written from its agreement",
    "write_agreement": "agreement written from its pair",
    "unite": "pair and agreement united",
    "trash_pair": "pair to the trash: its agreement is gone",
    "trash_agreement": "agreement to the trash: its pair is gone",
    "forget": "both are gone",
    "wait": "waits: its file cannot be read or written, or most went at once",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--dry-run", action="store_true", help="say what would be, write nothing")
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Bring everything together; 0 also when something waits."""
    answer = run_in_project(
        project_of(args), lambda desk: _sync(desk, dry=args.dry_run), readonly=args.dry_run
    )
    emit(args, answer.data, answer.text)
    return 0


async def _sync(desk: Desk, *, dry: bool) -> Answer:
    report = await thread(planned if dry else reconcile, desk.settings)
    map_sync = DRY_RUN if dry else await refresh_whole_map(desk, words_only=False)
    entries = await thread(agreements.load_all, desk.settings.agreements)
    rows: list[dict[str, Any]] = [
        {"nl_term": term, "symbol": symbol, "action": action}
        for (term, symbol), action in report.actions.items()
    ]
    unreadable = [
        {"file": encodable(entry.path.name), "problem": entry.problem, "reason": entry.reason}
        for entry in entries
        if entry.agreement is None
    ]
    readable = len(entries) - len(unreadable)
    data = {
        "actions": rows,
        "unreadable": unreadable,
        "notes": list(report.notes),
        "agreements": readable,
        "dry_run": dry,
        **map_sync.data,
    }
    lines = [f"{row['nl_term']} → {row['symbol']}: {ACTIONS[row['action']]}" for row in rows]
    lines += [f"{visible(row['file'])}: {row['problem']}: {row['reason']}" for row in unreadable]
    if report.held:
        lines.append("If they are meant to be gone: `code-intel map rebuild`.")
    waiting = sum(row["action"] == "wait" for row in rows)
    done = f"{len(rows) - waiting} {'to bring' if dry else 'brought'} together"
    wait = f", {waiting} waiting" if waiting else ""
    lines += [*report.notes, f"{counted(readable, 'agreement')}; {done}{wait}."]
    if not dry:
        lines.append(f"The map's index: {map_sync.state}. {map_sync.reason}".rstrip())
    return Answer(data, "\n".join(lines))
