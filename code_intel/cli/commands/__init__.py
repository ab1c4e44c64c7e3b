"""Prompt commands of the project: find the one that fits, see what it takes, execute it.

Without a word this is the server that clients know as `climpt`, on stdin and stdout, or over HTTP, for the project that
`code-intel serve` would serve; with one, the same in the terminal. docs/command-registry.md explains it.
"""

import argparse
import sys
from typing import TYPE_CHECKING

from code_intel.cli.main import Command
from code_intel.cli.serve import add_http, add_writes, serve_project
from code_intel.cli.subcommands import add_subcommands
from code_intel.config import Settings
from code_intel.errors import UsageError

if TYPE_CHECKING:  # imported as late as its server
    from code_intel.servers.protocol import ToolServer

SUBCOMMANDS = (
    Command("search", "code_intel.cli.commands.search", "find commands by what they are for"),
    Command("describe", "code_intel.cli.commands.describe", "say what a command takes"),
    Command("execute", "code_intel.cli.commands.execute", "execute one and print its prompt"),
    Command("reload", "code_intel.cli.commands.reload", "read a registry again, and count"),
    Command("list", "code_intel.cli.commands.list", "list and check commands, or what was learned"),
)
WAITING = "This is the server, which waits for a client; `code-intel commands --help` lists the words for people."
OF_THE_SERVER = ("http", "host", "token_file", "allow_host", "allow_writes")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the server, and the words."""
    parser.allow_abbrev = False  # else a word's `--all` would be taken for `--allow-host`
    add_http(parser)
    add_writes(parser)
    add_subcommands(parser, SUBCOMMANDS, required=False)


def run(args: argparse.Namespace) -> int:
    """Run the chosen word; without one, serve until stdin ends, or over HTTP until a signal."""
    if args.subcommand_module is None:
        if args.http is None and sys.stdin is not None and sys.stdin.isatty():
            print(WAITING, file=sys.stderr)
        serve_project(args, _server, "code-intel commands")
    for name in OF_THE_SERVER:
        if getattr(args, name) is not None:
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(
                f"{flag} is the server's, and `{args.word}` is none.",
                hint=f"Leave out {flag}, or `{args.word}` to serve.",
                details={"field": name},
            )
    return int(args.subcommand_module.run(args))


def _server(settings: Settings, *, writes: bool) -> "ToolServer":
    from code_intel.servers.commands import build_commands_server

    return build_commands_server(settings, writes=writes)
