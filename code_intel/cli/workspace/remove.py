"""Remove a project from the workspace. Nothing in the project itself is changed.

--json: `name`, `path`, `dry_run`.
"""

import argparse

from code_intel.cli.output import emit
from code_intel.cli.project import add_project, project_of
from code_intel.foundation.text import visible
from code_intel.operations import workspace


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("path", help="its name or its folder, which need not exist any more")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be removed")
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Remove the project."""
    entry = workspace.remove_project(project_of(args), args.path, dry_run=args.dry_run)
    done = "Would remove" if args.dry_run else "Removed"
    data = {"name": entry.name, "path": str(entry.root), "dry_run": bool(args.dry_run)}
    emit(args, data, visible(f"{done} {entry.name}  {entry.root}"))
    return 0
