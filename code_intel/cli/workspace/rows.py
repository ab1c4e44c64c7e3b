"""Show the projects of a workspace as text and as JSON."""

from typing import Any

from code_intel.foundation.text import counted, visible
from code_intel.operations.workspace import WorkspaceRow
from code_intel.tools.wire.answers import COMMIT_DIGITS


def row_data(row: WorkspaceRow) -> dict[str, Any]:
    """Return a project as JSON."""
    return {
        "name": row.name,
        "path": row.path,
        "commit": row.commit,
        "own": row.own,
        "index": row.state,
        "files": row.files,
        "notes": list(row.notes),
    }


def row_text(row: WorkspaceRow) -> str:
    """Return a project as text, with its notes below."""
    commit = f" at {row.commit[:COMMIT_DIGITS]}" if row.commit else ""
    own = ", this project" if row.own else ""
    head = f"{row.name}  {row.path}{commit}  ({counted(row.files, 'file')}, {row.state}{own})"
    return "\n".join([visible(head), *(f"  {visible(note)}" for note in row.notes)])
