"""Say which files a snapshot leaves out, and why."""

from collections.abc import Mapping, Sequence
from typing import Any

from code_intel.foundation.text import counted
from code_intel.index.snapshot.loading import ABSENT

MAX_EXAMPLES = 5


def rows_of(files: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """Return a row for each reason, with the number of files and some of them.

    Files that are not in this project are only counted: their names are untrusted text.
    """
    return [
        {
            "reason": reason,
            "files": len(paths),
            "examples": [] if reason == ABSENT else list(paths[:MAX_EXAMPLES]),
        }
        for reason, paths in sorted(files.items())
    ]


def sentences(files: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a line for each reason."""
    return [
        f"  {counted(row['files'], 'file')}: {row['reason']}"
        + (f": {', '.join(row['examples'])}" if row["examples"] else "")
        + (", …" if row["files"] > len(row["examples"]) > 0 else "")
        for row in rows_of(files)
    ]
