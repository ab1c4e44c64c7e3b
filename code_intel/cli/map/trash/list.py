"""List the trash, oldest first: name, content and original place. Exits 1 if it is empty.

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
    rows = [row_of(kept) for kept in trash.contents(project_of(args))]
    lines = [visible(f"{row['name']}  ({row['kind']} {row['says']}".rstrip() + ")") for row in rows]
    emit(args, {"trash": rows, "total": len(rows)}, "\n".join(lines) or "The trash is empty.")
    return 0 if rows else 1


def row_of(kept: TrashEntry) -> dict[str, Any]:
    """Return one file of the trash as JSON data."""
    said = trash.pair_of(kept) if kept.is_pair else agreements.load(kept.path).agreement
    return {
        "name": encodable(kept.name),
        "at": kept.at.isoformat(),
        "kind": "file" if not said else "pair" if kept.is_pair else "agreement",
        "was": encodable(kept.origin),
        "says": f"{said.nl_term} → {said.symbol}" if said else "",
    }
