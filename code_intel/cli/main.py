"""Run a `code-intel` command line, and turn errors into messages and exit codes.

Exit codes: 0 success, 1 a finding or nothing found, 2 wrong usage or configuration, 3 an unexpected
error. Only the module of the chosen command is imported.
"""

import argparse
import errno
import gc
import importlib
import io
import json
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, NoReturn

from code_intel import __version__
from code_intel.errors import CodeIntelError, StorageError, UsageError
from code_intel.foundation.math_threads import limit_math_threads
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
    CliCommand("defs", "code_intel.cli.code.defs", "find where a symbol is defined"),
    CliCommand("refs", "code_intel.cli.code.refs", "find where a symbol is used"),
    CliCommand("grep", "code_intel.cli.code.grep", "find the lines that match a pattern"),
    CliCommand("deps", "code_intel.cli.code.deps", "show what a file imports, or what imports it"),
    CliCommand("snippets", "code_intel.cli.code.snippets", "show lines of a file, or a symbol"),
    CliCommand("sync", "code_intel.cli.sync", "update both indexes"),
    CliCommand(
        "snapshot", "code_intel.cli.snapshot", "write vectors to a file, or load them in a clone"
    ),
    CliCommand("push", "code_intel.cli.push", "push the index of a commit to the shared index"),
    CliCommand(
        "workspace", "code_intel.cli.workspace", "choose other projects that searches include"
    ),
    CliCommand(
        "upstreams", "code_intel.cli.upstreams", "approve servers that config.toml proposes"
    ),
    CliCommand("status", "code_intel.cli.status", "show what is indexed and what is missing"),
    CliCommand("doctor", "code_intel.cli.doctor", "check the installation and the project"),
    CliCommand("calibrate", "code_intel.cli.calibrate", "fit the map's score for another model"),
    CliCommand("map", "code_intel.cli.map", "list, add, confirm and check agreements"),
    CliCommand("session", "code_intel.cli.session", "list sessions, or show one"),
    CliCommand("stats", "code_intel.cli.stats", "show how sessions ended"),
    CliCommand("ui", "code_intel.cli.ui", "serve a page to look at the project in a browser"),
    CliCommand(
        "serve-shared", "code_intel.cli.serve_shared", "serve the shared index of many repositories"
    ),
    CliCommand("shared", "code_intel.cli.shared", "manage tokens and data of `serve-shared`"),
    CliCommand("hook", "code_intel.cli.hook.command", "answer an event of a client's hook"),
    CliCommand(
        "completion", "code_intel.cli.completion", "print a script that completes words in a shell"
    ),
)


_ARGUMENT_NAME = re.compile(
    r"argument (?:-\w/)?-*([\w-]+)|the following arguments are required: -*([\w-]+)"
)
"""Matches the beginning of argparse's messages about one argument."""
_INVALID_CHOICE = re.compile(r"invalid choice: '(.*)' \(choose from (.*)\)$", re.DOTALL)
_UNKNOWN_OPTION = re.compile(r"unrecognized arguments: (-[^\s=]+)")
_CANNOT_WRITE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EPIPE})
"""Errors of an output that accepts no more text."""


