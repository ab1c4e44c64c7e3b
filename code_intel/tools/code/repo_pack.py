"""Tool `repo_pack`."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from code_intel.chunking import decode
from code_intel.errors import NotFoundError, UsageError
from code_intel.forest.text.globs import selector
from code_intel.forest.text.grep import base_of, list_files, still_there
from code_intel.foundation.text import counted
from code_intel.index.corpus import LARGEST, refusal
from code_intel.index.reading import read_inside, utf8_name
from code_intel.session import steps
from code_intel.tools.context.gateway import GatewayContext, thread
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.wire.answers import tokens, within
from code_intel.tools.wire.pack_formats import WRITERS, Format, Piece
from code_intel.tools.wire.paging import Cursor, cursor_at, place_of
from code_intel.tools.wire.suspicion import flags_of, note_of

Globs = Annotated[list[Annotated[str, Field(min_length=1, max_length=300)]], Field(max_length=50)]
BUDGET = 3500
"""Tokens of files in one answer: it stands in it twice, as a field and as text."""
MOST_FILES = 60
"""Files of one page."""
MOST_PACKED = 10_000
"""Files of a pack."""
MOST_OPENED = 200
"""Files that are opened for one page, those that cannot be shown included."""
SKIPPED = 40
"""Of these, how many are named."""
UNSHOWN = "{} of this page cannot be shown; skipped names them, the first ones if there are many."
ROWS = 80
"""Rows of the table of contents; where there are more files, it lists folders."""
LONGEST = 1000
"""Characters of a line."""
CUT = "Lines of more than {} characters are cut; read them with search_text."
GENERATED = "Left out: {} (lock files, bundles)."


async def repo_pack(
    context: GatewayContext,
    path: Annotated[str, Field(min_length=1, max_length=1000, description="A folder or a file.")],
    format: Annotated[Format, Field(description="How it is written.")] = "markdown",  # noqa: A002 - its name on the wire
    include: Annotated[Globs, Field(description="Only files like these, from path: `*.py`.")] = [],
    exclude: Annotated[Globs, Field(description="No files like these: `tests/`.")] = [],
    cursor: Cursor = "",
    session_id: SessionId = None,
) -> Answer:
    """Pack the files below a folder into one text, page by page: a table of contents, then every file.

    Use it to read a small folder as a whole; context_bundle picks what matters for a goal. Ignored, hidden,
    binary and generated files are left out, secret values are masked. size_bytes is the size of all files.
    No other program packs, so there is no return code; what goes wrong is an error like any other.
    """
    asked = (path, format, tuple(include), tuple(exclude))
    first = place_of(cursor, *asked)
    wanted = [selector(glob, "include") for glob in include]
    unwanted = [selector(glob, "exclude") for glob in exclude]
    async with context.perhaps(session_id, "repo_pack") as held:
        listing = await list_files(context.root, path)
        sizes, generated = await thread(_chosen, context, listing.names, path, wanted, unwanted)
        made = await thread(_page, context, format, list(sizes), path, first, begins=not cursor)
        if held is not None:
            files = [piece.name for piece in made.pieces]
            await held.append(steps.called("repo_pack", path, found=len(files), files=files))
    following = None if made.next is None else cursor_at(made.next[0], *asked, within=made.next[1])
    rows = [_row(piece) for piece in made.pieces]
    data: dict[str, Any] = {
        "content": made.content,
        "path": path,
        "format": format,
        "size_bytes": sum(sizes.values()),
        "total_files": len(sizes),
        "files": rows,
        "truncated": listing.truncated or following is not None,
        "next_cursor": following,
    }
    if made.skipped:
        data["skipped"] = [{"file": name, "reason": why} for name, why in made.skipped[:SKIPPED]]
    warnings = [listing.note] if listing.note else []
    warnings += [GENERATED.format(counted(generated, "generated file"))] if generated else []
    warnings += [UNSHOWN.format(counted(len(made.skipped), "file"))] if made.skipped else []
    warnings += [CUT.format(LONGEST)] if made.cut else []
    if warnings:
        data["warnings"] = warnings
    lines = [note_of(rows)] if note_of(rows) else []
    lines += [made.content, *warnings]
    if following:
        lines.append(f"There is more: call again with cursor={following}")
    return Answer(data, "\n".join(lines))


def _chosen(
    context: GatewayContext,
    listed: Sequence[str],
    path: str,
    wanted: Sequence[Callable[[str], bool]],
    unwanted: Sequence[Callable[[str], bool]],
) -> tuple[dict[str, int], int]:
    """Return the files to pack with their bytes, and how many generated ones are left out.

    Raises:
        NotFoundError: There are none.
        UsageError: There are too many.
    """
    base = base_of(context.root, path)
    chosen = [name for name in listed if _is_wanted(name.removeprefix(base), wanted, unwanted)]
    names = [name for name in chosen if not refusal(name)]
    field = "include" if wanted or unwanted else "path"
    if len(names) > MOST_PACKED:
        raise UsageError(
            f"There are {counted(len(names), 'file')} below {path[:200]}; {MOST_PACKED} can be packed.",
            hint="Name a smaller folder, or narrow with include and exclude.",
            details={"field": field},
        )
    sizes = still_there(context.root, names)
    if not sizes:
        raise NotFoundError(
            f"There is no file to pack below {path[:200]}.",
            hint="Widen include, or name another folder; ignored and hidden files are never packed.",
            details={"field": field},
        )
    return sizes, len(chosen) - len(names)


class Made(NamedTuple):
    """One page.

    Attributes:
        content: As it is shown.
        pieces: What it has of which file.
        skipped: Files that cannot be shown, and why.
        next: The file, and the lines of it before, with which the next page begins; None after the last.
        cut: Whether a line was too long.
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
) -> Made:
    """Write files from a place on until the budget is spent; at least a line where no contents are."""
    writer = WRITERS[chosen]
    at, line = first
    parts = [writer.contents(path, _contents(names))] if begins else []
    left = BUDGET - sum(map(_cost, parts))
    pieces: list[Piece] = []
    skipped: list[tuple[str, str]] = []
    opened, cut = 0, False
    while at < len(names) and len(pieces) < MOST_FILES and opened < MOST_OPENED and left > 0:
        lines, why = _lines_of(context, names[at])
        opened += 1
        if why or (line and line >= len(lines)):
            skipped += [(utf8_name(names[at]), why)] if why else []
            at, line = at + 1, 0
            continue
        last = _fitting(lines, line, left, alone=not pieces)
        if last == line and lines:
            break
        shown = [text[:LONGEST] for text in lines[line:last]]
        cut = cut or any(len(text) > LONGEST for text in lines[line:last])
        piece = Piece(utf8_name(names[at]), line + bool(lines), last, len(lines), "\n".join(shown))
        parts.append(writer.piece(piece))
        left -= _cost(parts[-1])
        pieces.append(piece)
        at, line = (at + 1, 0) if last == len(lines) else (at, last)
    following = (at, line) if at < len(names) else None
    return Made(writer.page(path, parts), pieces, skipped, following, cut)


