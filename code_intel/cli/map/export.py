"""Write agreements and notes to a file for another project: JSON Lines, one per line.

Without a term, everything readable is written; a term may be the title of a note. Decision records
outside the agreements folder are left out. Confirmations, sessions, times, digests and
your own sections are not exported. `code-intel map import` reads the file; imported files are
unconfirmed.

--json: `total`, `file`, `dry_run`, and `lines` if the file is standard output.
"""

import argparse
from pathlib import Path

from code_intel.cli.map.context import add_dry_run
from code_intel.cli.output import emit
from code_intel.cli.project import project_of
from code_intel.errors import UsageError
from code_intel.foundation import durable
from code_intel.foundation.text import counted
from code_intel.learned.files import agreements, exchange
from code_intel.learned.recall.recall import fold
from code_intel.records import Agreement, Note


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "file", nargs="?", default="-", help="the file to write; - is standard output (default)"
    )
    parser.add_argument("term", nargs="*", help="only these terms or titles")
    add_dry_run(parser)


def run(args: argparse.Namespace) -> int:
    """Write the file; return 1 if there is nothing to export."""
    known = agreements.look(project_of(args).agreements)
    chosen, notes = _chosen(known, args.term)
    text = exchange.dump(chosen, notes)
    total = len(chosen) + len(notes)
    if args.file == "-":
        rows = [line for line in text.splitlines() if line]
        emit(args, {"total": total, "file": "-", "lines": rows, "dry_run": args.dry_run},
             text.rstrip("\n"))  # fmt: skip
        return 0 if total else 1
    path = Path(args.file).expanduser().absolute()
    _check_target(path)
    if total and not args.dry_run:
        durable.replace(path, text.encode())
    head = "Would be written" if args.dry_run else "Written" if total else "Nothing to write"
    data = {"total": total, "file": str(path), "dry_run": args.dry_run}
    noted = f" and {counted(len(notes), 'note')}" if notes else ""
    emit(args, data, f"{head}: {counted(len(chosen), 'agreement')}{noted}, {path}.")
    return 0 if total else 1


def _chosen(
    known: agreements.AgreementFolder, terms: list[str]
) -> tuple[list[Agreement], list[Note]]:
    """Return the agreements and notes with these terms or titles; all if no term is given.

    Raises:
        NotFoundError: A term has neither.
    """
    readable = [entry.agreement for entry in known.entries if entry.agreement]
    notes = [entry.note for entry in known.notes if entry.note]
    if not terms:
        return readable, notes
    wanted = {fold(term): term for term in terms}
    found = [it for it in readable if fold(it.nl_term) in wanted]
    noted = [it for it in notes if fold(it.title) in wanted]
    have = {*(fold(it.nl_term) for it in found), *(fold(it.title) for it in noted)}
    for missing in wanted.keys() - have:
        raise agreements.missing(wanted[missing], among=known.entries)
    return found, noted


def _check_target(path: Path) -> None:
    """Require a path where nothing or an earlier export is, in an existing folder.

    Raises:
        UsageError: Another file is there, the file cannot be read, or the folder does not exist.
    """
    try:
        if not path.exists() or (path.is_file() and exchange.is_export(path.read_bytes())):
            if path.parent.is_dir():
                return
            problem = "is in a folder that does not exist"
        else:
            problem = "exists and is not an export"
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
    raise UsageError(
        f"{path} {problem}.",
        hint="Name a new file in an existing folder.",
        details={"field": "file"},
    )
