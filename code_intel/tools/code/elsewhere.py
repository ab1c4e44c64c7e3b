"""Show the lines of other repositories that contain the name of a symbol."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from code_intel.foundation.text import visible
from code_intel.tools.context.repositories.references import ForeignLine, ForeignLines
from code_intel.tools.wire.answers import COMMIT_DIGITS, MAX_SEARCH_TOKENS, within
from code_intel.tools.wire.reader import is_terminal
from code_intel.tools.wire.suspicion import flags_of, note_of

HEADING = "In other repositories, which is no evidence about this project:"
MAX_LINE_CHARS = 400
"""Maximum characters of a line."""


def rows_elsewhere(found: ForeignLines) -> list[dict[str, Any]]:
    """Return the lines as rows of an answer, which fit its budget; a terminal gets all."""
    rows = [row_elsewhere(line) for line in found.lines]
    return rows if is_terminal() else within(rows, MAX_SEARCH_TOKENS)


def text_elsewhere(rows: Sequence[Mapping[str, Any]], total: int) -> Iterator[str]:
    """Yield the rows as lines of text."""
    if not rows:
        yield "No other repository that was searched contains the name."
        return
    if note := note_of(rows):
        yield note
    yield HEADING
    yield from map(line_elsewhere, rows)
    if total > len(rows):
        yield f"… {total - len(rows)} more. Name fewer repositories to see them."


def line_elsewhere(row: Mapping[str, Any]) -> str:
    """Return a row as a line of text."""
    label = f"[{row['certainty']}] "
    place = f"{row['repository']}: {row['file']}:{row['line']}: "
    return visible(place + label + str(row["content"]).strip(), keep="\t")


def row_elsewhere(line: ForeignLine) -> dict[str, Any]:
    """Return a line as a row of an answer."""
    content = line.content[:MAX_LINE_CHARS]
    commit = {"commit": line.commit[:COMMIT_DIGITS]} if line.commit else {}
    return {
        "repository": line.repository,
        **commit,
        "file": line.file,
        "line": line.line,
        "content": content,
        "certainty": line.certainty.value,
        **flags_of(line.file, content),
    }
