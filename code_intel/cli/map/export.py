"""Write agreements to a file for another project: JSON Lines, one agreement a line, for a review first.

What only this project can know stays here: who confirmed it, sessions, times, digests, people's own sections. Without
a term: all that can be read. `code-intel map import` takes it in, unconfirmed.

--json: `total`, `file`, `dry_run`, and `lines` where the file is standard output.
"""

import argparse
from pathlib import Path

from code_intel.cli.output import emit
from code_intel.cli.project import add_project, project_of
from code_intel.errors import UsageError
from code_intel.foundation import durable
from code_intel.foundation.text import counted
from code_intel.learned.files import agreements, exchange
from code_intel.learned.recall.recall import fold
from code_intel.records import Agreement


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "file", nargs="?", default="-", help="where to; - is standard output (default)"
    )
    parser.add_argument("term", nargs="*", help="only these terms")
    parser.add_argument("--dry-run", action="store_true", help="say what would be, write nothing")
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Write the file; 1 when there is nothing to export."""
    chosen = _chosen(agreements.load_all(project_of(args).agreements), args.term)
    text = exchange.dump(chosen)
    if args.file == "-":
        rows = [line for line in text.splitlines() if line]
        emit(args, {"total": len(chosen), "file": "-", "lines": rows, "dry_run": args.dry_run},
             text.rstrip("\n"))  # fmt: skip
        return 0 if chosen else 1
    path = Path(args.file).expanduser().absolute()
    _require_ours(path)
    if chosen and not args.dry_run:
        durable.replace(path, text.encode())
    head = "Would be written" if args.dry_run else "Written" if chosen else "Nothing to write"
    data = {"total": len(chosen), "file": str(path), "dry_run": args.dry_run}
    emit(args, data, f"{head}: {counted(len(chosen), 'agreement')}, {path}.")
    return 0 if chosen else 1


def _chosen(entries: list[agreements.Entry], terms: list[str]) -> list[Agreement]:
    """Return those of these terms, or all.

    Raises:
        NotFoundError: There is none of one of them.
    """
    everything = [entry.agreement for entry in entries if entry.agreement]
    if not terms:
        return everything
    wanted = {fold(term): term for term in terms}
    found = [it for it in everything if fold(it.nl_term) in wanted]
    for missing in wanted.keys() - {fold(it.nl_term) for it in found}:
        raise agreements.missing(wanted[missing], among=entries)
    return found


def _require_ours(path: Path) -> None:
    """Refuse to write over anything but an earlier export.

    Raises:
        UsageError: Something else is there, or it cannot be looked at.
    """
    try:
        if not path.exists() or (path.is_file() and exchange.is_export(path.read_bytes())):
            if path.parent.is_dir():
                return
            why = "is in a folder that is not there"
        else:
            why = "is there, and is no export"
    except OSError as error:
        why = f"cannot be read: {error.strerror}"
    raise UsageError(
        f"{path} {why}.",
        hint="Name a new file in a folder that is there.",
        details={"field": "file"},
    )
