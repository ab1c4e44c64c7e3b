"""Remove a repository or one of its branches from the shared index, at once.

A removed branch is no longer found; `prune` removes what only it needed. The command exits with 1
if the repository or the branch does not exist.

--json: `repository`, `branches`: those that are removed, `dry_run`.
"""

import argparse
from typing import TYPE_CHECKING

from code_intel.cli.output import emit
from code_intel.cli.shared.engine import add_config, open_index
from code_intel.errors import NotFoundError

if TYPE_CHECKING:  # a slow import
    from code_intel.shared.milvus import SharedIndex


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("repository", help="the name of the repository, such as team/shop")
    parser.add_argument("--branch", metavar="NAME", help="remove only this branch")
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would be removed; remove nothing"
    )
    add_config(parser)


def run(args: argparse.Namespace) -> int:
    """Remove the repository or the branch."""
    with open_index(args) as index:
        branches = _branches(index, args.repository, args.branch)
        if args.dry_run:
            pass
        elif args.branch:
            index.delete_head(args.repository, args.branch)
        else:
            index.delete_repository(args.repository)
    data = {"repository": args.repository, "branches": branches, "dry_run": args.dry_run}
    head = "Would be removed" if args.dry_run else "Removed"
    shown = ", ".join(branches) or "it has no branch"
    of = "the branch of" if args.branch else "all of"
    emit(args, data, f"{head}: {of} {args.repository}: {shown}.")
    return 0


def _branches(index: "SharedIndex", repository: str, branch: str | None) -> list[str]:
    """Return the branches to remove.

    Raises:
        NotFoundError: There is no such repository or branch.
    """
    found = [head.branch for head in index.heads(repository.__eq__, [repository])]
    if branch and branch not in found:
        raise NotFoundError(
            f"The shared index has no branch {branch[:200]} of {repository[:200]}.",
            hint=f"It has: {', '.join(found[:20]) or 'none'}.",
            details={"field": "branch"},
        )
    if not found and not index.has_repository(repository):
        raise NotFoundError(
            f"The shared index has no repository {repository[:200]}.",
            hint="Check the name; the tool list_repositories shows all.",
            details={"field": "repository"},
        )
    return [branch] if branch else found
