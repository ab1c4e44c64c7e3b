"""Load a snapshot: files that are the same here get their vectors, without computing them.

Only vectors of the model that this project uses are loaded. Files that differ are left to
`code-intel sync` or the next server, which also index the words and symbols of all files. Load only
files that your own builds wrote: forged vectors can change which code is found first.

--json: `file`, `model`, `files`, `used`, `vectors`, `unused` [{reason, files, examples}],
`new_files`, `dry_run`.
"""

import argparse
from pathlib import Path

from code_intel.cli.output import emit, progress
from code_intel.cli.project import add_project, project_of
from code_intel.cli.snapshot.reasons import rows_of, sentences
from code_intel.errors import EmbeddingError
from code_intel.foundation.text import counted
from code_intel.index.snapshot.loading import KNOWN, load
from code_intel.index.snapshot.reading import Snapshot
from code_intel.tools.context.corpus_service import open_project


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("file", help="a file that `code-intel snapshot write` wrote")
    parser.add_argument("--dry-run", action="store_true", help="load nothing, only count")
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Load the file; return 1 if nothing in it is of use here."""
    path = Path(args.file).expanduser().absolute()
    services = open_project(project_of(args), readonly=args.dry_run)
    agreements, forest = (service.index for service in services)
    try:
        if why := services[1].embedder.why_unavailable():
            raise EmbeddingError(why)
        with Snapshot(path) as snapshot, progress() as advance:
            loaded = load(
                forest,
                snapshot,
                dry_run=args.dry_run,
                progress=lambda done, total: advance(done, total, "snapshot: files"),
            )
        if not args.dry_run:
            agreements.complete(words_only=True)  # a search asks the map first
    finally:
        for service in services:
            service.index.close()
    data = {
        "file": str(path),
        "model": snapshot.identity,
        "files": loaded.files,
        "used": loaded.used,
        "vectors": loaded.vectors,
        "unused": rows_of(loaded.unused),
        "new_files": loaded.new,
        "dry_run": args.dry_run,
    }
    head = "Would be loaded" if args.dry_run else "Loaded"
    vectors = counted(loaded.vectors, "vector")
    lines = [f"{head}: {vectors} for {loaded.used:,} of {counted(loaded.files, 'file')}."]
    lines += sentences(loaded.unused)
    if loaded.new:
        lines.append(f"  {counted(loaded.new, 'file')} here: not in the snapshot")
    if not args.dry_run:
        lines.append(f"Next: `{forest.command}`, or start a server, for words and the rest.")
    emit(args, data, "\n".join(lines))
    return 0 if loaded.used or KNOWN in loaded.unused else 1
