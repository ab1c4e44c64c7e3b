"""Print a script that completes the commands, options, values and files of code-intel in a shell.

The script holds all words, so completing starts no program. Print it again after an upgrade.
docs/installing.md says where each shell reads it.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence

from code_intel.cli.main import COMMANDS, CliCommand, parser_of
from code_intel.cli.output import emit

SHELLS = ("bash", "zsh", "fish")
PROGRAM = "code-intel"
FILES = frozenset({"FILE", "PATH", "PATH[:LINE]", "file", "path"})
"""The names of arguments that are files; those in lower case are not options."""
FOLDERS = frozenset({"FOLDER", "project"})
COMMAND, STAND_IN = "commands", "commands-0"
"""In zsh, shtab would give a command of this name the function that lists all commands."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the argument."""
    parser.add_argument("shell", choices=SHELLS, help="the shell that reads the script")


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    script = script_for(args.shell)
    if args.json:
        emit(args, {"shell": args.shell, "script": script}, "")
    else:  # as it is, without colours
        sys.stdout.write(f"{script}\n")
    return 0


def script_for(shell: str) -> str:
    """Return the script of a shell."""
    import shtab

    names = {COMMAND: STAND_IN} if shell == "zsh" else {}
    commands = [each._replace(name=names.get(each.name, each.name)) for each in COMMANDS]
    parser = whole_parser(commands)
    for action in _arguments(parser):
        name = action.metavar or action.dest
        if name in FILES:
            vars(action)["complete"] = shtab.FILE
        elif name in FOLDERS:
            vars(action)["complete"] = shtab.DIRECTORY
    return shtab.complete(parser, shell).replace(STAND_IN, COMMAND)


def whole_parser(commands: Sequence[CliCommand]) -> argparse.ArgumentParser:
    """Return one parser of all commands; running a command needs only its own."""
    parser = argparse.ArgumentParser(prog=PROGRAM)
    parser.add_argument("-V", "--version", action="store_true", help="print the version")
    choices = parser.add_subparsers()
    for command in commands:
        whole = parser_of(command, PROGRAM)
        choices.add_parser(command.name, help=command.about, parents=[whole], add_help=False)
    return parser


def _arguments(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the arguments of a parser and of its subcommands."""
    for action in parser._actions:  # noqa: SLF001 - argparse has no other list
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - likewise
            for inner in action.choices.values():
                yield from _arguments(inner)
        else:
            yield action
