"""Write agreements to a file for another project: JSON Lines, one agreement per line.

Without a term, all readable agreements are written. Confirmations, sessions, times, digests and
your own sections are not exported. `code-intel map import` reads the file; imported agreements are
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
from code_intel.records import Agreement


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "file", nargs="?", default="-", help="the file to write; - is standard output (default)"
    )
    parser.add_argument("term", nargs="*", help="only these terms")
    add_dry_run(parser)


def run(args: argparse.Namespace) -> int:
    """Write the file; return 1 if there is nothing to export."""
    chosen = _chosen(agreements.load_all(project_of(args).agreements), args.term)
    text = exchange.dump(chosen)
    if args.file == "-":
        rows = [line for line in text.splitlines() if line]
        emit(args, {"total": len(chosen), "file": "-", "lines": rows, "dry_run": args.dry_run},
             text.rstrip("\n"))  # fmt: skip
        return 0 if chosen else 1
    path = Path(args.file).expanduser().absolute()
    _check_target(path)
    if chosen and not args.dry_run:
        durable.replace(path, text.encode())
    head = "Would be written" if args.dry_run else "Written" if chosen else "Nothing to write"
    data = {"total": len(chosen), "file": str(path), "dry_run": args.dry_run}
    emit(args, data, f"{head}: {counted(len(chosen), 'agreement')}, {path}.")
    return 0 if chosen else 1


def _chosen(entries: list[agreements.AgreementEntry], terms: list[str]) -> list[Agreement]:
    """Return the agreements with these terms; all agreements if no term is given.

    Raises:
        NotFoundError: A term has no agreement.
    """
    readable = [entry.agreement for entry in entries if entry.agreement]
    if not terms:
        return readable
    wanted = {fold(term): term for term in terms}
    found = [it for it in readable if fold(it.nl_term) in wanted]
    for missing in wanted.keys() - {fold(it.nl_term) for it in found}:
        raise agreements.missing(wanted[missing], among=entries)
    return found


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
