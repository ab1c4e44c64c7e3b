"""Show what is indexed, what is missing, and the status of agreements; write nothing.

In a project with a shared index, the server is asked, too.

--json: with a shared index, `shared` {url, repository, commit, error}: what the server has of the
project, or why it has nothing.
"""

import argparse
from pathlib import Path

from code_intel.cli.output import emit
from code_intel.config import find_root, load_settings
from code_intel.operations.status import project_status


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "project", nargs="?", help="the project (default: the one that contains this folder)"
    )


def run(args: argparse.Namespace) -> int:
    """Print the status."""
    settings = load_settings(find_root(Path(args.project).expanduser() if args.project else None))
    answer = project_status(settings)
    emit(args, answer.data, answer.text)
    return 0
