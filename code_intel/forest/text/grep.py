"""Regular expressions and whole words over the files on disk, through ripgrep.

ripgrep respects the project's ignore rules, matches in linear time and skips binary files. Without a
ripgrep that works, plain words are searched all the same, and the answer says so. Files that may hold
secrets are not searched, and secret values in others are masked (docs/decisions/0020).

ripgrep opens files by their paths, so a link swapped in while it runs could lead it out of the project. Its
matches are therefore taken for what they say of files that are read again without following any link, and
what is shown comes from there (docs/decisions/0030).
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
"""Seconds; a linear-time engine needs less for any repository a person works in."""
INSTALL = "Install it: pip install 'ripgrep>=14.1,<15', or your system's package."
_CHANGED = "Some files changed while they were searched and are left out; ask again."
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))  # fmt: skip
"""Byte order marks that ripgrep heeds, as it does by itself; all other text is UTF-8 to it."""


async def grep(
    root: Path, question: TextQuery, *, program: str = "", deadline: float = TIMEOUT_S
) -> TextMatches:
    """Return the matching lines below `root`.

    Args:
        root: The project.
        question: What to look for.
        program: Which ripgrep; by default what `find_program` finds.
        deadline: Seconds it may take.

    Raises:
        UsageError: The pattern is no regular expression, the type is unknown, or the path is
            missing or outside the root.
        CodeIntelError: `tool_missing` or `tool_failed`: there is no ripgrep that works, and the
            pattern is more than plain words.
    """
    path = _searched(root, question.path)
    # A few more, since some files are left out of the answer.
    wanted = replace(question, max_results=question.max_results + 50)
    program = program or find_program()
    try:
        found = await ripgrep.run(program, root, wanted, path, deadline)
    except ripgrep.RipgrepFailure as failure:
        found = await _without(root, wanted, path, deadline, failure, missing=not program)
        return _first(found, question.max_results)
    return await to_thread.run_sync(_presentable, root, found, question.max_results)


async def list_files(
    root: Path, path: str, file_type: str = "", *, program: str = "", deadline: float = TIMEOUT_S
) -> FileListing:
    """Return the files below `path` that are searched, whatever is in them: those git does not ignore.

    Not with ripgrep's own globs: they go over the ignore rules, so that `*` would mean what a project
    has hidden. Arguments and errors as in `grep`.

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
    """Return those of some listed files that are there without a link on the way, with their bytes."""
    sizes = ((name, size_inside(root, name)) for name in names)
    return {name: size for name, size in sizes if size is not None}


def base_of(root: Path, path: str) -> str:
    """Return what the names of `list_files` begin with below `path`: its folder with a slash, or nothing."""
    below = confined(root, path)
    folder = below if (root / below).is_dir() else below.rpartition("/")[0]
    return "" if folder in {"", "."} else f"{folder}/"


def find_program(beside: Path | None = None, search_path: str | None = None) -> str:
    """Return ripgrep: the one installed beside this interpreter, else the one on PATH, else nothing."""
    name = "rg.exe" if sys.platform == "win32" else "rg"
    installed = (beside or Path(sys.executable).parent) / name
    return str(installed) if installed.is_file() else shutil.which("rg", path=search_path) or ""


def confined(root: Path, path: str, field: str = "path") -> str:
    """Return `path` relative to `root`, links resolved, as the disk spells it; it must exist below `root`.

    Raises:
        UsageError: It does not; code `path_outside_root` when it is elsewhere. Names `field`.
    """
    try:
        real, top = real_path(spelled(real_path(root / path))), real_path(root)
    except OSError:
        raise UsageError(
            f"{path[:200]} is being replaced all the time.",
            hint="Ask again when it is at rest.",
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
    """Search plain words by ourselves; refuse expressions.

    Raises:
        CodeIntelError: The pattern is an expression.
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
    """Return `path` as `confined` does; it is a folder, or a file that may be searched.

    Raises:
        UsageError: It is elsewhere or missing; may hold secrets; or is a pipe, a socket or a device.
    """
    below = confined(root, path)
    hint = ""
    if refusal(below) == SECRET_REASON:
        why, hint = f"{SECRET_REASON} and is never searched", "What it holds is shown by no tool."
    elif not (root / below).is_file() and not (root / below).is_dir():
        why = "is no file and no folder"
    else:
        return below
    raise UsageError(f"{path[:200]} {why}.", hint=hint or None, details={"field": "path"})


def _first(found: TextMatches, most: int) -> TextMatches:
    """Return at most `most` of the matches, none of a file that may hold secrets."""
    kept = tuple(m for m in found.matches if refusal(m.file) != SECRET_REASON)
    return replace(found, matches=kept[:most], truncated=found.truncated or len(kept) > most)


def _presentable(root: Path, found: TextMatches, most: int) -> TextMatches:
    """Show of each match what its file says there, read without following links; leave out the others."""
    first = _first(found, most)
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
    """A file that ripgrep says it has found something in; binary and large ones have no lines."""

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
        # What makes a line's value a secret may be a line above: its name, or where a key begins.
        whole, found = mask(text)
        if found:
            self._masked = [line.rstrip("\r")[:MAX_LINE] for line in whole.split("\n")]

    def shown(self, match: TextMatch) -> TextMatch | None:
        """Return the match with its lines as they are here; None when they are others."""
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
    """Return a text as ripgrep takes it; None for what is binary."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    return None if b"\0" in data else data.decode("utf-8", "replace")


def _with_lines(match: TextMatch, lines: list[str]) -> TextMatch:
    """Return the match with its lines as they are in `lines`, the file's; spans say nothing then."""
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
