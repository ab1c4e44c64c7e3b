"""List the files in the trash, oldest first, with their content. Exits with 1 if none exist.

--json: `trash` {name, at, kind, was, says}, `total`.
"""

import argparse

from code_intel.cli.output import emit
from code_intel.cli.project import add_project, project_of
from code_intel.operations.map.trash import list_trash


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Print the list; return 1 if it is empty."""
    answer = list_trash(project_of(args))
    emit(args, answer.data, answer.text)
    return 0 if answer.data["total"] else 1
