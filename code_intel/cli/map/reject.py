"""Mark an agreement as wrong, or as wrong for some words. Its file does not change.

With --query the agreement no longer matches these words. Without it, agents must verify the
agreement before they rely on it. A later success with it, or `code-intel map confirm`, removes the
mark.
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
    parser.add_argument("--query", metavar="WORDS", help="reject it for these words only")
    add_dry_run(parser)


MAX_REJECTED_QUERY_CHARS = 4000
"""The limit of the search tools."""


def _check(words: str) -> None:
    if not words.strip():
        raise UsageError("--query is empty.", details={"field": "query"})
    if len(words) > MAX_REJECTED_QUERY_CHARS:
        raise UsageError(
            f"--query has {counted(len(words), 'character')}; "
            f"the limit is {MAX_REJECTED_QUERY_CHARS}.",
            hint="Give the words of the search only.",
            details={"field": "query"},
        )


def run(args: argparse.Namespace) -> int:
    """Record the rejection."""
    settings, words = project_of(args), args.query
    if words is not None:
        _check(words)
    existing(look(settings.agreements), (args.term, args.symbol))
    if not args.dry_run:
        note(settings, (args.term, args.symbol), "rejected", words=words or "", detail="person")
    data = {
        "success": True,
        "pair": {"nl_term": args.term, "symbol": args.symbol},
        "query": words,
        "dry_run": args.dry_run,
    }
    head = "Would be rejected" if args.dry_run else "Rejected"
    what = f" for “{words}”" if words else ""
    effect = "It no longer matches these words." if words else "Agents must verify it before use."
    undo = f"To undo: `code-intel map confirm {shlex.join((args.term, args.symbol))}`."
    emit(args, data, f"{head}: {args.term} → {args.symbol}{what}. {effect} {undo}")
    return 0
