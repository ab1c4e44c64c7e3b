"""Check registries and their config against the schema of seed 001.

The file may be anything: the config of a repository may name one of the user's own files. So a
reason names the place, the key and the type, but no value. Unknown keys are ignored, and so are
malformed entries of upstream's `uv`, the variables of a prompt.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from code_intel.config.reading import printable_key
from code_intel.foundation.text import counted
from code_intel.registry.records import (
    EDITION_NAME_PATTERN,
    IDENTIFIER_PATTERN,
    MAX_NAME_CHARS,
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

_UNREADABLE = re.compile("[\0\ud800-\udfff]")
_TYPES: Mapping[type, str] = {
    dict: "an object",
    list: "a list",
    str: "a text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    type(None): "null",
}
JsonT = TypeVar("JsonT", dict[str, Any], list[Any], str, bool)


class MalformedRegistry(ValueError):  # noqa: N818 - why a file is not what it should be
    """Names the place, as `tools.commands[3].c2`, and what is expected there."""


def parsed(data: bytes) -> object:
    """Parse JSON in UTF-8; a byte order mark is ignored.

    Raises:
        Malformed: It is not JSON, is nested too deeply, or an object has a key twice.
    """
    try:
        return json.loads(
            data.decode("utf-8-sig"), object_pairs_hook=_object, parse_constant=_no_number
        )
    except UnicodeDecodeError as error:
        raise MalformedRegistry(f"Not valid UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise MalformedRegistry(
            f"Not valid JSON at line {error.lineno}, column {error.colno}: {error.msg}"
        ) from None
    except RecursionError:
        raise MalformedRegistry("Not valid JSON: it is nested too deeply") from None
    except MalformedRegistry:
        raise
    except ValueError:  # the one that is left: digits beyond what Python reads as a number
        raise MalformedRegistry("Not valid JSON: a number has too many digits") from None


def registry(document: object, agent: str, path: Path) -> Registry:
    """Return the registry in a document.

    Raises:
        MalformedRegistry: The document is not a valid registry.
    """
    whole = _of(dict, document, "The file")
    tools = _of(dict, _needed(whole, "tools", ""), "tools")
    given = _of(list, _needed(tools, "commands", "tools"), "tools.commands")
    if len(given) > MAX_COMMANDS:
        raise MalformedRegistry(
            f"tools.commands has {counted(len(given), 'entry', 'entries')}; "
            f"the limit is {MAX_COMMANDS:,}"
        )
    _names(tools, "availableConfigs", "tools", MAX_COMMANDS)
    commands = tuple(
        _command(each, f"tools.commands[{place}]", agent) for place, each in enumerate(given)
    )
    return Registry(
        agent=agent,
        path=path,
        commands=commands,
        version=_text(whole, "version", ""),
        description=_text(whole, "description", ""),
        notes=_notes(commands),
    )


def registries(document: object) -> dict[str, str]:
    """Return the path of each agent's registry, as the config writes it and in its order.

    Raises:
        Malformed: It is no config.
    """
    given = _of(dict, _needed(_of(dict, document, "The file"), "registries", ""), "registries")
    if len(given) > MAX_AGENTS:
        raise MalformedRegistry(
            f"registries has {counted(len(given), 'agent')}; the limit is {MAX_AGENTS}"
        )
    for agent in given:
        _identifier(agent, f"registries.{printable_key(agent)}", "an agent's name")
        if not _text(given, agent, "registries"):
            raise MalformedRegistry(f"registries.{agent} must be a path and not empty")
    return dict(given)


def _command(document: object, where: str, agent: str) -> Command:
    given = _of(dict, document, where)
    c1, c2, c3 = (_identifier(_needed(given, k, where), f"{where}.{k}") for k in ("c1", "c2", "c3"))
    _needed(given, "description", where)
    return Command(
        c1=c1,
        c2=c2,
        c3=c3,
        description=_text(given, "description", where),
        usage=_text(given, "usage", where) if "usage" in given else None,
        options=_options(given["options"], f"{where}.options") if "options" in given else None,
        agent=agent,
        variables=_variables(given.get("uv")),
    )


def _variables(document: object) -> tuple[tuple[str, str], ...]:
    """Return what `[{"NAME": "what it is"}, …]` tells of."""
    rows = [row for row in document if isinstance(row, dict)] if isinstance(document, list) else []
    pairs = [(f"uv-{name}", about) for row in rows for name, about in row.items()]
    known = {
        name: about
        for name, about in pairs
        if len(name) <= MAX_NAME_CHARS
        and VARIABLE_PATTERN.fullmatch(name)
        and isinstance(about, str)
        and len(about) <= MAX_TEXT_CHARS
        and not _UNREADABLE.search(about)
    }
    return tuple(known.items())[:MAX_EDITIONS]


def _options(document: object, where: str) -> CommandOptions:
    given = _of(dict, document, where)
    return CommandOptions(
        edition=_names(given, "edition", where),
        adaptation=_names(given, "adaptation", where),
        file=_is_taken(given, "file", where),
        stdin=_is_taken(given, "stdin", where),
        destination=_is_taken(given, "destination", where),
    )


def _is_taken(given: Mapping[str, Any], key: str, where: str) -> bool:
    """Return true or false; older registries of upstream's have a list of the one."""
    value = given.get(key, False)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return _of(bool, value, f"{where}.{key}")


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


