"""One run of ripgrep, which is not trusted to be there, whole, or quick.

It is given an argument vector that cannot turn a pattern into an option, no stdin, a process group of
its own, a deadline, and caps on what is read from it; it and its children die with the call.
"""

import base64
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import anyio
from anyio.abc import Process

from code_intel.errors import UsageError
from code_intel.forest.text.matches import MAX_LINE, FileListing, TextMatch, TextMatches, TextQuery
from code_intel.foundation import processes
from code_intel.foundation.redaction import masked

MAX_OUTPUT = 8 << 20
MAX_LISTING = 32 << 20
"""Bytes of names: some half a million files."""
MAX_MESSAGE = 4096
READ_OF_A_LINE = 1 << 15
"""Characters of a line in which secrets are looked for; what is shown is far shorter."""
MAX_SPANS = 100
DEADLINE_NOTE = "The search was stopped after {} seconds; narrow it with path or file_type."
OUTPUT_NOTE = "There was more than can be read; narrow the pattern."
_TYPES = {"javascript": "js", "bash": "sh", "tsx": "ts"}
"""Languages that ripgrep calls by another name than we do."""
LISTING_NOTE = "There are more files than can be listed; narrow with path."


class RipgrepFailure(Exception):  # noqa: N818 - never leaves the package: somebody else searches then
    """The program cannot be started or is not the one we know; says why."""


async def run(
    program: str, root: Path, question: TextQuery, path: str, deadline: float
) -> TextMatches:
    """Return the matching lines below `path`, which is relative to `root`; no program is a failure.

    Raises:
        UsageError: The pattern is no regular expression, or the type is unknown.
        RipgrepFailure: The program does not work.
    """
    reading = _Reading(question)
    end = await _carried_out(program, root, _arguments(question, path), deadline, reading.collect)
    if reading.garbage:
        raise RipgrepFailure(f"answers what it should not: {reading.garbage}")
    if reading.whole and end.code not in {0, 1}:
        _refused(question.file_type, question.pattern, end)
    note = DEADLINE_NOTE.format(f"{deadline:g}") if end.late else reading.note
    return TextMatches(tuple(reading.found[: question.max_results]), not reading.whole, note)


async def files(
    program: str, root: Path, path: str, file_type: str, deadline: float
) -> FileListing:
    """Return the files below `path` that would be searched, of any size, in no order.

    Raises:
        UsageError: The type is unknown.
        RipgrepFailure: The program does not work.
    """
    names = bytearray()
    whole = False

    async def collect(process: Process) -> None:
        nonlocal whole
        assert process.stdout is not None  # noqa: S101 - asked for a pipe
        async for part in process.stdout:
            names.extend(part)
            if len(names) > MAX_LISTING:
                return
        await process.wait()
        whole = True

    flags = ["--files", "--null", "--no-messages", "--no-config", "--no-ignore-dot"]
    flags += _typed(file_type)
    end = await _carried_out(program, root, [*flags, "--", path], deadline, collect)
    if whole and end.code not in {0, 1}:
        _refused(file_type, "", end)
    *listed, _ = bytes(names).split(b"\0")
    note = "" if whole else DEADLINE_NOTE.format(f"{deadline:g}") if end.late else LISTING_NOTE
    return FileListing(
        tuple(os.fsdecode(name).removeprefix("./") for name in listed), not whole, note
    )


class _End(NamedTuple):
    """How a run ended: its code, what it said on stderr, whether it took too long."""

    code: int
    message: str
    late: bool


async def _carried_out(
    program: str,
    root: Path,
    arguments: Sequence[str],
    deadline: float,
    read: Callable[[Process], Awaitable[None]],
) -> _End:
    """Run the program until `read` has read enough of it, then end it.

    Raises:
        RipgrepFailure: There is none, or it cannot be started.
    """
    if not program:
        raise RipgrepFailure("was not found")
    try:
        process = await processes.start([program, *arguments], root)
    except OSError as error:
        raise RipgrepFailure(f"cannot be started: {error.strerror or error}") from error
    message = bytearray()
    with anyio.move_on_after(deadline) as scope:
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(processes.read_output, process.stderr, message, MAX_MESSAGE)
                await read(process)
                group.cancel_scope.cancel()
        finally:
            await processes.end(process)
    said = message.decode("utf-8", "replace")
    return _End(process.returncode or 0, said, scope.cancelled_caught)


@dataclass
class _Reading:
    """What was read of a run so far.

    Attributes:
        question: What was asked.
        found: The matches, one more than wanted at the most.
        size: Bytes.
        whole: Whether it ended by itself.
        note: Why it was cut short, if the reader can do something about it.
        garbage: What was no answer of ripgrep's, or empty.
    """

    question: TextQuery
    found: list[TextMatch] = field(default_factory=list)
    size: int = 0
    whole: bool = False
    note: str = ""
    garbage: str = ""

    async def collect(self, process: Process) -> None:
        """Read matches until there are more than wanted, or wait for the end."""
        try:
            async for match in _matches(process, self):
                self.found.append(match)
                if len(self.found) > self.question.max_results:
                    return
        except (ValueError, RecursionError) as error:
            self.garbage = str(error)[:100] or "nested too deeply"
            return
        if self.size > MAX_OUTPUT:
            self.note = OUTPUT_NOTE
            return
        await process.wait()
        self.whole = True


