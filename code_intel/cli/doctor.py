"""Check configurations, databases, agreements, sessions, hooks and command registries.

Also asks the server of a shared index whether it accepts the token and has the repository. Prints
each finding with its remedy, and changes nothing. Exits with 1 if something does not work.
"""

import argparse
from pathlib import Path

from code_intel.cli.output import emit
from code_intel.config import find_root, load_settings
from code_intel.operations.doctor import examine_project


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "project", nargs="?", help="the project (default: the one that contains this folder)"
    )


def run(args: argparse.Namespace) -> int:
    """Print every finding; return 1 if one is an error."""
    settings = load_settings(find_root(Path(args.project).expanduser() if args.project else None))
    answer = examine_project(settings)
    emit(args, answer.data, answer.text)
    return 0 if answer.data["ok"] else 1
