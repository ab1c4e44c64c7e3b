"""Render the prompt file of a command here, without climpt, Deno or network.

    prompts/{c1}/{c2}/{c3}/f_{edition}[_{adaptation}].md

The file is beside the registry, as in upstream: front matter, then the prompt. Its variables are
`{input_text}` (stdin, else the text of the file), `{input_text_file}` and `{destination_path}`
(paths relative to the project) and `{uv-NAME}`. They are replaced in one pass, so a value is never
replaced again (docs/decisions/0046).
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from code_intel.chunking import front_matter
from code_intel.errors import ExecutionError
from code_intel.index.safe_files import read_inside
from code_intel.registry.options import MAX_INPUT_CHARS, OptionRequest
from code_intel.registry.place import confined, roots
from code_intel.registry.records import Command

DEFAULT_EDITION = "default"
MAX_PROMPT_BYTES = 256 * 1024
"""Bytes of a prompt's file, and of a rendered prompt."""
MAX_PROMPT_NOTES = 20
_VARIABLE = re.compile(
    r"\{(input_text|input_text_file|destination_path|uv-[A-Za-z0-9][A-Za-z0-9_-]*)\}"
)
GIVEN_BY = {
    "input_text": "stdin",
    "input_text_file": "file",
    "destination_path": "destination",
}
"""The option that sets a variable; `{uv-NAME}` is set by the option of that name."""


class RenderedPrompt(NamedTuple):
    """A rendered prompt, notes about it, and whether its end is missing."""

    text: str
    notes: tuple[str, ...] = ()
    truncated: bool = False


def places(command: Command, asked: OptionRequest) -> tuple[str, ...]:
    """Return the possible prompt files, best first, relative to the folder of prompts.

    A missing adaptation is left out, a requested edition is not. Without one it is the default
    edition, else the first that the command lists.
    """
    listed = command.options.edition if command.options else ()
    editions = [asked.edition] if asked.edition else [DEFAULT_EDITION, *listed]
    ends = [f"_{asked.adaptation}", ""] if asked.adaptation else [""]
    names = dict.fromkeys(f"f_{edition}{end}.md" for edition in editions for end in ends)
    return tuple(f"{command.c1}/{command.c2}/{command.c3}/{name}" for name in names)


def render(
    folder: Path, shown: str, command: Command, asked: OptionRequest, root: Path
) -> RenderedPrompt:
    """Return a command's prompt.

    Args:
        folder: The prompts of its registry.
        shown: The same folder as messages call it.
        command: Its identifiers and the names of its editions were checked.
        asked: What it is given.
        root: The project that `asked.file` is in.

    Raises:
        ExecutionError: There is no prompt, or it cannot be read.
    """
    place, text = chosen(folder, shown, command, asked, root)
    best = places(command, asked)[0]
    notes = [] if place == best else [f"{best} does not exist; {place} was used."]
    if "\ufffd" in text:
        notes.append(f"{place} has bytes that are not valid UTF-8.")
    body = _body(text)
    names = dict.fromkeys(found[1] for found in _VARIABLE.finditer(body))
    values = _values(asked, root, names, notes)
    rendered, whole = bounded(_parts(body, values))
    notes += [f"{{{name}}} was not replaced: {_how(name)}." for name in names if name not in values]
    notes += [f"The prompt does not use {key}." for key in _unused(asked, names)]
    if not whole:
        notes.append(f"It is longer than {MAX_PROMPT_BYTES >> 10} KiB. Its end is missing.")
    return RenderedPrompt(rendered, tuple(notes[:MAX_PROMPT_NOTES]), not whole)


def chosen(
    folder: Path, shown: str, command: Command, asked: OptionRequest, root: Path
) -> tuple[str, str]:
    """Return the first of a command's places that is there, and what it says.

    Raises:
        ExecutionError: There is no prompt, or it cannot be read.
    """
    wanted = places(command, asked)
    for place in wanted:
        if (text := _read(folder, shown, command, place, root)) is not None:
            return place, text
    looked = ", ".join(f"{shown}/{place}" for place in wanted[:4])
    raise _failed(command, f"There is no prompt: {looked}.", "Create that file")


