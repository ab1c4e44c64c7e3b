"""Search the files on disk for regular expressions and whole words, through ripgrep.

ripgrep respects ignore rules, matches in linear time and skips binary files. Without a working
ripgrep, only plain words can be searched for, and the result says so. Matches in files that may
hold secrets are dropped, and secret values in other files are masked (docs/decisions/0020).

ripgrep opens files by path, so a link that is created during the search could lead it out of the
project. Therefore each file with a match is read again without following links, and the result
shows what was read then (docs/decisions/0030).
"""

import codecs
import os
import shutil
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from anyio import to_thread

from code_intel.errors import CodeIntelError, UsageError
from code_intel.forest.text import plain, ripgrep
from code_intel.forest.text.matches import MAX_LINE, FileListing, TextMatch, TextMatches, TextQuery
from code_intel.foundation.redaction import mask
from code_intel.foundation.spelling import spelled
from code_intel.index.corpus import MAX_FILE_BYTES, SECRET_REASON, refusal
from code_intel.index.safe_files import read_inside, real_path, size_inside, utf8_name

__all__ = [
    "MAX_LINE",
    "TIMEOUT_S",
    "TextMatch",
    "TextMatches",
    "TextQuery",
    "base_of",
    "confined",
    "find_program",
    "grep",
    "list_files",
    "sizes_of",
]

