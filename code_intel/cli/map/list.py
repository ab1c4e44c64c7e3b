"""List the agreements and notes with their status and its reasons. Exits with 1 if none match.

Notes are conventions, decisions and warnings. Agreements of one term are one feature.

Drafts are listed last: what sessions changed that recorded no outcome. They are not agreements
until `code-intel map confirm` writes their files.
"""

import argparse
from typing import get_args

from code_intel.cli.map.context import print_answer
from code_intel.cli.project import add_project
from code_intel.operations.map.entries import Filter, entries
from code_intel.operations.map.notes import KINDS
from code_intel.records import Validity


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--kind", choices=KINDS, default="", help="only this kind")
    parser.add_argument(
        "--status", choices=get_args(Validity), default="", help="only with this status"
    )
    parser.add_argument(
        "--term", default="", metavar="TEXT", help="only terms and titles that contain this text"
    )
    parser.add_argument(
        "--symbol", default="", metavar="TEXT", help="only symbols that contain this text"
    )
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Print the list; return 1 if it is empty."""
    wanted = Filter(args.kind, args.status, args.term, args.symbol)
    answer = print_answer(args, lambda context: entries(context, wanted))
    found = (answer.data[name] for name in ("agreements", "notes", "drafts"))
    return 0 if any(found) else 1
