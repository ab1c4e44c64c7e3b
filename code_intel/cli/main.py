"""`code-intel`: the table of commands and the error boundary of the terminal.

Exit codes: 0 done, 1 a finding or nothing found where that is the question, 2 bad usage or
configuration, 3 unexpected. Only the module of the chosen command is imported.
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
    """Anything that is not one of ours: a defect."""

    code = "unexpected"
    remedy = "Please report it with what stderr says; `code-intel doctor` may help."
    exit_code = 3


class Command(NamedTuple):
    """One word of the command line; its module has `configure(parser)` and `run(args)`."""

    name: str
    module: str
    about: str


COMMANDS = (
    Command("init", "code_intel.cli.setup.init", "set a project up (or --remove it)"),
    Command("migrate", "code_intel.cli.migrate", "bring a project over from v3.7 or v3.8"),
    Command("serve", "code_intel.cli.serve", "run the gateway (stdio or HTTP)"),
    Command("search", "code_intel.cli.search", "ask the map first, then the forest"),
    Command("files", "code_intel.cli.files", "find files by the words in them"),
    Command("context", "code_intel.cli.context", "gather what to read for a goal"),
    Command("plan", "code_intel.cli.plan", "expect, search, compare, refine, until it is enough"),
    Command("plans", "code_intel.cli.plans", "list plans, tell the story of one, tidy up"),
    Command(
        "commands", "code_intel.cli.commands", "find, describe and execute prompt commands; serve"
    ),
    Command("rerank", "code_intel.cli.rerank", "order files by what they are about"),
    Command("deps", "code_intel.cli.deps", "what a file imports, and who imports it"),
    Command("snippets", "code_intel.cli.snippets", "read lines of a file, or a symbol"),
    Command("sync", "code_intel.cli.sync", "bring both indexes up to date"),
    Command("status", "code_intel.cli.status", "what is indexed, what is missing"),
    Command("doctor", "code_intel.cli.doctor", "check every invariant"),
    Command("map", "code_intel.cli.map", "list agreements, add or confirm one"),
    Command("session", "code_intel.cli.session", "list sessions, tell the story of one"),
    Command("stats", "code_intel.cli.stats", "how sessions ended"),
)


_NAMED = re.compile(r"argument (?:-\w/)?-*([\w-]+)|the following arguments are required: ([\w-]+)")
"""How argparse begins a complaint about one argument."""


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are errors of ours, so that one boundary tells them."""

    def error(self, message: str) -> NoReturn:  # type: ignore[explicit-override]  # typing.override needs 3.12
        """Refuse the line."""
        missing = "required" in message
        named = _NAMED.match(message)
        field = (named[1] or named[2]).replace("-", "_") if named else ""
        raise UsageError(
            f"{message[0].upper()}{message[1:]}.",
            code="missing_argument" if missing else None,
            hint=" ".join(self.format_usage().split()),
            details={"field": field} if field else {},
        )


def run() -> None:
    """Entry point of the console script."""
    speak_utf8()
    sys.exit(main(sys.argv[1:]))


def speak_utf8() -> None:
    """Read and write UTF-8 whatever the locale; what is no text comes in replaced, goes out escaped.

    Where the locale would take the names of files for something else, the program starts again without it.
    """
    if sys.getfilesystemencoding() != "utf-8" and not sys.flags.utf8_mode and sys.executable:
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606 - ourselves
    for stream, errors in ((sys.stdin, "replace"), (sys.stdout, "backslashreplace"),
                           (sys.stderr, "backslashreplace")):  # fmt: skip
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors)


def main(
    argv: Sequence[str], program: str = "code-intel", commands: Sequence[Command] = COMMANDS
) -> int:
    """Run one command line and return its exit code."""
    if not argv or argv[0] in {"-h", "--help"}:
        print(usage(program, commands))
        return 0 if argv else 2
    if argv[0] in {"-V", "--version"}:
        print(f"{program} {__version__}")
        return 0
    chosen = next((command for command in commands if command.name == argv[0]), None)
    if chosen is None:
        print(f"{program}: no command {argv[0]}\n{usage(program, commands)}", file=sys.stderr)
        return 2
    return dispatch(chosen, argv[1:], program)


def dispatch(command: Command, argv: Sequence[str], program: str) -> int:
    """Parse the rest of the line, run the command, turn errors into text and an exit code."""

    def work() -> int:
        args = parser_of(command, program).parse_args(argv)
        return int(importlib.import_module(command.module).run(args))

    def tell(error: CodeIntelError) -> None:
        if "--json" in argv:
            print(json.dumps(masked_data(error.as_dict()), ensure_ascii=False))

    return bounded(work, tell, program)


def bounded(work: Callable[[], int], tell: Callable[[CodeIntelError], None], program: str) -> int:
    """Run a command and return its exit code; the one place where the terminal learns of errors.

    Args:
        work: The command.
        tell: Puts an error on stdout, for programs.
        program: Whose name stands before messages on stderr.
    """
    try:
        return _somewhere(work)
    except CodeIntelError as error:
        tell(error)
        print(masked(f"{program}: {error.message}\n  {error.hint}"), file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print(f"{program}: stopped; what was done is kept.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The interpreter would complain when it flushes a pipe that nobody reads.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # noqa: TID251 - the null device
        return 0
    except Exception as error:  # noqa: BLE001 - the boundary
        tell(UnexpectedError(f"{type(error).__name__}: {error}"))
        traceback.print_exc()
        print(f"{program}: this is a defect, not your fault.", file=sys.stderr)
        return UnexpectedError.exit_code


def _somewhere(work: Callable[[], int]) -> int:
    """Run a command, and say so when it needs the folder it was called in, and that is gone.

    Raises:
        UsageError: It is.
    """
    try:
        return work()
    except FileNotFoundError as error:
        if error.filename is not None:
            raise
        raise UsageError(
            "The folder this was called in is gone.",
            hint="Call it in a folder that exists; a server is told its project by CODE_INTEL_ROOT.",
            details={"field": "project"},
        ) from error


def parser_of(command: Command, program: str) -> argparse.ArgumentParser:
    """Return the parser of one command; `--json` is everybody's."""
    module = importlib.import_module(command.module)
    parser = Parser(prog=f"{program} {command.name}", description=module.__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--json", action="store_true", help="answer with one JSON object")
    module.configure(parser)
    return parser


def usage(program: str, commands: Sequence[Command]) -> str:
    """Return the overview that `--help` prints."""
    width = max(len(command.name) for command in commands) + 2
    rows = "\n".join(f"  {command.name:<{width}}{command.about}" for command in commands)
    return (
        f"usage: {program} COMMAND [ARGUMENTS]\n\n{rows}\n\n"
        f"`{program} COMMAND --help` says more; --json everywhere; {program} {__version__}."
    )
