"""Revoke the approval of an upstream, or of both, for this project on this machine.

Running servers keep their connections until they end.

--json: `revoked` (the number of approvals), `dry_run`.
"""

import argparse

from code_intel.cli.output import emit
from code_intel.cli.project import add_project, project_of
from code_intel.config import UPSTREAMS
from code_intel.foundation.text import counted
from code_intel.operations.upstream_approvals import revoke


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "name", nargs="?", choices=UPSTREAMS, help=f"{' or '.join(UPSTREAMS)} (default: both)"
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would be revoked")
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Revoke the approvals."""
    settings = project_of(args)
    names = (args.name,) if args.name else UPSTREAMS
    revoked = revoke(settings, names, dry_run=args.dry_run)
    done = "Would revoke" if args.dry_run else "Revoked"
    text = f"{done} {counted(revoked, 'approval')} for {settings.root}."
    emit(args, {"revoked": revoked, "dry_run": args.dry_run}, text)
    return 0
