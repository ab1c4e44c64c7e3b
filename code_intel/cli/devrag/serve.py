"""Run the index server on stdin and stdout; what `devrag` does without a command."""

import argparse
from typing import Any

from code_intel.cli.devrag.options import add_output
from code_intel.servers.wire import take_stdout


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_output(parser)


def run(args: argparse.Namespace) -> tuple[int, dict[str, Any] | None, str]:
    """Serve until stdin ends."""
    wire = take_stdout()
    from code_intel.servers.index_server import build_index_server
    from code_intel.servers.stdio import serve
    from code_intel.tools.shelf import open_shelf

    serve(build_index_server(open_shelf(args.config)), wire)
