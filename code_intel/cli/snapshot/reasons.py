"""Say which files a snapshot leaves out, and why."""

from collections.abc import Mapping, Sequence
from typing import Any

from code_intel.foundation.text import counted

MAX_EXAMPLES = 5


def rows_of(files: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """Return a row for each reason, with the number of files and some of them."""
    return [
        {"reason": reason, "files": len(paths), "examples": list(paths[:MAX_EXAMPLES])}
        for reason, paths in sorted(files.items())
    ]


def sentences(files: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a line for each reason."""
    return [
        f"  {counted(row['files'], 'file')}: {row['reason']}: {', '.join(row['examples'])}"
        + (", …" if row["files"] > MAX_EXAMPLES else "")
        for row in rows_of(files)
    ]
