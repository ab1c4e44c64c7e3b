"""Index source files now, with words and vectors: one, several, or all files of a folder.

Files that no pattern matches are indexed too, and stay indexed until you delete them by name. If
some files fail, they are listed.
"""

import argparse
import threading
from typing import Any

from code_intel.cli.devrag.options import add_output, open_index, resolve_path
from code_intel.cli.output import progress
from code_intel.cli.sync import compute_vectors
from code_intel.tools.documents.index_code import index_arguments
from code_intel.tools.documents.operations import one_of


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("filepath", nargs="?", default="", help="one file")
    parser.add_argument(
        "--directory", default="", help="every file in this folder and its subfolders"
    )
    parser.add_argument("--filepaths", default="", help="several files, separated by commas")
    parser.add_argument("--force", action="store_true", help="parse unchanged files again")
    add_output(parser)


def run(args: argparse.Namespace) -> tuple[int, dict[str, Any] | None, str]:
    """Index the files."""
    one_of(filepath=args.filepath, directory=args.directory, filepaths=args.filepaths)
    paths = ",".join(resolve_path(args.config, path.strip()) for path in args.filepaths.split(","))
    one, folder = (resolve_path(args.config, path) for path in (args.filepath, args.directory))
    with open_index(args.config) as service:
        data = index_arguments(service, one, folder, paths, threading.Event(), force=args.force)
        if not one:
            with progress() as advance:
                warnings = compute_vectors(service, advance)
            data |= {"warnings": warnings} if warnings else {}
    return 0, data, data["message"]
