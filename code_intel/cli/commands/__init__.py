"""Find, describe and execute prompt commands, or serve them to clients.

A prompt command is a reusable prompt in the project's registry (docs/command-registry.md). Without
a subcommand this runs the server that clients know as `climpt`, on stdin and stdout or over HTTP.
"""

import argparse
import sys
from typing import TYPE_CHECKING

from code_intel.cli.serve import add_http, add_writes, serve_project
from code_intel.cli.subcommands import add_subcommands
from code_intel.config import Settings
from code_intel.errors import UsageError

if TYPE_CHECKING:  # imported when the server starts
    from code_intel.servers.protocol import ToolServer

WAITING_NOTE = (
    "The server is waiting for a client on standard input."
    " See `code-intel commands --help` for subcommands."
)
SERVER_OPTIONS = ("http", "host", "token_file", "allow_host", "allow_writes")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the server and the subcommands."""
    parser.allow_abbrev = False  # otherwise `--all` of a subcommand would mean `--allow-host`
    add_http(parser)
    add_writes(parser)
    add_subcommands(parser, "commands", required=False)


def run(args: argparse.Namespace) -> int:
    """Run the subcommand; without one, serve until stdin ends, or over HTTP until a signal."""
    if args.subcommand_module is None:
        if args.http is None and sys.stdin is not None and sys.stdin.isatty():
            print(WAITING_NOTE, file=sys.stderr)
        serve_project(args, _build_server, "code-intel commands")
    for name in SERVER_OPTIONS:
        if getattr(args, name) is not None:
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(
                f"{flag} is an option of the server, not of `{args.subcommand}`.",
                hint=f"Leave out {flag}, or leave out `{args.subcommand}` to serve.",
                details={"field": name},
            )
    return int(args.subcommand_module.run(args))


def _build_server(settings: Settings, *, writes: bool) -> "ToolServer":
    from code_intel.servers.commands import build_commands_server

    return build_commands_server(settings, writes=writes)
