"""Run the gateway on stdin and stdout, or over HTTP.

A client's configuration starts this. It serves one project: the one that CODE_INTEL_ROOT
or else CLAUDE_PROJECT_DIR names, or else that of the current folder. See docs/http.md for HTTP.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NoReturn

from code_intel.config import Settings, find_served_root, load_settings, require_single_project
from code_intel.errors import ConfigError, UsageError
from code_intel.foundation.heap import use_one_heap
from code_intel.servers.wire import take_stdout

if TYPE_CHECKING:  # imported when the server starts
    from code_intel.servers.protocol import ToolServer


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options; the project comes from the environment or the current folder."""
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
    """Serve the project that the environment or the current folder selects.

    Args:
        args: The options of `add_http` and `add_writes`.
        build: Builds the server from the settings and `writes`, which allows clients to run
            programs.
        program: The name of the server over HTTP.

    Raises:
        ConfigError: The project is not a folder.
    """
    wire = take_stdout()
    settings = load_settings(require_single_project(find_served_root()))
    if not settings.root.is_dir():
        raise ConfigError(f"{settings.root} is not a folder.")
    writes = args.http is None or bool(args.allow_writes)
    serve(args, lambda: build(settings, writes=writes), wire, program, settings)


def add_writes(parser: argparse.ArgumentParser) -> None:
    """Declare `--allow-writes`."""
    parser.add_argument(
        "--allow-writes",
        action="store_true",
        default=None,
        help="over HTTP, allow clients to execute prompt commands, which may run programs here",
    )


def add_http(parser: argparse.ArgumentParser) -> None:
    """Declare the HTTP options of a server."""
    parser.add_argument(
        "--http",
        type=int,
        metavar="PORT",
        help="serve over HTTP on this port instead of stdin and stdout; 0 chooses a free port",
    )
    parser.add_argument(
        "--host",
        help="listen on this address (default: 127.0.0.1, reachable from this machine only)",
    )
    parser.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="accept only requests with a token from this file, which has one per line",
    )
    parser.add_argument(
        "--allow-host",
        action="append",
        metavar="NAME",
        help="another host name of the server, such as a proxy's; may be repeated",
    )


def serve(
    args: argparse.Namespace,
    build: "Callable[[], ToolServer]",
    wire: BinaryIO,
    program: str,
    settings: Settings,
) -> NoReturn:
    """Serve according to the options of `add_http`; on stdin also the clients of relays.

    Raises:
        UsageError: An option is wrong, or the port is not available.
        ConfigError: The token file cannot be used.
    """
    use_one_heap()  # before the first thread, which would keep its own
    if args.http is None:
        for name in ("host", "token_file", "allow_host", "allow_writes"):
            if getattr(args, name, None) is not None:
                raise UsageError(
                    f"--{name.replace('_', '-')} needs --http.",
                    hint="Add --http PORT, or leave the option out.",
                    details={"field": name},
                )
        from code_intel.cli.server_table import ServerTable
        from code_intel.servers import stdio
        from code_intel.servers.relay.host import Hosting
        from code_intel.servers.relay.start import beginning

        if not beginning.words:
            stdio.serve(build(), wire)
        table = ServerTable(settings)
        hosting = Hosting(settings, table.build, beginning)
        stdio.serve(table.build(beginning.words), wire, hosting)
    wire.close()
    from code_intel.servers.http.address import LOOPBACK, listen
    from code_intel.servers.http.tokens import read_tokens

    tokens = read_tokens(args.token_file) if args.token_file else None
    names = args.allow_host or ()
    address = listen(args.host or LOOPBACK, args.http, names=names, needs_token=tokens is not None)
    from code_intel.servers.http.guard import Policy
    from code_intel.servers.http.serving import serve_http

    serve_http(build(), Policy(address, tokens), program)
