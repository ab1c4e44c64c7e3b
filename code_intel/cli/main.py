"""Run a `code-intel` command line, and turn errors into messages and exit codes.

Exit codes: 0 success, 1 a finding or nothing found, 2 wrong usage or configuration, 3 an unexpected
error. Only the module of the chosen command is imported.
"""

import argparse
import importlib
import io
import json
import os
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import NamedTuple, NoReturn

from code_intel import __version__
from code_intel.errors import CodeIntelError, UsageError
from code_intel.foundation.redaction import masked, masked_data


class UnexpectedError(CodeIntelError):
    """A defect of the program."""

    code = "unexpected"
    remedy = "Please report it with the output on stderr. `code-intel doctor` may help."
    exit_code = 3


class CliCommand(NamedTuple):
    """A command; its module defines `configure(parser)` and `run(args)`."""

    name: str
    module: str
    about: str


COMMANDS = (
    CliCommand("init", "code_intel.cli.setup.init", "set up a project, or undo the set-up"),
    CliCommand("migrate", "code_intel.cli.migrate", "migrate a project from v3.7, v3.8 or later"),
    CliCommand("serve", "code_intel.cli.serve", "run the gateway on stdio or HTTP"),
    CliCommand(
        "search", "code_intel.cli.search", "search the map (agreements), then the forest (source)"
    ),
    CliCommand("files", "code_intel.cli.files", "find files by the words in them"),
    CliCommand("context", "code_intel.cli.context", "find the code to read for a task"),
    CliCommand("plan", "code_intel.cli.plan", "search in several steps against expectations"),
    CliCommand("plans", "code_intel.cli.plans", "list, show or remove stored plans"),
    CliCommand(
        "commands", "code_intel.cli.commands", "find, describe, execute or serve prompt commands"
    ),
    CliCommand("rerank", "code_intel.cli.rerank", "order files by similarity to a question"),
    CliCommand("deps", "code_intel.cli.deps", "show what a file imports, or what imports it"),
    CliCommand("snippets", "code_intel.cli.snippets", "show lines of a file, or a symbol"),
    CliCommand("sync", "code_intel.cli.sync", "update both indexes"),
    CliCommand("status", "code_intel.cli.status", "show what is indexed and what is missing"),
    CliCommand("doctor", "code_intel.cli.doctor", "check the installation and the project"),
    CliCommand("calibrate", "code_intel.cli.calibrate", "fit the map's score for another model"),
    CliCommand("map", "code_intel.cli.map", "list, add, confirm and check agreements"),
    CliCommand("session", "code_intel.cli.session", "list sessions, or show one"),
    CliCommand("stats", "code_intel.cli.stats", "show how sessions ended"),
    CliCommand("hook", "code_intel.cli.hook.command", "answer an event of a client's hook"),
    CliCommand(
        "completion", "code_intel.cli.completion", "print a script that completes words in a shell"
    ),
)


_ARGUMENT_NAME = re.compile(
    r"argument (?:-\w/)?-*([\w-]+)|the following arguments are required: ([\w-]+)"
)
"""Matches the beginning of argparse's messages about one argument."""


class Parser(argparse.ArgumentParser):
    """A parser that raises `UsageError`, so that all errors are printed in one place."""

    # typing.override needs 3.12.
    def error(self, message: str) -> NoReturn:  # type: ignore[explicit-override]
        """Raise a `UsageError`, which names the argument if the message does."""
        is_missing = "required" in message
        match = _ARGUMENT_NAME.match(message)
        field = (match[1] or match[2]).replace("-", "_") if match else ""
        raise UsageError(
            f"{message[0].upper()}{message[1:]}.",
            code="missing_argument" if is_missing else None,
            hint=" ".join(self.format_usage().split()),
            details={"field": field} if field else {},
        )


def run() -> None:
    """Entry point of the console script."""
    use_utf8()
    sys.exit(main(sys.argv[1:]))


