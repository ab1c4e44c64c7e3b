"""Implement the tool `repo_pack`."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from code_intel.chunking import decode
from code_intel.errors import NotFoundError, UsageError
from code_intel.forest.text.globs import selector
from code_intel.forest.text.grep import list_files, listing_prefix, sizes_of
from code_intel.foundation.text import counted
from code_intel.index.corpus import MAX_FILE_BYTES, refusal
from code_intel.index.safe_files import read_inside, utf8_name
from code_intel.session import steps
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.prints import Passage, prints_in
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.wire.answers import tokens, within
from code_intel.tools.wire.pack_formats import WRITERS, Format, Piece
from code_intel.tools.wire.paging import Cursor, cursor_at, position_of
from code_intel.tools.wire.suspicion import flags_of, note_of

Globs = Annotated[list[Annotated[str, Field(min_length=1, max_length=300)]], Field(max_length=50)]
MAX_PAGE_TOKENS = 3500
"""Maximum tokens of files in one answer, which contains them twice: as data and as text."""
FILES_PER_PAGE = 60
MAX_PACK_FILES = 10_000
MAX_OPENED_FILES = 200
"""Maximum files to open for one page, including those that cannot be shown."""
MAX_SKIPPED_NAMES = 40
SKIPPED_FILES = "{} on this page cannot be shown; `skipped` lists at most {} of them."
MAX_CONTENT_ROWS = 80
"""Maximum rows of the table of contents; for more files, it lists folders."""
MAX_PACKED_LINE_CHARS = 1000
LINES_CUT = "Lines of more than {} characters are cut. Read them with search_text."
GENERATED = "Excluded: {} (lock files, bundles)."


async def repo_pack(
    context: GatewayContext,
    path: Annotated[str, Field(min_length=1, max_length=1000, description="A folder or a file.")],
    format: Annotated[  # noqa: A002 - the name on the wire
        Format, Field(description="Output format.")
    ] = "markdown",
    include: Annotated[Globs, Field(description="Globs to include, relative to path.")] = [],
    exclude: Annotated[Globs, Field(description="Globs to exclude, such as `tests/`.")] = [],
    cursor: Cursor = "",
    session_id: SessionId = None,
) -> Answer:
    """Pack the files below a folder into one text: a table of contents, then every file, in pages.

    Use it to read all of a small folder; context_bundle selects what is relevant for a goal.
    Ignored, hidden, binary and generated files are excluded; secret values are masked. `size_bytes`
    is the size of all files.
    """
    arguments = (path, format, tuple(include), tuple(exclude))
    first = position_of(cursor, *arguments)
    wanted = [selector(glob, "include") for glob in include]
    unwanted = [selector(glob, "exclude") for glob in exclude]
    async with context.optional_session(session_id, "repo_pack") as locked:
        listing = await list_files(context.root, path)
        sizes, generated = await run_in_thread(
            _chosen, context, listing.names, path, wanted, unwanted
        )
        packed = await run_in_thread(
            _page, context, format, list(sizes), path, first, begins=not cursor
        )
        if locked is not None:
            files = [piece.name for piece in packed.pieces]
            passages = [Passage(piece.name, piece.first, piece.text) for piece in packed.pieces]
            printed = await run_in_thread(prints_in, context, passages)
            await locked.append(
                steps.called("repo_pack", path, found=len(files), files=files, printed=printed)
            )
    following = (
        None
        if packed.next is None
        else cursor_at(packed.next[0], *arguments, within=packed.next[1])
    )
    rows = [_row(piece) for piece in packed.pieces]
    data: dict[str, Any] = {
        "content": packed.content,
        "path": path,
        "format": format,
        "size_bytes": sum(sizes.values()),
        "total_files": len(sizes),
        "files": rows,
        "truncated": listing.truncated or following is not None,
        "next_cursor": following,
    }
    if packed.skipped:
        data["skipped"] = [
            {"file": name, "reason": reason} for name, reason in packed.skipped[:MAX_SKIPPED_NAMES]
        ]
    warnings = [listing.note] if listing.note else []
    warnings += [GENERATED.format(counted(generated, "generated file"))] if generated else []
    if packed.skipped:
        count = counted(len(packed.skipped), "file")
        warnings.append(SKIPPED_FILES.format(count, MAX_SKIPPED_NAMES))
    warnings += [LINES_CUT.format(MAX_PACKED_LINE_CHARS)] if packed.cut else []
    if warnings:
        data["warnings"] = warnings
    lines = [note_of(rows)] if note_of(rows) else []
    lines += [packed.content, *warnings]
    if following:
        lines.append(f"Continue with cursor={following}")
    return Answer(data, "\n".join(lines))


def _chosen(
    context: GatewayContext,
    listed: Sequence[str],
    path: str,
    wanted: Sequence[Callable[[str], bool]],
    unwanted: Sequence[Callable[[str], bool]],
) -> tuple[dict[str, int], int]:
    """Return the files to pack with their sizes, and the number of excluded generated files.

    Raises:
        NotFoundError: There is no file to pack.
        UsageError: There are too many files.
    """
    base = listing_prefix(context.root, path)
    chosen = [name for name in listed if _is_wanted(name.removeprefix(base), wanted, unwanted)]
    names = [name for name in chosen if not refusal(name)]
    field = "include" if wanted or unwanted else "path"
    if len(names) > MAX_PACK_FILES:
        raise UsageError(
            f"There are {counted(len(names), 'file')} below {path[:200]}; the maximum is "
            f"{MAX_PACK_FILES}.",
            hint="Name a smaller folder, or narrow with include and exclude.",
            details={"field": field},
        )
    sizes = sizes_of(context.root, names)
    if not sizes:
        raise NotFoundError(
            f"There is no file to pack below {path[:200]}.",
            hint="Widen include, or name another folder. Ignored and hidden files are excluded.",
            details={"field": field},
        )
    return sizes, len(chosen) - len(names)


class PackPage(NamedTuple):
    """One page of a pack.

    Attributes:
        content: The formatted text.
        pieces: The pieces of files in it.
        skipped: Files that cannot be shown, with the reason.
        next: File index and line offset where the next page begins; None on the last page.
        cut: Whether a line was cut.
    """

    content: str
    pieces: list[Piece]
    skipped: list[tuple[str, str]]
    next: tuple[int, int] | None
    cut: bool


def _page(
    context: GatewayContext,
    chosen: Format,
    names: Sequence[str],
    path: str,
    first: tuple[int, int],
    *,
    begins: bool,
) -> PackPage:
    """Format files from a position on until the budget is spent, but at least one line."""
    writer = WRITERS[chosen]
    index, line = first
    parts = [writer.contents(path, _contents(names))] if begins else []
    remaining = MAX_PAGE_TOKENS - sum(map(_cost, parts))
    pieces: list[Piece] = []
    skipped: list[tuple[str, str]] = []
    opened, cut = 0, False
    while (
        index < len(names)
        and len(pieces) < FILES_PER_PAGE
        and opened < MAX_OPENED_FILES
        and remaining > 0
    ):
        lines, reason = _lines_of(context, names[index])
        opened += 1
        if reason or (line and line >= len(lines)):
            skipped += [(utf8_name(names[index]), reason)] if reason else []
            index, line = index + 1, 0
            continue
        last = _fitting(lines, line, remaining, alone=not pieces)
        if last == line and lines:
            break
        shown = [text[:MAX_PACKED_LINE_CHARS] for text in lines[line:last]]
        cut = cut or any(len(text) > MAX_PACKED_LINE_CHARS for text in lines[line:last])
        start = line + bool(lines)
        piece = Piece(utf8_name(names[index]), start, last, len(lines), "\n".join(shown))
        parts.append(writer.piece(piece))
        remaining -= _cost(parts[-1])
        pieces.append(piece)
        index, line = (index + 1, 0) if last == len(lines) else (index, last)
    next_position = (index, line) if index < len(names) else None
    return PackPage(writer.page(path, parts), pieces, skipped, next_position, cut)


def _lines_of(context: GatewayContext, name: str) -> tuple[list[str], str]:
    """Return the lines of a file on disk, or the reason why it cannot be shown."""
    try:
        data = read_inside(context.root, name)
    except (OSError, ValueError):
        return [], "cannot be read"
    if len(data) > MAX_FILE_BYTES:
        return [], "larger than 1 MiB"
    text = decode(data)
    if text is None:
        return [], "binary, or not in a known encoding"
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines, ""


def _fitting(lines: Sequence[str], start: int, budget: int, *, alone: bool) -> int:
    """Return the end of the lines that fit; at least one line if nothing precedes it (`alone`)."""
    end = start
    for text in lines[start:]:
        budget -= _cost(f"{text[:MAX_PACKED_LINE_CHARS]}\n    ")
        if budget < 0 and not (alone and end == start):
            break
        end += 1
    return end


def _contents(names: Sequence[str]) -> list[str]:
    """Return the rows of the table of contents that fit, and a row that counts the rest."""
    rows = _entries(names)
    shown_rows = within([{"": row} for row in rows[:MAX_CONTENT_ROWS]], MAX_PAGE_TOKENS // 2)
    more = len(rows) - len(shown_rows)
    return [*rows[: len(shown_rows)], f"… {more} more"] if more else rows


def _entries(names: Sequence[str]) -> list[str]:
    """Return the files, or their folders if there are too many files."""
    if len(names) <= MAX_CONTENT_ROWS:
        return list(map(utf8_name, names))
    deepest = max(name.count("/") for name in names)
    for depth in range(deepest, 0, -1):
        rows = Counter("/".join(name.split("/")[:-1][:depth]) for name in names)
        if len(rows) <= MAX_CONTENT_ROWS:
            break
    else:
        rows = Counter(name.split("/")[0] if "/" in name else "" for name in names)
    return [
        f"{utf8_name(folder) or '.'}/ ({counted(count, 'file')})" for folder, count in rows.items()
    ]


def _row(piece: Piece) -> dict[str, Any]:
    lines = {"file": piece.name, "start_line": piece.first, "end_line": piece.last}
    return lines | flags_of(piece.text, piece.name)


def _is_wanted(
    name: str, wanted: Sequence[Callable[[str], bool]], unwanted: Sequence[Callable[[str], bool]]
) -> bool:
    is_included = not wanted or any(matches(name) for matches in wanted)
    return is_included and not any(matches(name) for matches in unwanted)


def _cost(text: str) -> int:
    return tokens(json.dumps(text, ensure_ascii=False))
