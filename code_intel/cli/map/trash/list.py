"""List the files in the trash, oldest first, with their content. Exits with 1 if none exist.

--json: `trash` {name, at, kind, was, says}, `total`.
"""

import argparse
from typing import Any

from code_intel.chunking.agreement_body import encodable
from code_intel.cli.output import emit
from code_intel.cli.project import add_project, project_of
from code_intel.foundation.text import visible
from code_intel.learned.files import agreements, trash
from code_intel.learned.files.trash import TrashEntry


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Print the list; return 1 if it is empty."""
    rows = [row_of(entry) for entry in trash.contents(project_of(args))]
    lines = [visible(f"{row['name']}  ({row['kind']} {row['says']}".rstrip() + ")") for row in rows]
    emit(args, {"trash": rows, "total": len(rows)}, "\n".join(lines) or "The trash is empty.")
    return 0 if rows else 1


def row_of(entry: TrashEntry) -> dict[str, Any]:
    """Return the JSON data of one file in the trash."""
    agreement = agreements.load(entry.path).agreement
    return {
        "name": encodable(entry.name),
        "at": entry.at.isoformat(),
        "kind": "agreement" if agreement else "file",
        "was": encodable(entry.origin),
        "says": f"{agreement.nl_term} → {agreement.symbol}" if agreement else "",
    }
