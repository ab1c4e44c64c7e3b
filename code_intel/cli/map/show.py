"""Show an agreement or a note in full: its content, its status with the reasons, and its use."""

import argparse

from code_intel.cli.map.context import print_answer
from code_intel.cli.project import add_project
from code_intel.operations.map.show import show
from code_intel.tools.context.gateway import run_in_thread


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "term", help="the agreement's term, an alias, a note's title, or a file name"
    )
    parser.add_argument("symbol", nargs="?", default="", help="its symbol, if the term has several")
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Print the agreement."""
    print_answer(args, lambda context: run_in_thread(show, context, args.term, args.symbol))
    return 0
