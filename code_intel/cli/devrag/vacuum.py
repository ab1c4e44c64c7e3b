"""Give the space that the index does not use back to the disk."""

import argparse
from typing import Any

from code_intel.cli.devrag.options import add_output, opened_as_it_is
from code_intel.foundation.text import counted


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_output(parser)


def run(args: argparse.Namespace) -> tuple[int, dict[str, Any] | None, str]:
    """Shrink the database."""
    with opened_as_it_is(args.config) as service:
        before, after = service.index.store.vacuum()
    text = f"Free again: {counted(before - after, 'byte')}."
    return 0, {"message": text, "bytes_before": before, "bytes_after": after}, text
