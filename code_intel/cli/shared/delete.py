"""Remove a repository from the shared index, at once. Exits with 1 if it does not exist.

--json: `repository`, `branches`: those that were removed, `dry_run`.
"""

import argparse

from code_intel.cli.output import emit
from code_intel.cli.shared.engine import add_config, open_index
from code_intel.errors import NotFoundError


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("repository", help="the name of the repository, such as team/shop")
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would be removed; remove nothing"
    )
    add_config(parser)


def run(args: argparse.Namespace) -> int:
    """Remove the repository."""
    with open_index(args) as index:
        branches = [head.branch for head in index.heads(args.repository.__eq__, [args.repository])]
        if not branches:
            raise NotFoundError(
                f"The shared index has no repository {args.repository[:200]}.",
                hint="Check the name; the tool list_repositories shows all.",
                details={"field": "repository"},
            )
        if not args.dry_run:
            index.delete_repository(args.repository)
    data = {"repository": args.repository, "branches": branches, "dry_run": args.dry_run}
    head = "Would be removed" if args.dry_run else "Removed"
    emit(args, data, f"{head}: {args.repository} with {', '.join(branches)}.")
    return 0
