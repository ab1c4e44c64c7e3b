"""Mark an agreement as wrong, in general or for one query. Its file does not change.

With --query, the agreement no longer matches this query. Without it, agents must verify the
agreement before they rely on it. A later success with the agreement, or `code-intel map confirm`,
removes the mark.
"""

import argparse
import shlex

from code_intel.cli.map.context import add_dry_run
from code_intel.cli.output import emit
from code_intel.cli.project import project_of
from code_intel.errors import UsageError
from code_intel.foundation.text import counted
from code_intel.learned.files.agreements import existing, look
from code_intel.learned.history.feedback import note


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("term", help="the agreement's term")
    parser.add_argument("symbol", help="the agreement's symbol")
    parser.add_argument("--query", metavar="WORDS", help="reject it for this query only")
    add_dry_run(parser)


MAX_REJECTED_QUERY_CHARS = 4000
"""As in the search tools."""


def _require_query(query: str) -> None:
    if not query.strip():
        raise UsageError("--query is empty.", details={"field": "query"})
    if len(query) > MAX_REJECTED_QUERY_CHARS:
        raise UsageError(
            f"--query has {counted(len(query), 'character')}; "
            f"the limit is {MAX_REJECTED_QUERY_CHARS}.",
            hint="Give only the query of the search.",
            details={"field": "query"},
        )


def run(args: argparse.Namespace) -> int:
    """Record the rejection."""
    settings, query = project_of(args), args.query
    if query is not None:
        _require_query(query)
    existing(look(settings.agreements), (args.term, args.symbol))
    if not args.dry_run:
        note(settings, (args.term, args.symbol), "rejected", words=query or "", detail="person")
    data = {
        "success": True,
        "pair": {"nl_term": args.term, "symbol": args.symbol},
        "query": query,
        "dry_run": args.dry_run,
    }
    head = "Would be rejected" if args.dry_run else "Rejected"
    what = f" for “{query}”" if query else ""
    effect = "It no longer matches this query." if query else "Agents must verify it before use."
    undo = f"To undo: `code-intel map confirm {shlex.join((args.term, args.symbol))}`."
    emit(args, data, f"{head}: {args.term} → {args.symbol}{what}. {effect} {undo}")
    return 0
