"""Run ripgrep once, within limits.

It gets no stdin, and a pattern cannot become an option. Its time and output are limited. It runs in
its own process group, so that it and its children end with the call.
"""

import base64
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from anyio.abc import Process

from code_intel.errors import UsageError
from code_intel.forest.text.matches import MAX_LINE, FileListing, TextMatch, TextMatches, TextQuery
from code_intel.foundation import processes
from code_intel.foundation.processes import RunEnd
from code_intel.foundation.redaction import masked

MAX_OUTPUT = 8 << 20
MAX_LISTING = 32 << 20
"""Maximum bytes of file names, enough for about half a million files."""
MAX_MASKED_CHARS = 1 << 15
"""Maximum characters of a line that are searched for secrets; far fewer are displayed."""
MAX_SPANS = 100
TIMEOUT_NOTE = "The search was stopped after {} seconds. Narrow it with path or file_type."
OUTPUT_NOTE = "There are more matches than can be read. Narrow the pattern."
_TYPES = {"javascript": "js", "bash": "sh", "tsx": "ts"}
"""Language names → ripgrep's names, where they differ."""
LISTING_NOTE = "There are more files than can be listed. Narrow with path."


class RipgrepFailure(Exception):  # noqa: N818 - internal: `plain` searches instead
    """ripgrep cannot be started or failed; the message says why."""


async def run(
    program: str, root: Path, query: TextQuery, path: str, timeout_s: float
) -> TextMatches:
    """Return the matching lines below `path`, which is relative to `root`.

    Raises:
        UsageError: The pattern is not a regular expression, or the type is unknown.
        RipgrepFailure: ripgrep cannot be started or failed.
    """
    output = _RunOutput(query)
    end = await _run_program(program, root, _arguments(query, path), timeout_s, output.collect)
    if output.format_error:
        raise RipgrepFailure(f"returns unexpected output: {output.format_error}")
    if output.complete and end.code not in {0, 1}:
        _raise_failure(query.file_type, query.pattern, end)
    note = TIMEOUT_NOTE.format(f"{timeout_s:g}") if end.timed_out else output.note
    return TextMatches(tuple(output.found[: query.max_results]), not output.complete, note)


async def files(
    program: str, root: Path, path: str, file_type: str, timeout_s: float
) -> FileListing:
    """Return the files below `path` that ripgrep would search, unsorted.

    Raises:
        UsageError: The type is unknown.
        RipgrepFailure: ripgrep cannot be started or failed.
    """
    flags = ["--files", "--null", "--no-messages", "--no-config", "--no-ignore-dot"]
    flags += _type_flags(file_type)
    end = await _run_program(program, root, [*flags, "--", path], timeout_s)
    complete = end.code is not None and len(end.stdout) <= MAX_LISTING
    if complete and end.code not in {0, 1}:
        _raise_failure(file_type, "", end)
    *listed, _ = end.stdout.split(b"\0")
    note = (
        "" if complete else TIMEOUT_NOTE.format(f"{timeout_s:g}") if end.timed_out else LISTING_NOTE
    )
    return FileListing(
        tuple(os.fsdecode(name).removeprefix("./") for name in listed), not complete, note
    )


async def _run_program(
    program: str,
    root: Path,
    arguments: Sequence[str],
    timeout_s: float,
    read: Callable[[Process], Awaitable[None]] | None = None,
) -> RunEnd:
    """Run the program until `read` returns, then end it; by default, capture its output.

    Raises:
        RipgrepFailure: There is no program, or it cannot be started.
    """
    if not program:
        raise RipgrepFailure("was not found")
    command = [program, *arguments]
    try:
        if read is None:
            return await processes.capture(command, root, timeout_s, MAX_LISTING)
        return await processes.run(command, root, read, timeout_s)
    except OSError as error:
        raise RipgrepFailure(f"cannot be started: {error.strerror or error}") from error


@dataclass
class _RunOutput:
    """The output of a run so far.

    Attributes:
        query: The query.
        found: The matches, at most one more than requested.
        size: Number of bytes read.
        complete: Whether the program ended by itself.
        note: Why reading stopped early, and what the caller can do; or empty.
        format_error: What is wrong with output that ripgrep cannot have written, or empty.
    """

    query: TextQuery
    found: list[TextMatch] = field(default_factory=list)
    size: int = 0
    complete: bool = False
    note: str = ""
    format_error: str = ""

    async def collect(self, process: Process) -> None:
        """Read matches until there are more than requested or the output ends."""
        try:
            async for match in _matches(process, self):
                self.found.append(match)
                if len(self.found) > self.query.max_results:
                    return
        except (ValueError, RecursionError) as error:
            self.format_error = str(error)[:100] or "nested too deeply"
            return
        if self.size > MAX_OUTPUT:
            self.note = OUTPUT_NOTE
            return
        await process.wait()
        self.complete = True