def use_utf8() -> None:
    """Read and write UTF-8 in every locale.

    Invalid input is replaced, and output that cannot be encoded is escaped. If the locale would
    decode file names differently, the program restarts itself in UTF-8 mode.
    """
    if sys.getfilesystemencoding() != "utf-8" and not sys.flags.utf8_mode and sys.executable:
        argv = [sys.executable, "-X", "utf8", *sys.orig_argv[1:]]
        os.execv(sys.executable, argv)  # noqa: S606 - this program
    for stream, errors in ((sys.stdin, "replace"), (sys.stdout, "backslashreplace"),
                           (sys.stderr, "backslashreplace")):  # fmt: skip
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors)


def main(
    argv: Sequence[str], program: str = "code-intel", commands: Sequence[CliCommand] = COMMANDS
) -> int:
    """Run one command line and return its exit code."""
    if not argv or argv[0] in {"-h", "--help"}:
        print(usage(program, commands))
        return 0 if argv else 2
    if argv[0] in {"-V", "--version"}:
        print(f"{program} {__version__}")
        return 0
    command = next((each for each in commands if each.name == argv[0]), None)
    if command is None:
        print(f"{program}: no command {argv[0]}\n{usage(program, commands)}", file=sys.stderr)
        return 2
    return dispatch(command, argv[1:], program)


def dispatch(command: CliCommand, argv: Sequence[str], program: str) -> int:
    """Parse the arguments, run the command, and turn errors into messages and an exit code."""

    def work() -> int:
        args = parser_of(command, program).parse_args(argv)
        return int(importlib.import_module(command.module).run(args))

    def report(error: CodeIntelError) -> None:
        if "--json" in argv:
            print(json.dumps(masked_data(error.as_dict()), ensure_ascii=False))

    return handle_errors(work, report, program)


def handle_errors(
    work: Callable[[], int], report: Callable[[CodeIntelError], None], program: str
) -> int:
    """Run a command and return its exit code; print its errors.

    Args:
        work: Runs the command.
        report: Prints an error as JSON on stdout.
        program: The prefix of messages on stderr.
    """
    try:
        return _require_current_folder(work)
    except CodeIntelError as error:
        report(error)
        print(masked(f"{program}: {error.message}\n  {error.hint}"), file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print(f"{program}: stopped. Completed work was kept.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # Otherwise the interpreter prints an error when it flushes the closed pipe.
        null_device = os.open(os.devnull, os.O_WRONLY)  # noqa: TID251 - the null device
        os.dup2(null_device, sys.stdout.fileno())
        return 0
    except Exception as error:  # noqa: BLE001 - the boundary
        report(UnexpectedError(f"{type(error).__name__}: {error}"))
        traceback.print_exc()
        print(f"{program}: this is a defect in the program, not your mistake.", file=sys.stderr)
        return UnexpectedError.exit_code


def _require_current_folder(work: Callable[[], int]) -> int:
    """Run a command.

    Raises:
        UsageError: The command needs the current folder, which no longer exists.
    """
    try:
        return work()
    except FileNotFoundError as error:
        if error.filename is not None:
            raise
        raise UsageError(
            "The current folder no longer exists.",
            hint="Change to an existing folder. A server takes its project from CODE_INTEL_ROOT.",
            details={"field": "project"},
        ) from error


def parser_of(command: CliCommand, program: str) -> argparse.ArgumentParser:
    """Return the parser of one command; every command has `--json`."""
    module = importlib.import_module(command.module)
    parser = Parser(prog=f"{program} {command.name}", description=module.__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    module.configure(parser)
    return parser


def usage(program: str, commands: Sequence[CliCommand]) -> str:
    """Return the overview that `--help` prints."""
    width = max(len(command.name) for command in commands) + 2
    rows = "\n".join(f"  {command.name:<{width}}{command.about}" for command in commands)
    return (
        f"usage: {program} COMMAND [ARGUMENTS]\n\n{rows}\n\n"
        f"`{program} COMMAND --help` shows its options. Every command has --json.\n"
        f"{program} {__version__}"
    )