def _read(folder: Path, shown: str, command: Command, place: str, root: Path) -> str | None:
    """Return the content of a file in the folder, None if it does not exist.

    Raises:
        ExecutionError: It is too large, a link, or unreadable.
    """
    try:
        data = _content(folder, place, root)
    except FileNotFoundError:
        return None
    except OSError as error:
        why = f"{shown}/{place} cannot be read: {error.strerror or error}"
        raise _failed(command, f"{why}.", "Replace the link by a file") from None
    if len(data) > MAX_PROMPT_BYTES:
        raise _failed(
            command, f"{shown}/{place} is larger than {MAX_PROMPT_BYTES >> 10} KiB.", "Shorten it"
        )
    return data.decode("utf-8-sig", "replace")


def _content(folder: Path, place: str, root: Path) -> bytes:
    """Return a file's bytes. The registry's folder is checked again, as it may be a link by now.

    Raises:
        OSError: It is missing, unreadable, outside the project and the home, or behind a link.
    """
    real = confined(folder.parent, roots(root))
    if real is None:
        raise OSError(0, "it is outside the project and the home folder")
    top = Path(real.anchor)
    return read_inside(
        top, f"{real.relative_to(top).as_posix()}/{folder.name}/{place}", MAX_PROMPT_BYTES + 1
    )


def _body(text: str) -> str:
    """Return the text after the front matter, which is not parsed."""

    def unread(_block: str) -> dict[str, Any]:
        return {}

    parsed = front_matter.parse(text, unread)
    return text if parsed is None else f"{parsed[1]}\n"


def _values(
    asked: OptionRequest, root: Path, names: Container[str], notes: list[str]
) -> Mapping[str, str]:
    """Return the values of the variables; a file is read only if its text is needed."""
    values = dict(asked.variables)
    if asked.file:
        values["input_text_file"] = asked.file
    if asked.destination:
        values["destination_path"] = asked.destination
    if asked.stdin is not None:
        values["input_text"] = asked.stdin
    elif asked.file and "input_text" in names:
        values["input_text"] = _text_of(root, asked.file, notes)
    return values


def _unused(asked: OptionRequest, names: Container[str]) -> list[str]:
    """Return the options that this prompt does not use."""
    by_file = "input_text_file" in names or (asked.stdin is None and "input_text" in names)
    given = {
        "stdin": asked.stdin is not None and "input_text" not in names,
        "file": bool(asked.file) and not by_file,
        "destination": bool(asked.destination) and "destination_path" not in names,
        **{name: name not in names for name, _ in asked.variables},
    }
    return [key for key, unused in given.items() if unused]


def _text_of(root: Path, file: str, notes: list[str]) -> str:
    try:
        data = read_inside(root, file, 4 * MAX_INPUT_CHARS)
    except OSError as error:
        notes.append(f"{file} cannot be read: {error.strerror or error}.")
        return ""
    text = data.decode("utf-8", "replace")
    if len(text) > MAX_INPUT_CHARS:
        notes.append(f"Only the first {MAX_INPUT_CHARS:,} characters of {file} are used.")
    return text[:MAX_INPUT_CHARS]


def bounded(parts: Iterable[str]) -> tuple[str, bool]:
    """Join the parts of a prompt up to the limit; return the text and whether it is complete."""
    joined: list[str] = []
    left = MAX_PROMPT_BYTES
    for part in parts:
        data = part.encode("utf-8", "replace")
        joined.append(data[:left].decode("utf-8", "ignore"))
        left -= len(data)
        if left < 0:
            break
    return "".join(joined), left >= 0


def _parts(body: str, values: Mapping[str, str]) -> Iterator[str]:
    end = 0
    for found in _VARIABLE.finditer(body):
        yield body[end : found.start()]
        yield values.get(found[1], found[0])
        end = found.end()
    yield body[end:]


def _how(name: str) -> str:
    return f"pass the option {GIVEN_BY.get(name, name)}"


def _failed(command: Command, why: str, how: str) -> ExecutionError:
    return ExecutionError(
        why,
        hint=f"{how}, or let climpt execute commands (setting command_runner).",
        details={"command": command.name, "stderr": why, "runner": "prompts"},
    )