def _lines_of(context: GatewayContext, name: str) -> tuple[list[str], str]:
    """Return the lines of a file as they are on disk, or why it is not shown."""
    try:
        data = read_inside(context.root, name)
    except (OSError, ValueError):
        return [], "cannot be read"
    if len(data) > LARGEST:
        return [], "larger than 1 MiB"
    text = decode(data)
    if text is None:
        return [], "binary, or not in a known encoding"
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines, ""


def _fitting(lines: Sequence[str], start: int, budget: int, *, alone: bool) -> int:
    """Return the line up to which lines fit; one at least if the page would be empty otherwise."""
    end = start
    for text in lines[start:]:
        budget -= _cost(f"{text[:LONGEST]}\n    ")
        if budget < 0 and not (alone and end == start):
            break
        end += 1
    return end


def _contents(names: Sequence[str]) -> list[str]:
    """Return the rows of a table of contents as far as they fit, and how many more there are."""
    rows = _entries(names)
    kept = within([{"": row} for row in rows[:ROWS]], BUDGET // 2)
    more = len(rows) - len(kept)
    return [*rows[: len(kept)], f"… {more} more"] if more else rows


def _entries(names: Sequence[str]) -> list[str]:
    """Return the files, or where they are too many the folders they are in."""
    if len(names) <= ROWS:
        return list(map(utf8_name, names))
    deepest = max(name.count("/") for name in names)
    for depth in range(deepest, 0, -1):
        rows = Counter("/".join(name.split("/")[:-1][:depth]) for name in names)
        if len(rows) <= ROWS:
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
    fits = not wanted or any(means(name) for means in wanted)
    return fits and not any(means(name) for means in unwanted)


def _cost(text: str) -> int:
    return tokens(json.dumps(text, ensure_ascii=False))
