"""Index source files now, words and vectors: one, several, or all files of a folder.

Files that no pattern matches are indexed too, and stay indexed until you delete them by name. If
some of several files fail, they are named.
"""

import argparse
import threading
from typing import Any

from code_intel.cli.devrag.options import add_output, opened, path_of
from code_intel.cli.output import progress
from code_intel.cli.sync import vectors
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
    several = ",".join(path_of(args.config, path.strip()) for path in args.filepaths.split(","))
    one, folder = (path_of(args.config, path) for path in (args.filepath, args.directory))
    with opened(args.config) as service:
        data = index_arguments(service, one, folder, several, threading.Event(), force=args.force)
        if not one:
            with progress() as advance:
                notes = vectors(service, advance)
            data |= {"warnings": notes} if notes else {}
    return 0, data, data["message"]
