"""Add another project of this machine to the workspace.

It must be indexed: run `code-intel sync` there first. Its name is that of its git remote, such as
`team/shop`, or else that of its folder. Two checkouts of one repository have the same name: give
one of them another with `--name`.

--json: `project` {name, path, commit, own, index, files, notes}, `dry_run`.
"""

import argparse
from pathlib import Path

from code_intel.cli.output import emit
from code_intel.cli.project import add_project, project_of
from code_intel.cli.workspace.rows import row_data, row_text
from code_intel.operations import workspace


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("path", help="a folder of the other project")
    parser.add_argument("--name", default="", help="another name for it, such as team/shop")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be added")
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Add the project."""
    path = Path(args.path).expanduser()
    row = workspace.add_project(project_of(args), path, args.name, dry_run=args.dry_run)
    done = "Would add" if args.dry_run else "Added"
    emit(args, {"project": row_data(row), "dry_run": bool(args.dry_run)}, f"{done} {row_text(row)}")
    return 0
