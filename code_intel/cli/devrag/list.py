"""List the indexed documents."""

import argparse
from typing import Any

from code_intel.cli.devrag.options import add_output
from code_intel.tools.list_documents import document_data
from code_intel.tools.shelf import open_shelf


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_output(parser)


def run(args: argparse.Namespace) -> tuple[int, dict[str, Any] | None, str]:
    """List them by name."""
    shelf = open_shelf(args.config, readonly=True)
    try:
        rows = shelf.index.store.documents()
    finally:
        shelf.index.close()
    data = {"documents": [document_data(row) for row in rows], "total": len(rows)}
    return 0, data, "\n".join(row.path for row in rows)