def _refused(file_type: str, pattern: str, end: _End) -> None:
    """Raise what a refusal means: the caller's mistake, or a program that does not work.

    Raises:
        UsageError: The pattern or the type is wrong.
        RipgrepFailure: Anything else.
    """
    code, reason = end.code, " ".join(end.message.split())[:300]
    if code > 0 and "file type" in reason:
        wrong, value, hint = "file_type", file_type, "Use a ripgrep type such as py, ts, go."
    elif code > 0 and ("regex" in reason or "pattern" in reason):
        wrong, value = "pattern", pattern
        hint = "Escape special characters, or search for a plain word."
    else:
        ended = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
        raise RipgrepFailure(f"{ended}: {reason}" if reason else ended)
    raise UsageError(
        f"{wrong} cannot be used: {reason}",
        hint=hint,
        details={"field": wrong, "value": value[:200]},
    )


def _arguments(question: TextQuery, path: str) -> list[str]:
    flags = ["--json", "--sort=path", "--max-filesize=1M", "--no-messages", "--no-config"]
    flags += ["--no-ignore-dot"]  # what the index holds is searched: git's rules and no other's
    flags += ["--case-sensitive" if question.case_sensitive else "--ignore-case"]
    flags += ["--fixed-strings", "--word-regexp"] if question.literal else []
    flags += _typed(question.file_type)
    flags += [f"--context={question.context_lines}"] if question.context_lines else []
    return [*flags, "-e", question.pattern, "--", path]


def _typed(file_type: str) -> list[str]:
    return [f"--type={_TYPES.get(file_type.lower(), file_type)}"] if file_type else []


async def _matches(process: Process, reading: _Reading) -> AsyncIterator[TextMatch]:
    """Yield matches from ripgrep's JSON lines, each with its context."""
    context = reading.question.context_lines
    before: list[str] = []
    current: TextMatch | None = None
    async for kind, data in _events(process, reading):
        if kind == "match":
            if current is not None:
                yield current
            current = _match(data, tuple(before[-context:] if context else ()))
            before = []
        elif kind == "context":
            text = shown(_text(data.get("lines")))
            before.append(text)
            if current is not None and len(current.after) < context:
                current = replace(current, after=(*current.after, text))
        elif kind == "end":
            before = []
    if current is not None:
        yield current


async def _events(process: Process, reading: _Reading) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    """Yield (type, data) of each line.

    Raises:
        ValueError: A line is none of ripgrep's.
    """
    assert process.stdout is not None  # noqa: S101 - asked for a pipe
    rest = b""
    async for part in process.stdout:
        reading.size += len(part)
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            event = json.loads(line)
            if not isinstance(event, dict) or not isinstance(event.get("data", {}), dict):
                raise ValueError("a line that is no event")  # noqa: TRY004 - one kind of garbage
            yield str(event.get("type")), event.get("data", {})
        if reading.size > MAX_OUTPUT:
            return


def _match(data: dict[str, Any], before: tuple[str, ...]) -> TextMatch:
    """Read one match.

    Raises:
        ValueError: It lacks what every match has.
    """
    file = _text(data.get("path"), "surrogateescape")
    number, spans = data.get("line_number"), data.get("submatches")
    if not isinstance(number, int) or not isinstance(spans, list):
        raise ValueError("a match without its place")  # noqa: TRY004 - one kind of garbage
    raw = _bytes(data.get("lines"))
    line = masked(raw.decode("utf-8", "replace")[:READ_OF_A_LINE])
    places = tuple(_span(raw, line, span) for span in spans[:MAX_SPANS])
    return TextMatch(file.removeprefix("./"), number, _cut(line), places, before)


def _span(raw: bytes, line: str, span: Any) -> tuple[str, int, int]:
    """Return what matched and where, as it is shown: ripgrep counts bytes, a line is read in characters."""
    if not isinstance(span, dict):
        raise ValueError("a submatch that is none")  # noqa: TRY004 - one kind of garbage
    start, end = span.get("start"), span.get("end")
    if not isinstance(start, int) or not isinstance(end, int):
        raise ValueError("a submatch without its place")  # noqa: TRY004 - one kind of garbage
    first = len(raw[:start].decode("utf-8", "replace"))
    length = len(raw[start:end].decode("utf-8", "replace"))
    return _cut(line[first : first + length]), first, first + length


def shown(text: str) -> str:
    """Return a line of a file as it is shown: without its end, masked, and not too long."""
    return _cut(masked(text[:READ_OF_A_LINE]))


def _cut(line: str) -> str:
    return line.rstrip("\r\n")[:MAX_LINE]


def _text(value: Any, errors: str = "replace") -> str:
    """Return ripgrep's text, or its base64 bytes as text; ValueError when it is neither."""
    return _bytes(value).decode("utf-8", errors)


def _bytes(value: Any) -> bytes:
    """Return the bytes behind ripgrep's text, or its base64.

    Raises:
        ValueError: It is neither.
    """
    if isinstance(value, dict):
        if isinstance(value.get("text"), str):
            return str(value["text"]).encode("utf-8", "replace")
        if isinstance(value.get("bytes"), str):
            return base64.b64decode(value["bytes"])
    raise ValueError("a text that is none")
