"""Check registries and their config against the schema of seed 001.

The file may be anything: the config of a repository may name one of the user's own files. So a
reason names the place, the key and the type, but no value. Unknown keys are ignored, and so are
malformed entries of upstream's `uv`, the variables of a prompt.
"""

import codecs
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from code_intel.config.reading import printable_key
from code_intel.registry.records import (
    EDITION_NAME_PATTERN,
    IDENTIFIER_PATTERN,
    VARIABLE_PATTERN,
    Command,
    CommandOptions,
    Registry,
)

MAX_COMMANDS = 20_000
MAX_AGENTS = 100
MAX_EDITIONS = 100
"""Editions, or adaptations, of one command."""
MAX_REGISTRY_NOTES = 10
MAX_TEXT_CHARS = 2000
"""Characters of a description or a usage."""
FILE = "The file"
"""What a reason calls the whole document."""


class MalformedRegistry(ValueError):  # noqa: N818 - why a file is not what it should be
    """Names the place, as `tools.commands[3].c2`, and what is expected there."""


def reason_of(error: Exception) -> str:
    """Return why a file cannot be used."""
    return getattr(error, "strerror", None) or str(error)


def _unlisted(value: object) -> object:
    """Return true or false; older registries of upstream's have a list of the one."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


Identifier = Annotated[str, Field(pattern=f"^{IDENTIFIER_PATTERN.pattern}$")]
Name = Annotated[str, Field(pattern=f"^{EDITION_NAME_PATTERN.pattern}$")]
Names = Annotated[tuple[Name, ...], Field(max_length=MAX_EDITIONS)]
Text = Annotated[str, Field(max_length=MAX_TEXT_CHARS, pattern=r"^[^\x00]*$")]
RegistryPath = Annotated[str, Field(max_length=MAX_TEXT_CHARS, pattern=r"^[^\x00]+$")]
IsTaken = Annotated[bool, BeforeValidator(_unlisted)]


class _Part(BaseModel):
    # The patterns take 9 MB, and a project without commands needs none.
    model_config = ConfigDict(strict=True, defer_build=True)


class _Options(_Part):
    edition: Names = ()
    adaptation: Names = ()
    file: IsTaken = False
    stdin: IsTaken = False
    destination: IsTaken = False


class _Command(_Part):
    c1: Identifier
    c2: Identifier
    c3: Identifier
    description: Text
    usage: Text | None = None
    options: _Options | None = None
    uv: Any = None


class _Tools(_Part):
    commands: Annotated[list[_Command], Field(max_length=MAX_COMMANDS)]


class _File(_Part):
    tools: _Tools
    version: Text = ""
    description: Text = ""


class _Config(_Part):
    registries: Annotated[dict[Identifier, RegistryPath], Field(max_length=MAX_AGENTS)]


PartT = TypeVar("PartT", bound=_Part)


def registry(data: bytes, agent: str, path: Path) -> Registry:
    """Return the registry in a file's content.

    Raises:
        MalformedRegistry: It is not a valid registry.
    """
    whole = _read(_File, data)
    commands = tuple(_command(row, agent) for row in whole.tools.commands)
    return Registry(agent, path, commands, whole.version, whole.description, _notes(commands))


def registries(data: bytes) -> dict[str, str]:
    """Return the path of each agent's registry, as the config writes it and in its order.

    Raises:
        MalformedRegistry: It is no config.
    """
    return _read(_Config, data).registries


def _read(kind: type[PartT], data: bytes) -> PartT:
    """Read JSON in UTF-8; a byte order mark is ignored.

    Raises:
        MalformedRegistry: It does not have the form; has the first problem.
    """
    try:
        return kind.model_validate_json(data.removeprefix(codecs.BOM_UTF8))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
    keys = (key for key in first["loc"] if key != "[key]")
    parts = (f"[{key}]" if isinstance(key, int) else f".{printable_key(key)}" for key in keys)
    raise MalformedRegistry(f"{''.join(parts).removeprefix('.') or FILE}: {first['msg']}")


def _command(row: _Command, agent: str) -> Command:
    options = CommandOptions(**row.options.model_dump()) if row.options else None
    variables = _variables(row.uv)
    return Command(row.c1, row.c2, row.c3, row.description, row.usage, options, agent, variables)


def _variables(document: object) -> tuple[tuple[str, str], ...]:
    """Return what `[{"NAME": "what it is"}, …]` tells of."""
    rows = [row for row in document if isinstance(row, dict)] if isinstance(document, list) else []
    known = {
        f"uv-{name}": about
        for row in rows
        for name, about in row.items()
        if VARIABLE_PATTERN.fullmatch(f"uv-{name}") and _is_text(about)
    }
    return tuple(known.items())[:MAX_EDITIONS]


def _is_text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= MAX_TEXT_CHARS and "\0" not in value


def _notes(commands: Sequence[Command]) -> tuple[str, ...]:
    """Return warnings about a usable registry."""
    notes: list[str] = []
    seen: dict[tuple[str, ...], int] = {}
    for place, command in enumerate(commands):
        before = seen.setdefault(command.key, place)
        if before != place:
            notes.append(
                f"tools.commands[{place}] has the same name as tools.commands[{before}], "
                "and search finds only that one"
            )
        if not command.description.strip():
            notes.append(
                f"tools.commands[{place}].description is empty, so search uses only its name"
            )
    more = len(notes) - MAX_REGISTRY_NOTES
    return (*notes[:MAX_REGISTRY_NOTES], *([f"{more:,} more of this kind"] if more > 0 else []))
