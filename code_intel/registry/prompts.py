"""Render the prompt file of a command here, without climpt, Deno or network.

    prompts/{c1}/{c2}/{c3}/f_{edition}[_{adaptation}].md

The file is beside the registry, as in upstream: front matter, then the prompt. Its variables are
`{input_text}` (stdin, else the text of the file), `{input_text_file}` and `{destination_path}`
(paths relative to the project) and `{uv-NAME}`. They are replaced in one pass, so a value is never
replaced again (docs/decisions/0046).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from code_intel.chunking import front_matter
from code_intel.errors import ExecutionError
from code_intel.index.safe_files import read_inside
from code_intel.registry.options import MAX_INPUT_CHARS, OptionRequest
from code_intel.registry.place import PROMPTS, confined, mentioned, roots
from code_intel.registry.records import Command, ExecutionResult

DEFAULT_EDITION = "default"
MAX_PROMPT_BYTES = 256 * 1024
"""Bytes of a prompt's file, and of a rendered prompt."""
MAX_PROMPT_NOTES = 20
_VARIABLE = re.compile(
    r"\{(?P<name>input_text|input_text_file|destination_path|uv-[A-Za-z0-9][A-Za-z0-9_-]*)\}"
)
GIVEN_BY = {
    "input_text": "stdin",
    "input_text_file": "file",
    "destination_path": "destination",
}
"""The option that sets a variable; `{uv-NAME}` is set by the option of that name."""
HINT = "Write that file, or let climpt execute commands (setting command_runner)."


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


def render(folder: Path, command: Command, asked: OptionRequest, root: Path) -> ExecutionResult:
    """Return a command's prompt.

    Args:
        folder: The prompts of its registry.
        command: Its identifiers and the names of its editions were checked.
        asked: What it is given.
        root: The project that `asked.file` is in.

    Raises:
        ExecutionError: There is no prompt, or it cannot be read.
    """
    shown = mentioned(folder, roots(root), PROMPTS)
    place, text = _chosen(folder, shown, command, asked, root)
    best = places(command, asked)[0]
    notes = [] if place == best else [f"{best} does not exist; {place} was used."]
    if "\ufffd" in text:
        notes.append(f"{place} has bytes that are not valid UTF-8.")
    parsed = front_matter.parse(text, lambda _unread: {})
    body = text if parsed is None else f"{parsed[1]}\n"
    marks = list(_VARIABLE.finditer(body))
    names = dict.fromkeys(map(name_of, marks))
    given = {name: getattr(asked, key) for name, key in GIVEN_BY.items()}
    values = {name: value for name, value in given.items() if value is not None}
    values |= dict(asked.variables)
    unused = [name for name in values if name not in names]
    if asked.file and "input_text" in names and "input_text" not in values:
        values["input_text"] = _text_of(root, asked.file, notes)
        unused = [name for name in unused if name != "input_text_file"]
    prompt, whole = bounded(fill(body, marks, values))
    missing = [name for name in names if name not in values]
    notes += [
        f"{{{name}}} was not replaced: pass the option {GIVEN_BY.get(name, name)}."
        for name in missing
    ]
    notes += [f"The prompt does not use {GIVEN_BY.get(name, name)}." for name in unused]
    if not whole:
        notes.append(f"It is longer than {MAX_PROMPT_BYTES >> 10} KiB. Its end is missing.")
    return ExecutionResult(
        prompt,
        PROMPTS,
        not whole,
        tuple(notes[:MAX_PROMPT_NOTES]),
        f"{shown}/{place}",
        missing=tuple(dict.fromkeys(GIVEN_BY.get(name, name) for name in missing)),
    )


def _chosen(
    folder: Path, shown: str, command: Command, asked: OptionRequest, root: Path
) -> tuple[str, str]:
    """Return the first of a command's places that is there, and what it says.

    Raises:
        ExecutionError: There is no prompt, or it cannot be read.
    """
    wanted = places(command, asked)
    for place in wanted:
        try:
            return place, _read(folder, place, root)
        except FileNotFoundError:
            continue
        except OSError as error:
            why = f"{shown}/{place} cannot be read: {error.strerror or error}."
            raise failed(command, why, HINT) from None
    looked = ", ".join(f"{shown}/{place}" for place in wanted[:4])
    raise failed(command, f"There is no prompt: {looked}.", HINT)


def _read(folder: Path, place: str, root: Path) -> str:
    """Return the text of a prompt. The registry's folder is checked again: it may be a link by now.

    Raises:
        OSError: It is missing, unreadable, too large, behind a link, or outside the project and
            the home.
    """
    real = confined(folder.parent, roots(root))
    if real is None:
        raise OSError(0, "it is outside the project and the home folder")
    top = Path(real.anchor)
    name = f"{real.relative_to(top).as_posix()}/{folder.name}/{place}"
    data = read_inside(top, name, MAX_PROMPT_BYTES + 1)
    if len(data) > MAX_PROMPT_BYTES:
        raise OSError(0, f"it is larger than {MAX_PROMPT_BYTES >> 10} KiB")
    return data.decode("utf-8-sig", "replace")


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


def name_of(mark: re.Match[str]) -> str:
    """Return the name of a placeholder; an empty text for another mark, such as a shell command."""
    return mark.groupdict().get("index") or mark["name"] or ""


def fill(text: str, marks: Iterable[re.Match[str]], values: Mapping[str, str]) -> Iterator[str]:
    """Yield the parts of a text, with the values of its placeholders."""
    end = 0
    for mark in marks:
        yield text[end : mark.start()]
        yield values.get(name_of(mark), mark[0])
        end = mark.end()
    yield text[end:]


def failed(
    command: Command,
    why: str,
    hint: str | None,
    *,
    runner: str = PROMPTS,
    said: str = "",
    **details: int,
) -> ExecutionError:
    """Return the error of an execution; `said` is the program's stderr."""
    known = {"command": command.name, "stderr": said or why, "runner": runner, **details}
    return ExecutionError(why, hint=hint, details=known)
