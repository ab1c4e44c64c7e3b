"""Merge fields into a Markdown file's front matter, or add front matter; keep the rest."""

import argparse
from typing import Any

from code_intel.cli.devrag.front_matter import add_fields, write_fields


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_fields(parser)


def run(args: argparse.Namespace) -> tuple[int, dict[str, Any] | None, str]:
    """Write the front matter."""
    return write_fields(args, update=True)
