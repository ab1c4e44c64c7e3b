"""Run the index server on stdin and stdout, which is the default, or over HTTP."""

import argparse
from typing import TYPE_CHECKING, Any

from code_intel.cli.devrag.options import add_output
from code_intel.cli.serve import add_http, serve
from code_intel.config import find_root, load_settings
from code_intel.servers.wire import take_stdout

if TYPE_CHECKING:  # imported after the handshake
    from code_intel.servers.protocol import ToolServer
    from code_intel.tools.context.corpus_service import CorpusService


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_output(parser)
    add_http(parser)
    parser.add_argument(
        "--allow-writes",
        action="store_true",
        default=None,
        help="over HTTP, allow clients to delete documents and write front matter",
    )


def run(args: argparse.Namespace) -> tuple[int, dict[str, Any] | None, str]:
    """Serve until stdin ends, or over HTTP until a signal."""
    wire = take_stdout()
    settings = load_settings(find_root(args.config.folder))

    def service() -> "CorpusService":
        from code_intel.tools.context.corpus_service import open_service

        return open_service(args.config)

    def server() -> "ToolServer":
        from code_intel.servers.index_server import build_index_server

        writes = args.http is None or bool(args.allow_writes)
        return build_index_server(args.config.corpus, service, writes=writes)

    serve(args, server, wire, f"devrag-{args.config.corpus}", settings)
