"""Add an agreement by hand: it is served at once, and unconfirmed never leads to READY."""

import argparse

from code_intel.cli.map_desk import at_desk
from code_intel.cli.output import emit
from code_intel.cli.project import add_project, project_of
from code_intel.tools.add_agreement import add_agreement


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("term", help="the words people use")
    parser.add_argument("symbol", help="the symbol they mean")
    parser.add_argument(
        "--evidence", required=True, metavar="TEXT", help="what in the code shows it"
    )
    parser.add_argument(
        "--file", action="append", default=[], metavar="PATH[:LINE]", help="a file it rests on"
    )
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Add it."""
    answer = at_desk(
        project_of(args),
        lambda desk: add_agreement(desk, args.term, args.symbol, args.evidence, args.file),
    )
    emit(args, answer.data, answer.text)
    return 0
