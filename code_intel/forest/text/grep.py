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
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from anyio import to_thread

from code_intel.chunking import decode
from code_intel.config.own_files import is_own
from code_intel.errors import CodeIntelError, UsageError
from code_intel.forest.text import plain, ripgrep
from code_intel.forest.text.matches import MAX_LINE, FileListing, TextMatch, TextMatches, TextQuery
from code_intel.foundation.installing import install_command
from code_intel.foundation.redaction import mask_file
from code_intel.foundation.spelling import spelled
from code_intel.index.corpus import MAX_FILE_BYTES, SECRET_REASON, refusal
from code_intel.index.safe_files import read_inside, real_path, size_inside, utf8_name

__all__ = [
    "MAX_LINE",
    "TIMEOUT_S",
    "TextMatch",
    "TextMatches",
    "TextQuery",
    "confined",
    "find_ripgrep",
    "grep",
    "list_files",
    "listing_prefix",
    "sizes_of",
]

TIMEOUT_S = 10.0
"""More than ripgrep needs for a repository of common size."""
REQUIREMENT = "ripgrep>=14.1,<15"
_CHANGED_NOTE = "Files that changed during the search were omitted. Search again."
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Byte order marks that ripgrep recognises; it reads all other text as UTF-8."""


async def grep(
    root: Path,
    query: TextQuery,
    *,
    program: str = "",
    timeout_s: float = TIMEOUT_S,
    wanted: Callable[[TextMatch], bool] | None = None,
) -> TextMatches:
    """Return the matching lines below `root`.

    Files of code-intel itself are only searched if the path of the query names them.

    Args:
        root: The project.
        query: What to search for.
        program: Path of ripgrep; by default the result of `find_ripgrep`.
        timeout_s: Maximum seconds.
        wanted: Which lines to return; only their files are read again. The limit of matches
            applies before.

    Raises:
        UsageError: The pattern is not a regular expression, the type is unknown, or the path is
            missing or outside the root.
        CodeIntelError: `tool_missing` or `tool_failed`: there is no working ripgrep, and the
            pattern contains special characters.
    """
    path = _searchable_path(root, query.path)
    # Ask for more matches than requested, because some are omitted from the result.
    wider_query = replace(query, max_results=query.max_results + 50)
    program = program or find_ripgrep()
    if not (is_own(path) or is_own(f"{path}/.")):
        wanted = _without_own(wanted)
    try:
        found = await ripgrep.run(program, root, wider_query, path, timeout_s)
    except ripgrep.RipgrepFailure as failure:
        found = await _search_without_ripgrep(
            root, wider_query, path, timeout_s, failure, missing=not program
        )
        return _allowed_matches(_only(found, wanted), query.max_results)
    found = _only(found, wanted)
    return await to_thread.run_sync(_verify_matches, root, found, query.max_results)


async def list_files(
    root: Path, path: str, file_type: str = "", *, program: str = "", timeout_s: float = TIMEOUT_S
) -> FileListing:
    """Return the files below `path` that git does not ignore; see `grep` for the arguments.

    ripgrep's own globs are not used, because they override ignore rules.

    Raises:
        UsageError: The type is unknown, or the path is missing or outside the root.
    """
    relative_path = _searchable_path(root, path)
    program = program or find_ripgrep()
    try:
        found = await ripgrep.files(program, root, relative_path, file_type, timeout_s)
    except ripgrep.RipgrepFailure as failure:
        names = await to_thread.run_sync(plain.list_names, root, relative_path, file_type)
        found = FileListing(names, note=f"Listed without ripgrep, which {failure}. {_remedy()}")
    allowed = (name for name in found.names if refusal(name) != SECRET_REASON)
    return found._replace(names=tuple(sorted(allowed)))


def sizes_of(root: Path, names: Iterable[str]) -> dict[str, int]:
    """Return the sizes of those listed files that exist and are not behind a link."""
    sizes = ((name, size_inside(root, name)) for name in names)
    return {name: size for name, size in sizes if size is not None}


def listing_prefix(root: Path, path: str) -> str:
    """Return the prefix of the names that `list_files` returns for `path`: a folder, or empty."""
    relative_path = confined(root, path)
    is_folder = (root / relative_path).is_dir()
    folder = relative_path if is_folder else relative_path.rpartition("/")[0]
    return "" if folder in {"", "."} else f"{folder}/"


def find_ripgrep(beside: Path | None = None, search_path: str | None = None) -> str:
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
    except ValueError:
        raise UsageError(
            "A path cannot contain a null character.",
            hint=f"Give {field} as answers name files.",
            details={"field": field},
        ) from None
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


def _remedy() -> str:
    command = install_command(REQUIREMENT)
    return f"Install a working ripgrep (`{command}`), or use your system's package."


async def _search_without_ripgrep(
    root: Path,
    query: TextQuery,
    path: str,
    timeout_s: float,
    failure: ripgrep.RipgrepFailure,
    *,
    missing: bool,
) -> TextMatches:
    """Search for plain words without ripgrep.

    Raises:
        CodeIntelError: The pattern contains special characters.
    """
    if not plain.is_plain(query):
        raise CodeIntelError(
            f"ripgrep (rg) {failure}. Without it, only plain words can be searched for.",
            code="tool_missing" if missing else "tool_failed",
            hint=f"{_remedy()} Or search for a plain word.",
        )
    found = await to_thread.run_sync(plain.search, root, query, path, timeout_s)
    return replace(found, note=f"Searched without ripgrep, which {failure}. {_remedy()}")


def _searchable_path(root: Path, path: str) -> str:
    """Return `path` as `confined` does, if it is a folder or a file that may be searched.

    Raises:
        UsageError: The path is outside the root, is missing, may hold secrets, or is neither a file
            nor a folder.
    """
    relative_path = confined(root, path)
    hint = ""
    if refusal(relative_path) == SECRET_REASON:
        reason, hint = f"{SECRET_REASON} and is never searched", "No tool shows its content."
    elif not (root / relative_path).is_file() and not (root / relative_path).is_dir():
        reason = "is neither a file nor a folder"
    else:
        return relative_path
    raise UsageError(f"{path[:200]} {reason}.", hint=hint or None, details={"field": "path"})


def _without_own(wanted: Callable[[TextMatch], bool] | None) -> Callable[[TextMatch], bool]:
    return lambda match: not is_own(match.file) and (wanted is None or wanted(match))


def _only(found: TextMatches, wanted: Callable[[TextMatch], bool] | None) -> TextMatches:
    return replace(found, matches=tuple(filter(wanted, found.matches))) if wanted else found


def _allowed_matches(found: TextMatches, limit: int) -> TextMatches:
    """Return at most `limit` matches, and none in files that may hold secrets."""
    kept = tuple(m for m in found.matches if refusal(m.file) != SECRET_REASON)
    return replace(found, matches=kept[:limit], truncated=found.truncated or len(kept) > limit)


def _verify_matches(root: Path, found: TextMatches, limit: int) -> TextMatches:
    """Read the files again without following links, and drop the matches that are not found."""
    allowed = _allowed_matches(found, limit)
    files = {file: _MatchedFile(root, file) for file in {match.file for match in allowed.matches}}
    verified = tuple(
        as_read
        for match in allowed.matches
        if (as_read := files[match.file].verify(match)) is not None
    )
    has_changed = any(file.has_changed for file in files.values())
    note = allowed.note or (_CHANGED_NOTE if has_changed else "")
    truncated = allowed.truncated or has_changed
    return replace(allowed, matches=verified, truncated=truncated, note=note)


class _MatchedFile:
    """The lines of a file with matches; none if the file is binary or large."""

    def __init__(self, root: Path, name: str) -> None:
        self.has_changed = False
        self._lines: list[str] = []
        self._shown_lines: list[str] = []
        try:
            data = read_inside(root, name)
        except (OSError, ValueError):
            self.has_changed = True
            return
        if len(data) > MAX_FILE_BYTES or (text := _decode_like_ripgrep(data)) is None:
            return
        self._lines = text.split("\n")
        # The whole text is masked, because what marks a line as secret may be in a line above it.
        # ripgrep reads other encodings as UTF-8 with errors; their lines end at the same bytes.
        shown = decode(data)
        if shown is None:
            shown = mask_file(text)[0]
        if shown != text:
            self._shown_lines = [line.rstrip("\r")[:MAX_LINE] for line in shown.split("\n")]

    def verify(self, match: TextMatch) -> TextMatch | None:
        """Return the match with its context as read from this file; None if its line differs."""
        index = match.line - 1
        if not self._lines:
            return None
        if index >= len(self._lines) or ripgrep.displayed(self._lines[index]) != match.content:
            self.has_changed = True
            return None
        before = self._lines[max(index - len(match.before), 0) : index]
        after = self._lines[index + 1 : index + 1 + len(match.after)]
        as_read = replace(
            match,
            file=utf8_name(match.file),
            before=tuple(map(ripgrep.displayed, before)),
            after=tuple(map(ripgrep.displayed, after)),
        )
        return _with_shown_lines(as_read, self._shown_lines)


def _decode_like_ripgrep(data: bytes) -> str | None:
    """Decode a file as ripgrep does; return None for a binary file."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    return None if b"\0" in data else data.decode("utf-8", "replace")


def _with_shown_lines(match: TextMatch, lines: list[str]) -> TextMatch:
    """Return the match with the file's lines as shown; without spans if its own line differs."""
    if not lines:
        return match
    index = match.line - 1
    if lines[index : index + 1] != [match.content]:
        match = replace(match, content="".join(lines[index : index + 1]), spans=())
    return replace(
        match,
        before=tuple(lines[max(index - len(match.before), 0) : index]),
        after=tuple(lines[index + 1 : index + 1 + len(match.after)]),
    )
