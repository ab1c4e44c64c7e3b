"""Run the gateway on stdin and stdout, or over HTTP.

This is what a client's configuration starts; it serves one project: CODE_INTEL_ROOT, else
CLAUDE_PROJECT_DIR, else the one it is started in. docs/http.md is about HTTP.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NoReturn

from code_intel.config import Settings, find_served_root, load_settings, require_single_project
from code_intel.errors import ConfigError, UsageError
from code_intel.servers.wire import take_stdout

if TYPE_CHECKING:  # imported as late as its server
    from code_intel.servers.protocol import ToolServer


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options; the environment and the working folder say which project."""
    add_http(parser)
    add_writes(parser)


def run(args: argparse.Namespace) -> int:
    """Serve until stdin ends, or over HTTP until a signal."""

    def gateway(settings: Settings, *, writes: bool) -> "ToolServer":
        from code_intel.servers.gateway import build_gateway

        return build_gateway(settings, writes=writes)

    serve_project(args, gateway, "code-intel")


def serve_project(
    args: argparse.Namespace, build: "Callable[..., ToolServer]", program: str
) -> NoReturn:
    """Serve the project that the environment or the working folder says, as `add_http` and `add_writes` say.

    Args:
        args: With those options.
        build: Given the settings and `writes`, whether clients may have programs run.
        program: Its name over HTTP.

    Raises:
        ConfigError: The project is no folder.
    """
    wire = take_stdout()
    settings = load_settings(require_single_project(find_served_root()))
    if not settings.root.is_dir():
        raise ConfigError(f"{settings.root} is not a folder.")
    writes = args.http is None or bool(args.allow_writes)
    serve(args, lambda: build(settings, writes=writes), wire, program)


def add_writes(parser: argparse.ArgumentParser) -> None:
    """Declare what clients may do over HTTP beyond reading."""
    parser.add_argument(
        "--allow-writes",
        action="store_true",
        default=None,
        help="over HTTP, let clients execute prompt commands, too, which may run programs here",
    )


def add_http(parser: argparse.ArgumentParser) -> None:
    """Declare the options of every server."""
    parser.add_argument(
        "--http",
        type=int,
        metavar="PORT",
        help="serve over HTTP at this port, not on stdin and stdout; 0 takes a free one and says which",
    )
    parser.add_argument(
        "--host",
        help="listen at this address (default: 127.0.0.1, which only this machine can reach)",
    )
    parser.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="answer only requests that carry a token of this file, one a line",
    )
    parser.add_argument(
        "--allow-host",
        action="append",
        metavar="NAME",
        help="another name the server is called by, such as a proxy's (may be repeated)",
    )


def serve(
    args: argparse.Namespace, build: "Callable[[], ToolServer]", wire: BinaryIO, program: str
) -> NoReturn:
    """Serve as the options of `add_http` say.

    Raises:
        UsageError: An option is wrong, or the port cannot be had.
        ConfigError: The token file cannot be used.
    """
    if args.http is None:
        for name in ("host", "token_file", "allow_host", "allow_writes"):
            if getattr(args, name, None) is not None:
                raise UsageError(
                    f"--{name.replace('_', '-')} is about HTTP, and --http is missing.",
                    hint="Add --http PORT, or leave it out.",
                    details={"field": name},
                )
        from code_intel.servers import stdio

        stdio.serve(build(), wire)
    wire.close()
    from code_intel.servers.http.address import LOOPBACK, listen
    from code_intel.servers.http.tokens import read_tokens

    tokens = read_tokens(args.token_file) if args.token_file else None
    names = args.allow_host or ()
    address = listen(args.host or LOOPBACK, args.http, names=names, guarded=tokens is not None)
    from code_intel.servers.http.guard import Policy
    from code_intel.servers.http.serving import serve_http

    serve_http(build(), Policy(address, tokens), program)
