"""Print a script that completes the commands and options of code-intel in a shell.

The script holds all words, so completing starts no program. Print it again after an upgrade.
docs/installing.md says where each shell reads it.
"""

import argparse
import sys
from collections.abc import Sequence

from code_intel.cli.main import COMMANDS, CliCommand, parser_of
from code_intel.cli.output import emit

SHELLS = ("bash", "zsh", "fish")
PROGRAM = "code-intel"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the argument."""
    parser.add_argument("shell", choices=SHELLS, help="the shell that reads the script")


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    import shtab

    script = shtab.complete(whole_parser(), args.shell)
    if args.json:
        emit(args, {"shell": args.shell, "script": script}, "")
    else:  # as it is, without colours
        sys.stdout.write(f"{script}\n")
    return 0


def whole_parser(commands: Sequence[CliCommand] = COMMANDS) -> argparse.ArgumentParser:
    """Return one parser of all commands; running a command needs only its own."""
    parser = argparse.ArgumentParser(prog=PROGRAM)
    parser.add_argument("-V", "--version", action="store_true", help="print the version")
    choices = parser.add_subparsers()
    for command in commands:
        whole = parser_of(command, PROGRAM)
        choices.add_parser(command.name, help=command.about, parents=[whole], add_help=False)
    return parser
