"""Find and show the lines of other repositories that contain the name of a symbol."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from code_intel.foundation.text import visible
from code_intel.index.cancellation import run_read
from code_intel.records import Definition
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.repositories.opening import chosen_repositories
from code_intel.tools.context.repositories.references import ForeignLine, lines_elsewhere
from code_intel.tools.wire.answers import COMMIT_DIGITS, MAX_SEARCH_TOKENS, within
from code_intel.tools.wire.reader import is_terminal
from code_intel.tools.wire.suspicion import flags_of, note_of

HEADING = "In other repositories, which is no evidence about this project:"
MAX_LINE_CHARS = 400
"""Maximum characters of a line."""


class Elsewhere(NamedTuple):
    """The lines of other repositories as parts of an answer: its data, its text and its notes."""

    data: dict[str, Any]
    lines: list[str]
    notes: Sequence[str]


async def find_elsewhere(
    context: GatewayContext,
    repositories: Sequence[str],
    symbol: str,
    definitions: Sequence[Definition],
) -> Elsewhere:
    """Find the lines of other repositories with a symbol; a terminal gets all of them.

    Args:
        context: The project's context.
        repositories: The names of the repositories.
        symbol: The symbol.
        definitions: Where this project defines it.

    Raises:
        CodeIntelError: A repository is not known, or cannot be searched.
    """
    chosen = await run_in_thread(chosen_repositories, context, repositories)
    found = await run_read(lines_elsewhere, chosen, symbol, definitions)
    rows, total = [row_elsewhere(line) for line in found.lines], len(found.lines)
    shown = rows if is_terminal() else within(rows, MAX_SEARCH_TOKENS)
    data = {"elsewhere": shown, "elsewhere_total": total}
    return Elsewhere(data, list(_text(shown, total)), found.notes)


def _text(rows: Sequence[Mapping[str, Any]], total: int) -> Iterator[str]:
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
