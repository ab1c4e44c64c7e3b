"""Index one file now: both its words and its vectors.

A file that `document_patterns` does not cover is indexed too. It stays in the index until you
remove it with `devrag delete`.
"""

import argparse
from typing import Any

from code_intel.cli.devrag.options import add_output, add_path, open_index, resolve_path
from code_intel.tools.documents import operations


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_path(parser)
    add_output(parser)


def run(args: argparse.Namespace) -> tuple[int, dict[str, Any] | None, str]:
    """Index the file."""
    with open_index(args.config) as service:
        data = operations.index(service, resolve_path(args.config, args.filepath))
    return 0, data, data["message"]
