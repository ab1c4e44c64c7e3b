"""Restore a file from the trash to its original location. Nothing is overwritten.

A restored agreement is confirmed only if the same content was confirmed on this machine, or is on
the main branch.

--json: `agreement_file`, `pair`, `dry_run`, `map_sync`.
"""

import argparse

from code_intel.cli.map.context import add_dry_run, print_answer
from code_intel.operations.map.trash import restore_trashed


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("name", help="the name from `map trash list`, or the end of it")
    add_dry_run(parser)


def run(args: argparse.Namespace) -> int:
    """Restore the file."""
    print_answer(args, lambda context: restore_trashed(context, args.name, dry=args.dry_run))
    return 0
