"""Mark an agreement as wrong, in general or for one query. Its file does not change.

With --query, the agreement no longer matches this query. Without it, agents must verify the
agreement before they rely on it. A later success with the agreement, or `code-intel map confirm`,
removes the mark.
"""

import argparse

from code_intel.cli.map.context import add_dry_run
from code_intel.cli.output import emit
from code_intel.cli.project import project_of
from code_intel.operations.map.reject import reject


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("term", help="the agreement's term")
    parser.add_argument("symbol", help="the agreement's symbol")
    parser.add_argument("--query", metavar="WORDS", help="reject it for this query only")
    add_dry_run(parser)


def run(args: argparse.Namespace) -> int:
    """Record the rejection."""
    settings = project_of(args)
    answer = reject(settings, args.term, args.symbol, query=args.query, dry=args.dry_run)
    emit(args, answer.data, answer.text)
    return 0
