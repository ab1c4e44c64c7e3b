"""Regular expressions and whole words over the files on disk, through ripgrep.

ripgrep respects the project's ignore rules, matches in linear time and skips binary files. Without a
ripgrep that works, plain words are searched all the same, and the answer says so. Files that may hold
secrets are not searched, and secret values in others are masked (docs/decisions/0020).
"""

import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

from anyio import to_thread

from code_intel.chunking import decode
from code_intel.errors import CodeIntelError, UsageError
from code_intel.forest import plain, ripgrep
from code_intel.forest.matches import MAX_LINE, Match, Matches, Question
from code_intel.index.corpus import refusal
from code_intel.redaction import masked
from code_intel.spelling import spelled

__all__ = [
    "DEADLINE",
    "MAX_LINE",
    "Match",
    "Matches",
    "Question",
    "confined",
    "find_program",
    "grep",
]

DEADLINE = 10.0
"""Seconds; a linear-time engine needs less for any repository a person works in."""
INSTALL = "Install it: pip install 'ripgrep>=14.1,<15', or your system's package."
_DENIED = "may hold secrets"
"""As `index.corpus` says it."""
_KEY_BLOCK = b"PRIVATE KEY"
"""The one secret of many lines: to know that a line is inside one, its file must be seen."""


async def grep(
    root: Path, question: Question, *, program: str = "", deadline: float = DEADLINE
) -> Matches:
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
    path = confined(root, question.path)
    if refusal(path.rpartition("/")[2]) == _DENIED:
        raise UsageError(
            f"{question.path[:200]} may hold secrets and is never searched.",
            details={"field": "path"},
        )
    # A few more, since some files are left out of the answer.
    wanted = replace(question, max_results=question.max_results + 50)
    program = program or find_program()
    try:
        found = await ripgrep.run(program, root, wanted, path, deadline)
    except ripgrep.RipgrepFailure as failure:
        found = await _without(root, wanted, path, deadline, failure, missing=not program)
    return await to_thread.run_sync(_presentable, root, found, question.max_results)


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
    real, top = _real(spelled(_real(root / path))), _real(root)
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


def _real(path: Path) -> Path:
    """Return where a path really is; unlike Path.resolve it does not fail on a loop of links."""
    return Path(os.path.realpath(path))


async def _without(
    root: Path,
    question: Question,
    path: str,
    deadline: float,
    failure: ripgrep.RipgrepFailure,
    *,
    missing: bool,
) -> Matches:
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


def _presentable(root: Path, found: Matches, most: int) -> Matches:
    """Leave out files that may hold secrets, and mask the lines of key blocks in the others."""
    kept = [m for m in found.matches if refusal(m.file.rpartition("/")[2]) != _DENIED]
    blocks = {file: _key_lines(root / file) for file in {match.file for match in kept}}
    shown = [_without_key(match, blocks[match.file]) for match in kept]
    return replace(
        found, matches=tuple(shown[:most]), truncated=found.truncated or len(shown) > most
    )


def _key_lines(file: Path) -> list[str]:
    """Return the lines of a file with a private key in it, masked; of any other, nothing."""
    try:
        data = file.read_bytes()
    except OSError:
        return []
    if _KEY_BLOCK not in data.replace(b"\0", b""):  # UTF-16, which ripgrep reads
        return []
    text = decode(data) or masked(data.decode("utf-8", "replace"))
    return [line.rstrip("\r")[:MAX_LINE] for line in text.split("\n")]


def _without_key(match: Match, lines: list[str]) -> Match:
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
