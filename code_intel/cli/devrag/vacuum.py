"""Free the unused space of the index database."""

import argparse
from typing import Any

from code_intel.cli.devrag.options import add_output, open_existing
from code_intel.foundation.text import counted


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_output(parser)


def run(args: argparse.Namespace) -> tuple[int, dict[str, Any] | None, str]:
    """Shrink the database."""
    with open_existing(args.config) as service:
        before, after = service.index.store.vacuum()
    text = f"Freed {counted(before - after, 'byte')}."
    return 0, {"message": text, "bytes_before": before, "bytes_after": after}, text
