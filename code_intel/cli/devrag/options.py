"""Options that every `devrag` command has."""

import argparse


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add `--config` (for the help; it is read before) and `--output`."""
    parser.add_argument("--config", metavar="PATH", help="the configuration (default: config.json)")
    parser.add_argument(
        "--output", "--format", choices=("json", "text"), default="json", help="how to answer"
    )
