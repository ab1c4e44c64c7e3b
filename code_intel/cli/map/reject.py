"""Say that an agreement is wrong, or wrong for some words; nothing of its file is changed.

With --query these words no longer lead to it; without, it answers nobody unverified. A later success with
it takes that back, and so does `code-intel map confirm`.
"""

import argparse
import shlex

from code_intel.cli.output import emit
from code_intel.cli.project import add_project, project_of
from code_intel.errors import UsageError
from code_intel.foundation.text import counted
from code_intel.learned.files.agreements import existing, look
from code_intel.learned.history.feedback import note


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("term", help="its term")
    parser.add_argument("symbol", help="its symbol")
    parser.add_argument("--query", metavar="WORDS", help="only when it is asked for in these words")
    parser.add_argument("--dry-run", action="store_true", help="say what would be, write nothing")
    add_project(parser)


MOST = 4000
"""Characters of a question, as the tools take them."""


def _check(words: str) -> None:
    if not words.strip():
        raise UsageError("--query is empty.", details={"field": "query"})
    if len(words) > MOST:
        raise UsageError(
            f"--query has {counted(len(words), 'character')}; at most {MOST} are asked.",
            hint="Give the words that it was asked for with.",
            details={"field": "query"},
        )


def run(args: argparse.Namespace) -> int:
    """Reject it."""
    settings, words = project_of(args), args.query
    if words is not None:
        _check(words)
    existing(look(settings.agreements), (args.term, args.symbol))
    if not args.dry_run:
        note(settings, (args.term, args.symbol), "rejected", words=words or "", detail="person")
    what = (
        f"for “{words}”: these words lead there no more"
        if words
        else "and answers nobody unverified"
    )
    data = {
        "success": True,
        "pair": {"nl_term": args.term, "symbol": args.symbol},
        "query": words,
        "dry_run": args.dry_run,
    }
    head = "Would be rejected" if args.dry_run else "Rejected"
    back = f"`code-intel map confirm {shlex.join((args.term, args.symbol))}` takes it back."
    emit(args, data, f"{head}: {args.term} → {args.symbol} {what}. {back}")
    return 0
