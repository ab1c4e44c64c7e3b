"""Find the code to read for a task: short excerpts of the most relevant files, best first.

If you already have a failing test, a diff or a file that you are editing, name it. `--diff -` reads
a diff from standard input: `git diff | code-intel context --diff - "why is the total wrong"`.
"""

import argparse
import sys
from pathlib import Path

from code_intel.cli.output import emit
from code_intel.cli.project import add_project
from code_intel.cli.tool_call import ToolOption, add_options, run_tool
from code_intel.errors import UsageError
from code_intel.tools.search.context_bundle import context_bundle

CONTEXT_OPTIONS = (
    ToolOption("--failing-test", "artifacts.failing_tests", "TEST", "a test that fails"),
    ToolOption("--diff", "artifacts.last_diff", "FILE", "a unified diff; - reads standard input"),
    ToolOption("--editing", "artifacts.editing_path", "PATH", "a file being edited"),
    ToolOption("--hint", "artifacts.hints", "TEXT", "a symbol, word or file to look for"),
    ToolOption("--profile", "profile", "NAME"),
    ToolOption("--boost", "boost_profile", about="kind of file to rank higher"),
    ToolOption("--limit", "limit", "N", "number of files to show, at most 20"),
    ToolOption("--budget", "token_budget", "N", "number of tokens for all excerpts"),
    ToolOption("--compact", "compact", about="list locations only, without text"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("goal", nargs="+", help="what you want to do, in any language")
    add_options(parser, context_bundle, CONTEXT_OPTIONS)
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Print the excerpts; return 1 if nothing was found."""
    diff = getattr(args, "artifacts.last_diff")
    if diff:
        setattr(args, "artifacts.last_diff", _read_diff(diff))
    inputs = {"goal": " ".join(args.goal)}
    paths = ["artifacts.editing_path"]
    answer = run_tool(args, context_bundle, CONTEXT_OPTIONS, inputs, paths=paths)
    emit(args, answer.data, answer.text)
    return 0 if answer.data["files"] else 1


def _read_diff(source: str) -> str:
    """Return the diff that `--diff` names.

    Raises:
        UsageError: The file cannot be read.
    """
    if source == "-":
        return sys.stdin.read()
    try:
        return Path(source).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(
            f"{source[:200]} cannot be read: {error.strerror}.",
            hint="Name a file with a unified diff, or - for standard input.",
            details={"field": "diff"},
        ) from None
