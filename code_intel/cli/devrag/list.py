"""List the indexed documents."""

import argparse
from typing import Any

from code_intel.cli.devrag.options import add_fields, add_output, open_index, select_fields
from code_intel.foundation.text import counted
from code_intel.tools.documents.list_documents import DOCUMENT_FIELDS, document_data


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_fields(parser)
    add_output(parser)


def run(args: argparse.Namespace) -> tuple[int, dict[str, Any] | None, str]:
    """Print the documents by name."""
    with open_index(args.config, readonly=True) as service:
        rows = [document_data(row) for row in service.index.store.documents()]
    data = {
        "count": len(rows),
        "documents": select_fields(rows, args.fields, DOCUMENT_FIELDS),
        "total": len(rows),
    }
    lines = [f"{row['modified_at']}\t{row['filename']}" for row in rows]
    return 0, data, "\n".join([*lines, "", f"Total: {counted(len(rows), 'document')}"])
