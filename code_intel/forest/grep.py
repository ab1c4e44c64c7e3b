"""Regular expressions and whole words over the files on disk, through ripgrep.

ripgrep respects the project's ignore rules, matches in linear time and skips binary files. It is given
an argument vector that cannot turn a pattern into an option, no stdin, a deadline, and a cap on what is
read from it; when the caller is cancelled it dies with the call.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import Process

from code_intel.errors import CodeIntelError, UsageError

DEADLINE = 10.0
"""Seconds; a linear-time engine needs less for any repository a person works in."""
MAX_OUTPUT = 8 << 20
MAX_LINE = 500


@dataclass(frozen=True, slots=True)
class Match:
    """One matching line: path relative to the root, 1-based line, the line without its end."""

    file: str
    line: int
    content: str
    spans: tuple[tuple[str, int, int], ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Matches:
    """What was found, in order of path and line; `truncated` when there was more."""

    matches: tuple[Match, ...]
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """What to look for.

    Attributes:
        pattern: A regular expression, or plain text when `literal`.
        literal: Take the pattern as text, and only where it is a whole word.
        path: Folder or file to look in, relative to the root.
        file_type: A ripgrep type such as `py`, or empty.
        case_sensitive: As it says.
        context_lines: Lines before and after each match.
        max_results: At most this many matches in all.
    """

    pattern: str
    literal: bool = False
    path: str = "."
    file_type: str = ""
    case_sensitive: bool = True
    context_lines: int = 0
    max_results: int = 100


async def grep(root: Path, question: Question) -> Matches:
    """Return the matching lines below `root`.

    Raises:
        UsageError: The pattern is no regular expression, the type is unknown, or the path is
            missing or outside the root.
    """
    command = _command(question, confined(root, question.path))
    found: list[Match] = []
    truncated = False
    with anyio.move_on_after(DEADLINE) as scope:
        process = await anyio.open_process(
            command, cwd=root, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        try:
            async for match in _matches(process, question.context_lines):
                if len(found) == question.max_results:
                    truncated = True
                    break
                found.append(match)
            else:
                truncated = await _ended(process, question)
        finally:
            with anyio.CancelScope(shield=True):
                if process.returncode is None:
                    process.kill()
                await process.aclose()
    return Matches(tuple(found), truncated or scope.cancelled_caught)


def confined(root: Path, path: str, field: str = "path") -> str:
    """Return `path` relative to `root`, links resolved; it must exist below `root`.

    Raises:
        UsageError: It does not; code `path_outside_root` when it is elsewhere. Names `field`.
    """
    real, top = _real(root / path), _real(root)
    if not real.is_relative_to(top):
        raise UsageError(
            f"{path[:200]} is outside the project.",
            code="path_outside_root",
            hint="Give a path relative to the project's root.",
            details={"field": field},
        )
    if not os.path.exists(real):  # noqa: PTH110 - unlike Path.exists it takes a name too long
        raise UsageError(f"{path[:200]} does not exist.", details={"field": field})
    return real.relative_to(top).as_posix()


def _real(path: Path) -> Path:
    """Return where a path really is; unlike Path.resolve it does not fail on a loop of links."""
    return Path(os.path.realpath(path))


def _command(question: Question, path: str) -> list[str]:
    flags = ["--json", "--sort=path", "--max-filesize=1M", "--no-messages", "--no-config"]
    flags += ["--case-sensitive" if question.case_sensitive else "--ignore-case"]
    flags += ["--fixed-strings", "--word-regexp"] if question.literal else []
    flags += [f"--type={question.file_type}"] if question.file_type else []
    flags += [f"--context={question.context_lines}"] if question.context_lines else []
    return [_program(), *flags, "-e", question.pattern, "--", path]


def _program() -> str:
    """Return ripgrep: the one installed beside this interpreter, else the one on PATH."""
    beside = Path(sys.executable).with_name("rg.exe" if sys.platform == "win32" else "rg")
    program = str(beside) if beside.exists() else shutil.which("rg")
    if program is None:
        raise CodeIntelError(
            "ripgrep (rg) was not found.",
            code="tool_missing",
            hint="Install it: pip install 'ripgrep>=14.1,<15', or your system's package.",
        )
    return program


async def _matches(process: Process, context: int) -> AsyncIterator[Match]:
    """Yield matches from ripgrep's JSON lines, each with its context."""
    before: list[str] = []
    current: Match | None = None
    async for event in _events(process):
        kind, data = event["type"], event.get("data", {})
        if kind == "match":
            if current is not None:
                yield current
            current = _match(data, tuple(before[-context:] if context else ()))
            before = []
        elif kind == "context":
            text = _text(data["lines"])
            before.append(text)
            if current is not None and len(current.after) < context:
                current = _with_after(current, text)
        elif kind == "end":
            before = []
    if current is not None:
        yield current


async def _events(process: Process) -> AsyncIterator[dict[str, Any]]:
    assert process.stdout is not None  # noqa: S101 - asked for a pipe
    rest, size = b"", 0
    async for data in process.stdout:
        size += len(data)
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            yield json.loads(line)
        if size > MAX_OUTPUT:
            process.kill()
            return


async def _ended(process: Process, question: Question) -> bool:
    """Return whether we cut it short; raise when ripgrep refused the question."""
    assert process.stderr is not None  # noqa: S101 - asked for a pipe
    message = b"".join([part async for part in process.stderr]).decode("utf-8", "replace")
    code = await process.wait()
    if code > 1:
        reason = " ".join(message.split())[:300] or "ripgrep refused it"
        field = "file_type" if "file type" in reason else "pattern"
        raise UsageError(
            f"{field} cannot be used: {reason}",
            hint="Escape special characters, or search for a plain word."
            if field == "pattern"
            else "Use a ripgrep type such as py, ts, go.",
            details={"field": field, "value": question.pattern[:200]},
        )
    return code < 0


def _match(data: dict[str, Any], before: tuple[str, ...]) -> Match:
    spans = tuple((_text(s["match"]), s["start"], s["end"]) for s in data["submatches"])
    path = _text(data["path"]).removeprefix("./")
    return Match(path, data["line_number"], _text(data["lines"]), spans, before)


def _with_after(match: Match, text: str) -> Match:
    return Match(
        match.file, match.line, match.content, match.spans, match.before, (*match.after, text)
    )


def _text(value: dict[str, str]) -> str:
    """Return ripgrep's text, or its base64 bytes as replaced text, cut to a readable length."""
    import base64

    text = value.get("text")
    if text is None:
        text = base64.b64decode(value["bytes"]).decode("utf-8", "replace")
    return text.rstrip("\r\n")[:MAX_LINE]