class Parser(argparse.ArgumentParser):
    """A parser that raises `UsageError`, so that all errors are printed in one place."""

    is_mixed = False

    # typing.override needs 3.12.
    def parse_args(  # type: ignore[explicit-override, override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        """Parse the arguments; options may stand between words.

        argparse does not support this for subcommands, nor beside `--`.
        """
        if self._subparsers is not None or "--" in (args or ()):
            return super().parse_args(args, namespace)
        self.is_mixed = True
        return self.parse_intermixed_args(args, namespace)

    def parse_known_args(  # type: ignore[explicit-override, override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse the arguments; a subcommand refuses unknown ones, because it knows its options."""
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown and not self.is_mixed:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return parsed, unknown

    def print_help(self, file: Any = None) -> None:  # type: ignore[explicit-override]
        """Print the help. Unlike argparse's, this fails if the output cannot be written."""
        print(self.format_help(), end="", file=file)

    def error(self, message: str) -> NoReturn:  # type: ignore[explicit-override]
        """Raise a `UsageError`, which names the argument if the message does."""
        is_missing = "required" in message
        meant = ""
        if choice := _INVALID_CHOICE.search(message):
            meant = did_you_mean(choice[1], re.findall(r"[^\s',]+", choice[2]))
        elif option := _UNKNOWN_OPTION.match(message):
            meant = did_you_mean(option[1], self._option_string_actions)
        match = _ARGUMENT_NAME.match(message)
        field = (match[1] or match[2]).replace("-", "_") if match else ""
        raise UsageError(
            f"{message[0].upper()}{message[1:]}.{meant}",
            code="missing_argument" if is_missing else None,
            hint=" ".join(self.format_usage().split()),
            details={"field": field} if field else {},
        )


def run() -> None:
    """Entry point of the console script."""
    use_utf8()
    limit_math_threads()
    if sys.argv[1:2] == ["search"] and "-" not in sys.argv:
        gc.disable()  # a process that ends after one answer needs no collection
    sys.exit(main(sys.argv[1:]))


def use_utf8() -> None:
    """Read and write UTF-8 in every locale.

    Invalid input is replaced, and output that cannot be encoded is escaped. If the locale would
    decode file names differently, the program restarts itself in UTF-8 mode. The null device takes
    the place of a closed stdout or stderr.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            null_device = os.open(os.devnull, os.O_WRONLY)  # noqa: TID251 - the null device
            setattr(sys, name, os.fdopen(null_device, "w", encoding="utf-8"))
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

    def work() -> int:
        return _run_line(_without_help(argv), program, commands)

    def report(error: CodeIntelError) -> None:
        if "--json" in argv:
            print(json.dumps(masked_data(error.as_dict()), ensure_ascii=False))

    return handle_errors(work, report, program)


def _without_help(argv: Sequence[str]) -> Sequence[str]:
    """Return the command line with `help COMMAND` as `COMMAND --help`."""
    return [*argv[1:], "--help"] if argv and argv[0] == "help" else argv


def _run_line(argv: Sequence[str], program: str, commands: Sequence[CliCommand]) -> int:
    """Run one command line and return its exit code.

    Raises:
        UsageError: There is no such command, or its arguments are wrong.
    """
    if not argv or argv[0] in {"-h", "--help"}:
        print(usage(program, commands))
        return 0 if argv else 2
    if argv[0] in {"-V", "--version"}:
        print(f"{program} {__version__}")
        return 0
    command = next((each for each in commands if each.name == argv[0]), None)
    if command is None:
        meant = did_you_mean(argv[0], [each.name for each in commands])
        raise UsageError(
            f"There is no command {argv[0][:200]}.{meant}",
            hint=f"`{program} help` lists the commands.",
            details={"field": "command"},
        )
    args = parser_of(command, program).parse_args(argv[1:])
    return int(importlib.import_module(command.module).run(args))


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a question that names the known word most like `word`, or an empty text."""
    from difflib import get_close_matches

    found = get_close_matches(word, list(known), n=1)
    return f" Did you mean {found[0]}?" if found else ""


def handle_errors(
    work: Callable[[], int], report: Callable[[CodeIntelError], None], program: str
) -> int:
    """Run a command and return its exit code; print its errors.

    A closed pipe ends the command with success: its reader has seen enough.

    Args:
        work: Runs the command.
        report: Prints an error as JSON on stdout.
        program: The prefix of messages on stderr.
    """
    try:
        code = _exit_code(work, report, program)
        sys.stdout.flush()
    except OSError as error:  # from stdout
        _discard_output()
        if isinstance(error, BrokenPipeError):
            return 0
        failure = StorageError(f"The output cannot be written: {error.strerror}.")
        _complain(f"{program}: {failure.message}\n  {failure.hint}")
        return failure.exit_code
    return code


def _exit_code(
    work: Callable[[], int], report: Callable[[CodeIntelError], None], program: str
) -> int:
    """Run a command and return its exit code; print its errors.

    Raises:
        OSError: The output cannot be written.
    """
    try:
        return _require_current_folder(work)
    except CodeIntelError as error:
        from code_intel.cli.terminal_words import translate_hint

        translate_hint(error)
        report(error)
        sys.stdout.flush()  # if it cannot be written, that is the only message
        _complain(masked(f"{program}: {error.message}\n  {error.hint}"))
        return error.exit_code
    except KeyboardInterrupt:
        _complain(f"{program}: stopped. Completed work was kept.")
        return 130
    except SystemExit as end:  # argparse printed the help
        return int(end.code or 0)
    except Exception as error:
        if isinstance(error, OSError) and not error.filename and error.errno in _CANNOT_WRITE:
            raise
        report(UnexpectedError(f"{type(error).__name__}: {error}"))
        sys.stdout.flush()
        _complain(traceback.format_exc().rstrip())
        _complain(f"{program}: this is a defect in the program, not your mistake.")
        return UnexpectedError.exit_code


def _complain(text: str) -> None:
    """Print a message on stderr, if it can be written there."""
    with suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def _discard_output() -> None:
    """Send stdout to the null device; otherwise the interpreter fails when it flushes it."""
    null_device = os.open(os.devnull, os.O_WRONLY)  # noqa: TID251 - the null device
    os.dup2(null_device, sys.stdout.fileno())


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
        f"`{program} help COMMAND` shows its options. Every command has --json.\n"
        f"{program} {__version__}"
    )
