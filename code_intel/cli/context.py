"""Gather what to read for a goal: short fragments of the files that matter, best first.

What is at hand helps: a failing test, the last diff, the file being edited. `--diff -` reads a diff from
standard input: `git diff | code-intel context --diff - "why is the total wrong"`.
"""

import argparse
import sys
from pathlib import Path
from typing import get_args

from code_intel.cli.output import emit
from code_intel.cli.project import add_project, project_of
from code_intel.cli.tool_call import call
from code_intel.errors import UsageError
from code_intel.forest.bundles.boosts import BoostProfile
from code_intel.tools.search.context_bundle import context_bundle
from code_intel.tools.wire.answers import BUDGET


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("goal", nargs="+", help="what you want to do, in any language")
    parser.add_argument(
        "--failing-test", action="append", default=[], metavar="TEST", help="a test that fails"
    )
    parser.add_argument("--diff", default="", metavar="FILE", help="a unified diff; - reads it")
    parser.add_argument(
        "--editing", action="append", default=[], metavar="PATH", help="a file being edited"
    )
    parser.add_argument(
        "--hint", action="append", default=[], metavar="TEXT", help="a symbol, word or file"
    )
    parser.add_argument(
        "--profile",
        default="default",
        help="default, bugfix, testfail, typeerror, feature, refactor",
    )
    parser.add_argument(
        "--boost",
        choices=get_args(BoostProfile),
        default="default",
        help="which kind of file stands in front: source (default), documents (docs), none",
    )
    parser.add_argument(
        "--limit", type=int, default=7, metavar="N", help="files shown, 20 at most (default 7)"
    )
    parser.add_argument(
        "--budget", type=int, default=BUDGET, metavar="N", help=f"tokens to fill (default {BUDGET})"
    )
    parser.add_argument("--compact", action="store_true", help="only where to look")
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Answer; 1 when nothing was found."""
    given = {
        "goal": " ".join(args.goal),
        "artifacts": {
            "failing_tests": args.failing_test,
            "last_diff": _diff(args.diff),
            "editing_path": args.editing,
            "hints": args.hint,
        },
        "profile": args.profile,
        "boost_profile": args.boost,
        "limit": args.limit,
        "token_budget": args.budget,
        "compact": args.compact,
    }
    answer = call(project_of(args), context_bundle, given)
    emit(args, answer.data, answer.text)
    return 0 if answer.data["files"] else 1


def _diff(source: str) -> str:
    """Return the diff that `--diff` names.

    Raises:
        UsageError: The file cannot be read.
    """
    if source in {"", "-"}:
        return sys.stdin.read() if source else ""
    try:
        return Path(source).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(
            f"{source[:200]} cannot be read: {error.strerror}.",
            hint="Give a file that holds a unified diff, or - for standard input.",
            details={"field": "diff"},
        ) from None
