"""List what waits for a person, oldest first, with the code. Exits with 1 if nothing waits.

An entry is an agreement or a note. It waits if it is unconfirmed, if the code of its symbol has
changed, if a person or sessions object to it, if another entry supersedes it, or if its file has a
merge conflict. For a changed symbol, the list also shows what the entry says. The word index of the
source is updated first.
"""

import argparse

from code_intel.cli.map.context import run_without_writing
from code_intel.cli.output import emit
from code_intel.cli.project import add_project, project_of
from code_intel.errors import UsageError
from code_intel.operations.map.review import DEFAULT_LIMIT, review
from code_intel.tools.context.gateway import run_in_thread


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--limit",
        type=int,
        default=DEFAULT_LIMIT,
        metavar="N",
        help=f"maximum entries (default: {DEFAULT_LIMIT})",
    )
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Print the list; return 1 if it is empty."""
    if args.limit < 1:
        raise UsageError("--limit must be at least 1.", details={"field": "limit"})
    answer = run_without_writing(
        project_of(args), lambda context: run_in_thread(review, context, args.limit)
    )
    emit(args, answer.data, answer.text)
    return 0 if answer.data["total"] else 1
