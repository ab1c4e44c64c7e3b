"""What every `devrag` command has: its options, and its envelope for errors."""

import argparse
from typing import Any

from code_intel.errors import CodeIntelError


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add `--config` (for the help; it is read before) and `--output`."""
    parser.add_argument("--config", metavar="PATH", help="the configuration (default: config.json)")
    parser.add_argument(
        "--output", "--format", choices=("json", "text"), default="json", help="how to answer"
    )


def refusal(error: CodeIntelError) -> dict[str, Any]:
    """Return the envelope of an error."""
    wire = error.as_dict()
    told = {
        "code": wire["error"],
        "message": wire["message"],
        "field": wire.get("field", ""),
        "hint": wire["hint"],
    }
    return {"status": "error", "error": told}
