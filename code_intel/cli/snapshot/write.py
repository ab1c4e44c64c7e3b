"""Write a snapshot: the vectors of the source, with paths and digests, and without any text.

The same index gives the same bytes. Run `code-intel sync` first: documents that changed since they
were indexed are left out, and so are those that only this machine has.

--json: `file`, `bytes`, `model`, `files`, `vectors`, `pending`, `left_out` [{reason, files,
examples}], `dry_run`.
"""

import argparse
import sys
from pathlib import Path

from code_intel.cli.output import emit, progress
from code_intel.cli.project import add_project, project_of
from code_intel.cli.snapshot.reasons import rows_of, sentences
from code_intel.errors import UsageError
from code_intel.foundation import durable
from code_intel.foundation.text import counted
from code_intel.index.snapshot.format import is_snapshot
from code_intel.index.snapshot.writing import snapshot_of
from code_intel.tools.context.corpus_service import open_project


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("file", help="the file to write, such as code-intel.snapshot")
    parser.add_argument("--dry-run", action="store_true", help="write nothing")
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Write the file."""
    path = Path(args.file).expanduser().absolute()
    _check_target(path)
    _, forest = open_project(project_of(args), readonly=True)
    try:
        with progress() as advance:
            written = snapshot_of(
                forest.index, lambda done, total: advance(done, total, "snapshot: files")
            )
    finally:
        forest.index.close()
    if written.pending:
        note = f"{counted(written.pending, 'vector')} to come. Run `{forest.index.command}` first."
        print(note, file=sys.stderr, flush=True)
    if not args.dry_run:
        durable.sweep(path.parent)
        durable.replace(path, written.data)
    data = {
        "file": str(path),
        "bytes": len(written.data),
        "model": written.identity,
        "files": written.files,
        "vectors": written.vectors,
        "pending": written.pending,
        "left_out": rows_of(written.left_out),
        "dry_run": args.dry_run,
    }
    head = "Would be written" if args.dry_run else "Written"
    size = f"{len(written.data) / 1e6:.1f} MB"
    counts = f"{counted(written.files, 'file')}, {counted(written.vectors, 'vector')}, {size}"
    emit(args, data, "\n".join([f"{head}: {counts}, {path}.", *sentences(written.left_out)]))
    return 0


def _check_target(path: Path) -> None:
    """Require a path where nothing or an earlier snapshot is, in an existing folder.

    Raises:
        UsageError: Another file is there, the file cannot be read, or the folder does not exist.
    """
    try:
        if not path.exists() or (path.is_file() and is_snapshot(path)):
            if path.parent.is_dir():
                return
            problem = "is in a folder that does not exist"
        else:
            problem = "exists and is not a snapshot"
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
    raise UsageError(
        f"{path} {problem}.",
        hint="Name a new file in an existing folder.",
        details={"field": "file"},
    )
