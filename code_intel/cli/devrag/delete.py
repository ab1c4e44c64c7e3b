"""Remove one document from the index.

It is not indexed again until you index it by name. Its file is kept, unless --remove-file is given:
then an agreement is moved to the trash, and any other file is deleted.
"""

import argparse
from typing import Any

from code_intel.cli.devrag import options
from code_intel.tools.documents import operations


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    options.add_path(parser, "filename")
    parser.add_argument("--remove-file", action="store_true", help="also remove the file")
    parser.add_argument("--dry-run", action="store_true", help="only show what would be done")
    options.add_output(parser)


def run(args: argparse.Namespace) -> tuple[int, dict[str, Any] | None, str]:
    """Remove the document."""
    path = options.resolve_path(args.config, args.filename)
    if not args.dry_run:
        with options.open_existing(args.config) as service:
            data = operations.delete(service, path, remove_file=args.remove_file)
        return 0, data, data["message"]
    with options.open_index(args.config, readonly=True) as service:
        name, _ = operations.document(service, path)
    would = {"would_delete_db": name, "would_delete_file": args.remove_file}
    from_disk = " and from the disk" if args.remove_file else ""
    return 0, {"dry_run": True} | would, f"{name} would be deleted from the index{from_disk}."
