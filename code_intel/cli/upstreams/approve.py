"""Approve an upstream: let servers of this project start or contact it on this machine.

The command shows the whole definition and what it does, and asks in a terminal. Elsewhere, it
approves only the definition whose digest you give: `--dry-run` shows it. Running servers use an
approved upstream after a restart. `code-intel upstreams revoke` withdraws the approval.

--json: `upstream` {name, approved, digest, definition, effects, problem}, `dry_run`.
"""

import argparse
import sys
from collections.abc import Sequence

from code_intel.cli.project import add_project, project_of
from code_intel.cli.upstreams.shown import proposal_data, proposal_lines, show
from code_intel.config import UPSTREAMS
from code_intel.config.upstream_approval import approve_command
from code_intel.errors import UsageError
from code_intel.foundation.text import visible
from code_intel.operations.upstream_approvals import approve, proposal

QUESTION = "Approve this definition for this project on this machine? [y/N] "


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("name", choices=UPSTREAMS, metavar="name", help=" or ".join(UPSTREAMS))
    parser.add_argument(
        "--digest",
        default="",
        help="approve without a question, if the definition has this digest",
    )
    parser.add_argument("--dry-run", action="store_true", help="only show what would be approved")
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Show the definition, and approve it if the user agrees."""
    settings = project_of(args)
    found = proposal(settings, args.name)
    lines = proposal_lines(found)
    if args.dry_run:
        command = approve_command(settings.root, found.name)
        lines.append(f"Nothing was approved. To approve it: {command} --digest {found.digest}")
    else:
        asks = not (args.digest or args.json) and sys.stdin.isatty() and sys.stderr.isatty()
        digest = _asked(found.digest, lines) if asks else _required(args)
        approve(settings, found.name, digest)
        found = found._replace(is_approved=True, problem="")
        lines = [] if asks else proposal_lines(found)
        lines.append(f"Approved {found.name} for {settings.root}. Restart its servers to use it.")
    show(args, {"upstream": proposal_data(found), "dry_run": args.dry_run}, lines)
    return 0


def _asked(digest: str, lines: Sequence[str]) -> str:
    """Show the definition, ask on stderr, and return its digest if the answer is yes."""
    sys.stderr.write("\n".join(map(visible, lines)) + f"\n{QUESTION}")
    sys.stderr.flush()
    if sys.stdin.readline().strip().casefold() not in {"y", "yes"}:
        raise UsageError("Nothing was approved.", hint="Answer `y` to approve the definition.")
    return digest


def _required(args: argparse.Namespace) -> str:
    if not args.digest:
        raise UsageError(
            "Nothing was approved: without a terminal, the digest of the definition is needed.",
            hint=f"See what it does: `code-intel upstreams approve {args.name} --dry-run`.",
            details={"field": "digest"},
        )
    return str(args.digest)
