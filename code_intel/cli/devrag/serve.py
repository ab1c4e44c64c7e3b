"""Run the index server on stdin and stdout; what `devrag` does without a command."""

import argparse
from typing import TYPE_CHECKING, Any

from code_intel.cli.devrag.options import add_output
from code_intel.servers.wire import take_stdout

if TYPE_CHECKING:  # imported when the handshake is over
    from code_intel.tools.shelf import Shelf


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_output(parser)


def run(args: argparse.Namespace) -> tuple[int, dict[str, Any] | None, str]:
    """Serve until stdin ends."""
    wire = take_stdout()
    from code_intel.servers.index_server import build_index_server
    from code_intel.servers.stdio import serve

    def shelf() -> "Shelf":
        from code_intel.tools.shelf import open_shelf

        return open_shelf(args.config)

    serve(build_index_server(args.config.corpus, shelf), wire)
