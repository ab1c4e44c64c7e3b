"""Say what is indexed and what is missing."""

import argparse
from typing import Any

from code_intel.cli.devrag.options import add_output
from code_intel.cli.status import shelf_line, shelf_status
from code_intel.tools.shelf import open_shelf


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_output(parser)


def run(args: argparse.Namespace) -> tuple[int, dict[str, Any] | None, str]:
    """Report; writes nothing."""
    shelf = open_shelf(args.config, readonly=True)
    try:
        data = shelf_status(shelf)
        return 0, data, "\n".join([shelf_line(data), *args.config.notes])
    finally:
        shelf.index.close()
