"""Check the options of a command before anything is started.

`OPTIONS` is seed 000's mapping as a table. A program gets the long form of each option as one
argument that cannot be read as another option: the short `-d` has different meanings in different
versions (docs/decisions/0046).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from code_intel.config.client_files import GUARDED_FILES
from code_intel.config.writable_folders import is_inside
from code_intel.errors import UsageError
from code_intel.forest.text.grep import confined
from code_intel.foundation.text import hidden_character, visible
from code_intel.index.corpus import SECRET_REASON, refusal
from code_intel.index.safe_files import real_path
from code_intel.registry.records import EDITION_NAME_PATTERN, VARIABLE_PATTERN, Command
from code_intel.session.write_gate import is_guarded, is_protected

MAX_VARIABLES = 50
MAX_VALUE_CHARS, MAX_INPUT_CHARS = 1000, 200_000
"""Characters of a value, and of what is read from stdin."""
MAX_QUOTED_CHARS = 100
"""How much of a key or value a message quotes."""
DESCRIBE_HINT = "Call describe for the options of the command."
GivenOptions = Mapping[str, Any] | Sequence[str] | None


COMMAND_OPTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "edition": ("--edition", "-e"),
        "adaptation": ("--adaptation", "-a"),
        "file": ("--from", "-f", "--file"),
        "destination": ("--destination", "-d", "-o"),
        "stdin": (),
    }
)
"""The flags of each option; a program gets the first."""
_BY_FLAG = {flag: key for key, flags in COMMAND_OPTIONS.items() for flag in flags}


@dataclass(frozen=True, slots=True)
class OptionRequest:
    """The checked options of one execution.

    `file` and `destination` are relative to the project; `variables` are (`uv-NAME`, value) pairs.
    """

    edition: str | None = None
    adaptation: str | None = None
    file: str | None = None
    destination: str | None = None
    stdin: str | None = None
    variables: tuple[tuple[str, str], ...] = ()


def checked(given: GivenOptions, command: Command, root: Path) -> OptionRequest:
    """Check the options of a call: a mapping (seed 001) or upstream's list of `--flag=value`.

    Args:
        given: `edition`, `adaptation`, `file`, `destination`, `stdin`, `uv-NAME`; None and false
            stand for a missing option.
        command: The command, which may say that it does not take an option.
        root: The project; paths are relative to it, and inside it.

    Raises:
        UsageError: An option is invalid; it is named, such as `options.edition`.
    """
    texts: dict[str, str] = {}
    for key, value in _pairs(given):
        if key in texts:
            raise _wrong(key, "is given twice", "Pass it once.")
        # Models write None, false or an empty text for a missing option.
        if value is not None and value is not False and (value != "" or key == "stdin"):
            texts[key] = _text(key, value)
    for key, value in texts.items():
        _taken(key, value, command)
    variables = tuple((key, value) for key, value in texts.items() if key not in COMMAND_OPTIONS)
    if len(variables) > MAX_VARIABLES:
        raise _wrong("", f"has more than {MAX_VARIABLES} variables", "Pass fewer.")
    if "file" in texts:
        texts["file"] = _file(root, texts["file"])
    if "destination" in texts:
        texts["destination"] = _destination(root, texts["destination"])
    given_keys = texts.keys() & COMMAND_OPTIONS.keys()
    return OptionRequest(variables=variables, **{key: texts[key] for key in given_keys})


def argv(asked: OptionRequest) -> list[str]:
    """Return the options as program arguments, without `stdin`."""
    given = [(flags[0], getattr(asked, key)) for key, flags in COMMAND_OPTIONS.items() if flags]
    named = [(f"--{name}", value) for name, value in asked.variables]
    return [f"{flag}={value}" for flag, value in (*given, *named) if value]


def _pairs(given: GivenOptions) -> list[tuple[str, Any]]:
    """Return the (key, value) pairs of options given in either form."""
    if isinstance(given, Mapping):
        return [(_known(key), value) for key, value in given.items()]
    return [_pair(number, item) for number, item in enumerate(given or ())]


def _pair(number: int, item: str) -> tuple[str, str]:
    flag, equals, value = item.partition("=")
    key = _BY_FLAG.get(flag) or (flag[2:] if VARIABLE_PATTERN.fullmatch(flag[2:]) else "")
    if not (equals and key and flag.startswith("-")):
        flags = ", ".join(flags[0] for flags in COMMAND_OPTIONS.values() if flags)
        raise _wrong(
            f"[{number}]", f"is {_shown(item)}", f"Write --flag=value; flags: {flags}, --uv-NAME."
        )
    return key, value


def _known(key: str) -> str:
    if key in COMMAND_OPTIONS or VARIABLE_PATTERN.fullmatch(key):
        return key
    raise _wrong(key, "is not an option", f"Options: {', '.join(COMMAND_OPTIONS)}, uv-NAME.")


def _text(key: str, value: object) -> str:
    """Return a valid value: a short text that is not an option and has no invisible characters."""
    longest = MAX_INPUT_CHARS if key == "stdin" else MAX_VALUE_CHARS
    if not isinstance(value, str):
        problem = "it should be a text"
    elif len(value) > longest:
        problem = f"it should have at most {longest} characters"
    elif key != "stdin" and (value.startswith("-") or hidden_character(value)):
        problem = "it should be one line, without control characters, and not begin with -"
    else:
        return value
    raise _wrong(key, f"is {_shown(value)}: {problem}", DESCRIBE_HINT)


def _taken(key: str, value: str, command: Command) -> None:
    """Refuse a value that the command does not list or accept."""
    says, name = command.options, command.name
    if key in {"edition", "adaptation"}:
        listed: tuple[str, ...] = getattr(says, key, ())
        if listed and value not in listed:
            has = visible(", ".join(listed[:20]))
            raise _wrong(key, f"is {_shown(value)}; {name} has {has}", f"Use one of {has}.")
        if not EDITION_NAME_PATTERN.fullmatch(value):
            raise _wrong(key, f"is {_shown(value)}, which is not a name", DESCRIBE_HINT)
    elif key in COMMAND_OPTIONS and says is not None and not getattr(says, key):
        raise _wrong(
            key, f"is given, but {name} does not take it", f"Leave it out. {DESCRIBE_HINT}"
        )


def _file(root: Path, value: str) -> str:
    """Return a file of the project that contains no secrets, relative to it, links resolved."""
    below = confined(root, value, "options.file")
    if not (root / below).is_file():
        raise _wrong("file", f"is {_shown(value)}, which is not a file", "Pass the path of a file.")
    if refusal(below) == SECRET_REASON:
        raise _wrong("file", f"is {_shown(value)}, which {SECRET_REASON}", "Use another file.")
    return below


def _destination(root: Path, value: str) -> str:
    """Return a writable destination, relative to the project; it need not exist."""
    top = real_path(root)
    place = real_path(top / value)
    inside = place.relative_to(top) if place.is_relative_to(top) else None
    if (
        inside is None
        or not is_inside(inside.as_posix())
        or is_protected(inside)
        or is_guarded(inside, GUARDED_FILES)
    ):
        raise UsageError(
            f"options.destination is {_shown(value)}, where files must not be written.",
            code="path_outside_root",
            hint="Use a path in the project, outside .git, .code-intel and clients' settings.",
            details={"field": "options.destination"},
        )
    return inside.as_posix()


def _wrong(key: str, what: str, hint: str) -> UsageError:
    between = "" if not key or key.startswith("[") else "."
    field = f"options{between}{visible(key[:MAX_QUOTED_CHARS])}"
    return UsageError(f"{field} {what}.", hint=hint, details={"field": field})


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else type(value).__name__
    return f"`{visible(text[:MAX_QUOTED_CHARS])}`"