def _needed(given: Mapping[str, Any], key: str, where: str) -> object:
    if key not in given:
        raise MalformedRegistry(f"{_below(where, key)} is missing")
    return given[key]


def _of(kind: type[JsonT], value: object, where: str) -> JsonT:
    if type(value) is not kind:
        raise MalformedRegistry(f"{where} must be {_TYPES[kind]}, not {_TYPES[type(value)]}")
    return value


def _text(given: Mapping[str, Any], key: str, where: str) -> str:
    place = _below(where, key)
    text = _of(str, given.get(key, ""), place)
    if len(text) > MAX_TEXT_CHARS:
        raise MalformedRegistry(
            f"{place} has {counted(len(text), 'character')}; the limit is {MAX_TEXT_CHARS:,}"
        )
    if _UNREADABLE.search(text):
        raise MalformedRegistry(
            f"{place} has an invalid character (NUL or half of a surrogate pair)"
        )
    return text


def _names(
    given: Mapping[str, Any], key: str, where: str, most: int = MAX_EDITIONS
) -> tuple[str, ...]:
    place = _below(where, key)
    names = _of(list, given.get(key, []), place)
    if len(names) > most:
        raise MalformedRegistry(
            f"{place} has {counted(len(names), 'entry', 'entries')}; the limit is {most:,}"
        )
    return tuple(_name(name, f"{place}[{at}]") for at, name in enumerate(names))


def _identifier(value: object, where: str, kind: str = "an identifier") -> str:
    text = _of(str, value, where)
    if len(text) > MAX_NAME_CHARS or not IDENTIFIER_PATTERN.fullmatch(text):
        raise MalformedRegistry(
            f"{where} must be {kind}: at most {MAX_NAME_CHARS} ASCII letters, digits, '.', '_' "
            "and '-', the first a letter or a digit"
        )
    return text


def _name(value: object, where: str) -> str:
    text = _of(str, value, where)
    if len(text) > MAX_NAME_CHARS or not EDITION_NAME_PATTERN.fullmatch(text):
        raise MalformedRegistry(
            f"{where} must be a name: at most {MAX_NAME_CHARS} letters, digits, '.', '_' and '-'"
        )
    return text


def _below(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        (twice, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        raise MalformedRegistry(
            f"Not valid JSON: an object has the key {printable_key(twice)} twice"
        )
    return made


def _no_number(_: str) -> NoReturn:
    raise MalformedRegistry("Not valid JSON: NaN and Infinity are not allowed")