TIMEOUT_S = 10.0
"""More than ripgrep needs for a repository of common size."""
INSTALL = "Install it: pip install 'ripgrep>=14.1,<15', or your system's package."
_CHANGED = "Files that changed during the search were omitted. Search again."
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Byte order marks that ripgrep recognises; it reads all other text as UTF-8."""


async def grep(
    root: Path, question: TextQuery, *, program: str = "", deadline: float = TIMEOUT_S
) -> TextMatches:
    """Return the matching lines below `root`.

    Args:
        root: The project.
        question: What to search for.
        program: Path of ripgrep; by default the result of `find_program`.
        deadline: Maximum seconds.

    Raises:
        UsageError: The pattern is not a regular expression, the type is unknown, or the path is
            missing or outside the root.
        CodeIntelError: `tool_missing` or `tool_failed`: there is no working ripgrep, and the
            pattern contains special characters.
    """
    path = _searched(root, question.path)
    # Ask for more, because the answer omits some files.
    wanted = replace(question, max_results=question.max_results + 50)
    program = program or find_program()
    try:
        found = await ripgrep.run(program, root, wanted, path, deadline)
    except ripgrep.RipgrepFailure as failure:
        found = await _without(root, wanted, path, deadline, failure, missing=not program)
        return _first(found, question.max_results)
    return await to_thread.run_sync(_verified, root, found, question.max_results)


async def list_files(
    root: Path, path: str, file_type: str = "", *, program: str = "", deadline: float = TIMEOUT_S
) -> FileListing:
    """Return the files below `path` that git does not ignore; see `grep` for the arguments.

    ripgrep's own globs are not used, because they override ignore rules.

    Raises:
        UsageError: The type is unknown, or the path is missing or outside the root.
    """
    below = _searched(root, path)
    program = program or find_program()
    try:
        found = await ripgrep.files(program, root, below, file_type, deadline)
    except ripgrep.RipgrepFailure as failure:
        names = await to_thread.run_sync(plain.names, root, below, file_type)
        found = FileListing(names, note=f"Listed without ripgrep, which {failure}. {INSTALL}")
    shown = (name for name in found.names if refusal(name) != SECRET_REASON)
    return found._replace(names=tuple(sorted(shown)))


def sizes_of(root: Path, names: Iterable[str]) -> dict[str, int]:
    """Return the sizes of those listed files that exist and are not behind a link."""
    sizes = ((name, size_inside(root, name)) for name in names)
    return {name: size for name, size in sizes if size is not None}


def base_of(root: Path, path: str) -> str:
    """Return the prefix of the names that `list_files` returns for `path`: a folder, or empty."""
    below = confined(root, path)
    folder = below if (root / below).is_dir() else below.rpartition("/")[0]
    return "" if folder in {"", "."} else f"{folder}/"


def find_program(beside: Path | None = None, search_path: str | None = None) -> str:
    """Return the path of ripgrep beside this interpreter, else on PATH, else an empty text."""
    name = "rg.exe" if sys.platform == "win32" else "rg"
    installed = (beside or Path(sys.executable).parent) / name
    return str(installed) if installed.is_file() else shutil.which("rg", path=search_path) or ""


def confined(root: Path, path: str, field: str = "path") -> str:
    """Return `path` relative to `root`, with links resolved, and spelled as on disk.

    Raises:
        UsageError: The path does not exist, or is outside `root` (code `path_outside_root`). The
            error names `field`.
    """
    try:
        real, top = real_path(spelled(real_path(root / path))), real_path(root)
    except OSError:
        raise UsageError(
            f"{path[:200]} keeps changing and cannot be resolved.",
            hint="Try again later.",
            details={"field": field},
        ) from None
    if not real.is_relative_to(top):
        raise UsageError(
            f"{path[:200]} is outside the project.",
            code="path_outside_root",
            hint="Give a path relative to the project's root.",
            details={"field": field},
        )
    if not os.path.exists(real):  # noqa: PTH110 - unlike Path.exists it takes a name too long
        raise UsageError(
            f"{path[:200]} does not exist.",
            hint=f"Give {field} relative to the project's root, as answers name files.",
            details={"field": field},
        )
    return real.relative_to(top).as_posix()


async def _without(
    root: Path,
    question: TextQuery,
    path: str,
    deadline: float,
    failure: ripgrep.RipgrepFailure,
    *,
    missing: bool,
) -> TextMatches:
    """Search for plain words without ripgrep.

    Raises:
        CodeIntelError: The pattern contains special characters.
    """
    if not plain.is_plain(question):
        raise CodeIntelError(
            f"ripgrep (rg) {failure}; without it only plain words can be searched.",
            code="tool_missing" if missing else "tool_failed",
            hint=f"{INSTALL} Or search for a plain word.",
        )
    found = await to_thread.run_sync(plain.search, root, question, path, deadline)
    return replace(found, note=f"Searched without ripgrep, which {failure}. {INSTALL}")


def _searched(root: Path, path: str) -> str:
    """Return `path` as `confined` does, if it is a folder or a file that may be searched.

    Raises:
        UsageError: The path is outside the root, is missing, may hold secrets, or is neither a file
            nor a folder.
    """
    below = confined(root, path)
    hint = ""
    if refusal(below) == SECRET_REASON:
        why, hint = f"{SECRET_REASON} and is never searched", "No tool shows its content."
    elif not (root / below).is_file() and not (root / below).is_dir():
        why = "is neither a file nor a folder"
    else:
        return below
    raise UsageError(f"{path[:200]} {why}.", hint=hint or None, details={"field": "path"})


def _first(found: TextMatches, limit: int) -> TextMatches:
    """Return at most `limit` matches, and none in files that may hold secrets."""
    kept = tuple(m for m in found.matches if refusal(m.file) != SECRET_REASON)
    return replace(found, matches=kept[:limit], truncated=found.truncated or len(kept) > limit)


def _verified(root: Path, found: TextMatches, limit: int) -> TextMatches:
    """Read the files again without following links, and drop the matches that are not found."""
    first = _first(found, limit)
    files = {file: _Source(root, file) for file in {match.file for match in first.matches}}
    shown = tuple(
        as_read
        for match in first.matches
        if (as_read := files[match.file].shown(match)) is not None
    )
    changed = any(source.changed for source in files.values())
    note = first.note or (_CHANGED if changed else "")
    return replace(first, matches=shown, truncated=first.truncated or changed, note=note)


class _Source:
    """The lines of a file with matches; none if the file is binary or large."""

    def __init__(self, root: Path, name: str) -> None:
        self.changed = False
        self._lines: list[str] = []
        self._masked: list[str] = []
        try:
            data = read_inside(root, name)
        except (OSError, ValueError):
            self.changed = True
            return
        if len(data) > MAX_FILE_BYTES or (text := _as_ripgrep_reads(data)) is None:
            return
        self._lines = text.split("\n")
        # Mask the whole text, because what marks a line as secret may be in a line above it.
        whole, found = mask(text)
        if found:
            self._masked = [line.rstrip("\r")[:MAX_LINE] for line in whole.split("\n")]

    def shown(self, match: TextMatch) -> TextMatch | None:
        """Return the match with its context as read from this file; None if its line differs."""
        place = match.line - 1
        if not self._lines:
            return None
        if place >= len(self._lines) or ripgrep.shown(self._lines[place]) != match.content:
            self.changed = True
            return None
        above = tuple(map(ripgrep.shown, self._lines[max(place - len(match.before), 0) : place]))
        below = tuple(map(ripgrep.shown, self._lines[place + 1 : place + 1 + len(match.after)]))
        here = replace(match, file=utf8_name(match.file), before=above, after=below)
        return _with_lines(here, self._masked)


def _as_ripgrep_reads(data: bytes) -> str | None:
    """Decode a file as ripgrep does; return None for a binary file."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    return None if b"\0" in data else data.decode("utf-8", "replace")


def _with_lines(match: TextMatch, lines: list[str]) -> TextMatch:
    """Return the match with the file's masked lines; without spans if its own line was masked."""
    place = match.line - 1
    if not lines or lines[place : place + 1] == [match.content]:
        changed = match
    else:
        changed = replace(match, content="".join(lines[place : place + 1]), spans=())
    if not lines or not (match.before or match.after):
        return changed
    return replace(
        changed,
        before=tuple(lines[max(place - len(match.before), 0) : place]),
        after=tuple(lines[place + 1 : place + 1 + len(match.after)]),
    )