def _raise_failure(file_type: str, pattern: str, end: RunEnd) -> None:
    """Raise the error for a failed run.

    Raises:
        UsageError: The pattern or the type is invalid.
        RipgrepFailure: Any other failure.
    """
    code, reason = end.code or 0, " ".join(end.stderr.split())[:300]
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


def _arguments(query: TextQuery, path: str) -> list[str]:
    flags = ["--json", "--sort=path", "--max-filesize=1M", "--no-messages", "--no-config"]
    flags += ["--no-ignore-dot"]  # search what is indexed: only git's rules count
    flags += ["--no-ignore", "--hidden"] if query.unignored else []
    flags += ["--case-sensitive" if query.case_sensitive else "--ignore-case"]
    flags += ["--fixed-strings", "--word-regexp"] if query.literal else []
    flags += _type_flags(query.file_type)
    flags += [f"--context={query.context_lines}"] if query.context_lines else []
    return [*flags, "-e", query.pattern, "--", path]


def _type_flags(file_type: str) -> list[str]:
    return [f"--type={_TYPES.get(file_type.lower(), file_type)}"] if file_type else []


async def _matches(process: Process, output: _RunOutput) -> AsyncIterator[TextMatch]:
    """Yield matches from ripgrep's JSON lines, each with its context."""
    context = output.query.context_lines
    before: list[str] = []
    current: TextMatch | None = None
    async for kind, data in _events(process, output):
        if kind == "match":
            if current is not None:
                yield current
            current = _match(data, tuple(before[-context:] if context else ()))
            before = []
        elif kind == "context":
            text = displayed(_text(data.get("lines")))
            before.append(text)
            if current is not None and len(current.after) < context:
                current = replace(current, after=(*current.after, text))
        elif kind == "end":
            before = []
    if current is not None:
        yield current


async def _events(
    process: Process, output: _RunOutput
) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    """Yield (type, data) of each line.

    Raises:
        ValueError: A line is not an event of ripgrep.
    """
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    rest = b""
    async for part in process.stdout:
        output.size += len(part)
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            event = json.loads(line)
            if not isinstance(event, dict) or not isinstance(event.get("data", {}), dict):
                # Caught in `collect`.
                raise ValueError("a line that is not an event")  # noqa: TRY004
            yield str(event.get("type")), event.get("data", {})
        if output.size > MAX_OUTPUT:
            return


def _match(data: dict[str, Any], before: tuple[str, ...]) -> TextMatch:
    """Parse a match.

    Raises:
        ValueError: A field is missing.
    """
    file = _text(data.get("path"), "surrogateescape")
    number, spans = data.get("line_number"), data.get("submatches")
    if not isinstance(number, int) or not isinstance(spans, list):
        raise ValueError("a match without a position")  # noqa: TRY004 - caught in `collect`
    raw = _bytes(data.get("lines"))
    line = masked(raw.decode("utf-8", "replace")[:MAX_MASKED_CHARS])
    places = tuple(_span(raw, line, span) for span in spans[:MAX_SPANS])
    return TextMatch(file.removeprefix("./"), number, _cut(line), places, before)


def _span(raw: bytes, line: str, span: Any) -> tuple[str, int, int]:
    """Return the matched text and its range in characters; ripgrep counts bytes."""
    if not isinstance(span, dict):
        raise ValueError("an invalid submatch")  # noqa: TRY004 - caught in `collect`
    start, end = span.get("start"), span.get("end")
    if not isinstance(start, int) or not isinstance(end, int):
        raise ValueError("a submatch without a position")  # noqa: TRY004 - caught in `collect`
    first = len(raw[:start].decode("utf-8", "replace"))
    length = len(raw[start:end].decode("utf-8", "replace"))
    return _cut(line[first : first + length]), first, first + length


def displayed(text: str) -> str:
    """Return a line without its line ending, masked and cut to `MAX_LINE`."""
    return _cut(masked(text[:MAX_MASKED_CHARS]))


def _cut(line: str) -> str:
    return line.rstrip("\r\n")[:MAX_LINE]


def _text(value: Any, errors: str = "replace") -> str:
    """Return a text or base64 field as text; raise ValueError if it is neither."""
    return _bytes(value).decode("utf-8", errors)


def _bytes(value: Any) -> bytes:
    """Return the bytes of a text or base64 field.

    Raises:
        ValueError: The value is neither.
    """
    if isinstance(value, dict):
        if isinstance(value.get("text"), str):
            return str(value["text"]).encode("utf-8", "replace")
        if isinstance(value.get("bytes"), str):
            return base64.b64decode(value["bytes"])
    raise ValueError("an invalid text")
