"""Execute a command and print its prompt, and nothing else, on stdout.

`describe` shows a command's options. Paths are relative to the current folder. --dry-run prints the
command line that would run, or the file that would be rendered, and does nothing. --for says what
the command is used for; later searches for something similar rank it higher. Exits 1 if there is no
such command or it fails; stderr has the reason. --json prints the answer of the tool `execute` with
the whole prompt.
"""

import argparse
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from code_intel.cli.commands.context import add_agent, add_name, run_with_commands
from code_intel.cli.output import emit
from code_intel.cli.project import add_project, as_project_says, project_of
from code_intel.errors import ExecutionError, UsageError
from code_intel.foundation.redaction import masked
from code_intel.foundation.text import visible

if TYPE_CHECKING:  # imported when a command is executed
    from code_intel.config import Settings
    from code_intel.tools.context.commands import CommandContext
    from code_intel.tools.declaration import Answer

PATHS = ("file", "destination")
PROJECT_PATH_PHRASE = re.compile(r"relative to the project's root(?:, as answers name files)?")
"""How a tool describes paths; in a terminal they are relative to the current folder."""


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
    parser.add_argument(
        "--for", dest="feature", metavar="TEXT", help="what the command is used for"
    )
    parser.add_argument("--dry-run", action="store_true", help="show what would run; do nothing")
    add_agent(parser)
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Execute the command, or print what would be done."""
    settings = project_of(args)
    given = _options(args, settings)
    with _in_terminal():
        answer = run_with_commands(settings, lambda context: _answered(context, args, given))
    if not args.json:
        for note in answer.data.get("notes", ()):
            print(f"Note: {visible(masked(note))}", file=sys.stderr)
    emit(args, answer.data, answer.text)
    return 0


def _options(args: argparse.Namespace, settings: "Settings") -> dict[str, str]:
    """Return the options under the tool's names.

    Raises:
        UsageError: A variable is not NAME=VALUE, or is given twice.
    """
    from code_intel.registry.options import MAX_INPUT_CHARS

    given = {name: getattr(args, name) for name in ("edition", "adaptation", *PATHS, "stdin")}
    given = {name: value for name, value in given.items() if value is not None}
    for name in PATHS:
        if given.get(name):
            given[name] = as_project_says(settings.root, given[name])
    if given.get("stdin") == "-":
        given["stdin"] = sys.stdin.read(MAX_INPUT_CHARS + 1)  # the tool refuses one too many
    for assignment in args.uv or ():
        name, equals, value = assignment.partition("=")
        if not equals or f"uv-{name}" in given:
            raise UsageError(
                f"--uv {assignment} is {'given twice' if equals else 'not NAME=VALUE'}.",
                hint="Give each variable once, as in --uv audience=users.",
                details={"field": "uv"},
            )
        given[f"uv-{name}"] = value
    return given


async def _answered(
    context: "CommandContext", args: argparse.Namespace, given: dict[str, str]
) -> "Answer":
    """Execute the command, or plan it; return the whole prompt.

    Raises:
        CodeIntelError: As the tool `execute` raises it.
    """
    from code_intel.registry import execution
    from code_intel.tools.commands.command_execute import chosen, data_of
    from code_intel.tools.context.gateway import run_in_thread
    from code_intel.tools.declaration import Answer

    loaded, command = await chosen(context, args.agent, args.c1, args.c2, args.c3)
    path = loaded.registry.path
    if args.dry_run:
        plan = await run_in_thread(execution.planned, context.settings, path, command, given)
        data: dict[str, Any] = {**command.key._asdict(), "runner": plan.runner, "dry_run": True}
        data |= {"argv": list(plan.argv)} if plan.argv else {"file": plan.prompt}
        return Answer(data, shlex.join(plan.argv) or plan.prompt)
    done = await execution.execute(context.settings, path, command, given, report=context.report)
    data, notes = data_of(command, done), list(done.notes)
    if args.feature:
        if await run_in_thread(context.experience.note, command.key, args.feature):
            data["noted_for"] = args.feature
        else:
            notes.append("The purpose (--for) could not be stored.")
    if notes:
        data["notes"] = notes
    return Answer(data, done.prompt.removesuffix("\n"))


@contextmanager
def _in_terminal() -> Iterator[None]:
    """Name options in errors as `--edition`, not `options.edition`; print a program's stderr."""
    try:
        yield
    except UsageError as error:
        message, hint = (_in_flags(text) for text in (error.message, error.hint))
        raise UsageError(message, hint=hint, code=error.error, details=error.details) from error
    except ExecutionError as error:
        program_stderr = str(error.details.get("stderr", ""))
        if program_stderr and program_stderr not in error.message:
            print(visible(masked(program_stderr), keep="\n\t"), file=sys.stderr)
        raise


def _in_flags(text: str) -> str:
    text = PROJECT_PATH_PHRASE.sub("inside the project, relative to the current folder", text)
    return re.sub(r"\boptions\.(uv)?[-]?", lambda found: "--uv " if found[1] else "--", text)
