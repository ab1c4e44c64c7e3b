"""Execute a command and print its prompt, and nothing else, on stdout.

`describe` shows a command's options. Paths are relative to the current folder. --dry-run prints the
command line that would run, or the file that would be rendered, and does nothing. Exits with 1 if
there is no such command or it fails; stderr has the reason. `--json` prints the answer of the tool
`execute` with the complete prompt.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from code_intel.cli.commands.context import add_agent, add_name, run_with_commands
from code_intel.cli.output import emit
from code_intel.cli.project import add_project, as_project_path, project_of
from code_intel.errors import ExecutionError, UsageError
from code_intel.foundation.redaction import masked
from code_intel.foundation.text import visible

if TYPE_CHECKING:  # imported when a command is executed
    from code_intel.config import Settings

PATH_OPTIONS = ("file", "destination")
PROJECT_PATH_PHRASE = re.compile(r"relative to the project's root(?:, as answers name files)?")
"""How tools describe paths; those on the command line are relative to the current folder."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_name(parser)
    parser.add_argument("--edition", metavar="NAME", help="edition of the prompt")
    parser.add_argument("--adaptation", metavar="NAME", help="adaptation of the prompt")
    parser.add_argument("--file", metavar="PATH", help="the input file")
    parser.add_argument("--destination", metavar="PATH", help="where the result should be written")
    parser.add_argument("--stdin", metavar="TEXT", help="the input text; - reads standard input")
    parser.add_argument(
        "--uv", action="append", metavar="NAME=VALUE", help="a variable; may be repeated"
    )
    parser.add_argument("--dry-run", action="store_true", help="show what would run; do nothing")
    add_agent(parser)
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Execute the command, or print what it would do."""
    settings = project_of(args)
    options = _tool_options(args, settings)
    from code_intel.operations.commands import execute_command, plan_command

    work = plan_command if args.dry_run else execute_command
    names = (args.c1, args.c2, args.c3)
    with _with_flag_names():
        answer = run_with_commands(
            settings, lambda context: work(context, names, options, args.agent)
        )
    if not args.json:
        for note in answer.data.get("notes", ()):
            print(f"Note: {visible(masked(note))}", file=sys.stderr)
    emit(args, answer.data, answer.text)
    return 0


def _tool_options(args: argparse.Namespace, settings: "Settings") -> dict[str, str]:
    """Return the options, with the names that the tool uses.

    Raises:
        UsageError: A variable is not NAME=VALUE, or is given twice.
    """
    from code_intel.registry.options import MAX_INPUT_CHARS

    names = ("edition", "adaptation", *PATH_OPTIONS, "stdin")
    options = {name: value for name in names if (value := getattr(args, name)) is not None}
    for name in PATH_OPTIONS:
        if options.get(name):
            options[name] = as_project_path(settings.root, options[name])
    if options.get("stdin") == "-":
        options["stdin"] = sys.stdin.read(MAX_INPUT_CHARS + 1)  # too long for the tool
    for assignment in args.uv or ():
        name, equals, value = assignment.partition("=")
        if not equals or f"uv-{name}" in options:
            raise UsageError(
                f"--uv {assignment} is {'given twice' if equals else 'not NAME=VALUE'}.",
                hint="Give each variable once, as in --uv audience=users.",
                details={"field": "uv"},
            )
        options[f"uv-{name}"] = value
    return options


@contextmanager
def _with_flag_names() -> Iterator[None]:
    """Name options in errors `--edition`, not `options.edition`; print a program's stderr."""
    try:
        yield
    except UsageError as error:
        message, hint = (_name_flags(text) for text in (error.message, error.hint))
        raise UsageError(message, hint=hint, code=error.error, details=error.details) from error
    except ExecutionError as error:
        program_stderr = str(error.details.get("stderr", ""))
        if program_stderr and program_stderr not in error.message:
            print(visible(masked(program_stderr), keep="\n\t"), file=sys.stderr)
        raise


def _name_flags(text: str) -> str:
    text = PROJECT_PATH_PHRASE.sub("inside the project, relative to the current folder", text)
    return re.sub(r"\boptions\.(uv)?[-]?", lambda found: "--uv " if found[1] else "--", text)
