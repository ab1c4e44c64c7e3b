"""Index one document again, even if its file has not changed."""

import argparse
from typing import Any

from code_intel.cli.devrag.options import add_output, add_path, open_index, resolve_path
from code_intel.tools.documents import operations


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_path(parser, "filename")
    parser.add_argument("--dry-run", action="store_true", help="only show what would be done")
    add_output(parser)


def run(args: argparse.Namespace) -> tuple[int, dict[str, Any] | None, str]:
    """Index the document again."""
    path = resolve_path(args.config, args.filename)
    with open_index(args.config, readonly=args.dry_run) as service:
        if args.dry_run:
            name, _ = operations.document(service, path)
            return 0, {"dry_run": True, "would_reindex": name}, f"{name} would be indexed again."
        data = operations.reindex(service, path)
    return 0, data, data["message"]
