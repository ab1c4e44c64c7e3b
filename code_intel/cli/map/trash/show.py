"""Show the full text of a file in the trash.

--json: name, at, kind, was, says, text.
"""

import argparse

from code_intel.cli.output import emit
from code_intel.cli.project import add_project, project_of
from code_intel.operations.map.trash import show_trashed


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("name", help="the name from `map trash list`, or the end of it")
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Print the file."""
    answer = show_trashed(project_of(args), args.name)
    emit(args, answer.data, answer.text)
    return 0
