"""What may be given to a command: its identifiers and its options, checked before anything is started.

`OPTIONS` is seed 000's mapping as a table. A program gets the long form of each, as one argument that cannot be
read as another option: the short `-d` means different things in different versions (docs/decisions/0046).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from code_intel.config.writable_folders import is_inside
from code_intel.errors import UsageError
from code_intel.forest.text.grep import confined
from code_intel.foundation.text import hidden_character, visible
from code_intel.index.corpus import SECRET_REASON, refusal
from code_intel.index.safe_files import real_path
from code_intel.registry.records import (
    EDITION_NAME_PATTERN,
    IDENTIFIER_PATTERN,
    MAX_NAME_CHARS,
    VARIABLE_PATTERN,
    Command,
)
from code_intel.session.write_gate import belongs_to_us

MAX_VARIABLES = 50
MAX_VALUE_CHARS, MAX_INPUT_CHARS = 1000, 200_000
"""Characters of a value, and of what is read from stdin."""
MAX_VALUE_CHARS = 100
DESCRIBE_HINT = "Call describe: it says what the command takes."
GivenOptions = Mapping[str, Any] | Sequence[str] | None


class CommandOption(NamedTuple):
    """One row of the table: its key, the flags that stand for it (a program gets the first), what it is."""

    key: str
    flags: tuple[str, ...]
    about: str


COMMAND_OPTIONS = (
    CommandOption("edition", ("--edition", "-e"), "the name of an edition"),
    CommandOption("adaptation", ("--adaptation", "-a"), "the name of an adaptation"),
    CommandOption("file", ("--from", "-f", "--file"), "the path of a file"),
    CommandOption("destination", ("--destination", "-d", "-o"), "a path"),
    CommandOption("stdin", (), "a text"),
)
OPTION_KEYS = tuple(option.key for option in COMMAND_OPTIONS)
NOT_GIVEN: tuple[object, ...] = (None, False)
"""What models write for what they leave out of a form; describe says false of what a command does not take."""
MAY_BE_EMPTY = frozenset({"stdin"})
"""Of any other option the empty text, which models fill in, is one that was not given."""
_BY_FLAG = {flag: option.key for option in COMMAND_OPTIONS for flag in option.flags}


@dataclass(frozen=True, slots=True)
class OptionRequest:
    """The options of one execution, checked; what was not given is empty, `stdin` None.

    `file` and `destination` are relative to the project; `variables` are pairs of `uv-NAME` and a value.
    """

    edition: str = ""
    adaptation: str = ""
    file: str = ""
    destination: str = ""
    stdin: str | None = None
    variables: tuple[tuple[str, str], ...] = ()


def check_identifiers(agent: str, c1: str, c2: str, c3: str) -> None:
    """Refuse names that could be anything else on a command line or in a path.

    Raises:
        UsageError: Names the field.
    """
    for field, value in {"agent": agent, "c1": c1, "c2": c2, "c3": c3}.items():
        if len(value) > MAX_NAME_CHARS or not IDENTIFIER_PATTERN.fullmatch(value):
            raise UsageError(
                f"{field} is {_shown(value)}, which names no command.",
                hint=f"{field} has letters, digits, dots, dashes and underscores; search says what there is.",
                details={"field": field},
            )


def checked(given: GivenOptions, command: Command, root: Path) -> OptionRequest:
    """Read the options of a call, as a mapping (seed 001) or as a list of `--flag=value` (upstream's form).

    Args:
        given: `edition`, `adaptation`, `file`, `destination`, `stdin`, `uv-NAME`; what is None or false was not given.
        command: Takes them, or says that it does not.
        root: The project; paths are relative to it, and inside it.

    Raises:
        UsageError: Names the option: `options.edition`.
    """
    texts: dict[str, str] = {}
    for key, value in _pairs(given):
        if key in texts:
            raise _wrong(key, "is given twice", "Give it once.")
        if not any(value is each for each in NOT_GIVEN) and (value != "" or key in MAY_BE_EMPTY):
            texts[key] = _text(key, value)
    for key, value in texts.items():
        _taken(key, value, command)
    variables = tuple((key, value) for key, value in texts.items() if key not in OPTION_KEYS)
    if len(variables) > MAX_VARIABLES:
        raise _wrong("", f"has more than {MAX_VARIABLES} variables", "Give fewer.")
    return OptionRequest(
        edition=texts.get("edition", ""),
        adaptation=texts.get("adaptation", ""),
        file=_file(root, texts["file"]) if "file" in texts else "",
        destination=_destination(root, texts["destination"]) if "destination" in texts else "",
        stdin=texts.get("stdin"),
        variables=variables,
    )


def argv(asked: OptionRequest) -> list[str]:
    """Return the arguments that say so; `stdin` is none of them."""
    given = (
        (option.flags[0], getattr(asked, option.key)) for option in COMMAND_OPTIONS if option.flags
    )
    named = ((f"--{name}", value) for name, value in asked.variables)
    return [f"{flag}={value}" for flag, value in given if value] + [
        f"{flag}={value}" for flag, value in named
    ]


def _pairs(given: GivenOptions) -> list[tuple[str, Any]]:
    """Return key and value of each option, whichever form they came in.

    Raises:
        UsageError: It is neither form, or there is no such option.
    """
    if given is None:
        return []
    if isinstance(given, Mapping):
        return [(_known(str(key)), value) for key, value in given.items()]
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise _wrong("", "must be an object", 'Give an object such as {"edition": "default"}.')
    return [_pair(number, item) for number, item in enumerate(given)]


def _pair(number: int, item: object) -> tuple[str, str]:
    flag, equals, value = item.partition("=") if isinstance(item, str) else ("", "", "")
    key = _BY_FLAG.get(flag) or (flag[2:] if VARIABLE_PATTERN.fullmatch(flag[2:]) else "")
    if not (equals and key and flag.startswith("-")):
        flags = ", ".join(option.flags[0] for option in COMMAND_OPTIONS if option.flags)
        raise _wrong(
            f"[{number}]", f"is {_shown(item)}", f"Write --flag=value; flags: {flags}, --uv-NAME."
        )
    return key, value


def _known(key: str) -> str:
    """Return the key of an option.

    Raises:
        UsageError: There is none of that name.
    """
    if key in OPTION_KEYS or VARIABLE_PATTERN.fullmatch(key):
        return key
    near = get_close_matches(key[:MAX_VALUE_CHARS], OPTION_KEYS, n=1)
    known = f"did you mean {near[0]}?" if near else f"options: {', '.join(OPTION_KEYS)}, uv-NAME."
    raise _wrong(key, "is no option", f"Leave it out; {known}")


def _text(key: str, value: object) -> str:
    """Return a value that can be handed on: no option in disguise, nothing that nobody can see, not endless.

    Raises:
        UsageError: It is none.
    """
    about = next((option.about for option in COMMAND_OPTIONS if option.key == key), "a text")
    if not isinstance(value, str):
        raise _wrong(key, f"must be {about}", f"Give {about}, in quotes, or leave it out.")
    if key == "stdin":
        if len(value) > MAX_INPUT_CHARS:
            raise _wrong(key, f"has more than {MAX_INPUT_CHARS:,} characters", "Give less of it.")
        return value
    if len(value) > MAX_VALUE_CHARS:
        raise _wrong(key, f"has more than {MAX_VALUE_CHARS:,} characters", f"Give {about}.")
    if value.startswith("-"):
        raise _wrong(key, f"is {_shown(value)}", "No value begins with a dash.")
    if hidden_character(value):
        raise _wrong(key, f"is {_shown(value)}", "Give it on one line, without control characters.")
    return value


def _taken(key: str, value: str, command: Command) -> None:
    """Refuse what the command does not list, or says that it does not take.

    Raises:
        UsageError: It does not.
    """
    says, name = command.options, command.name
    if key in {"edition", "adaptation"}:
        listed: tuple[str, ...] = getattr(says, key, ())
        if listed and value not in listed:
            has = visible(", ".join(listed[:20]))
            raise _wrong(key, f"is {_shown(value)}; {name} has {has}", f"Use one of {has}.")
        if not EDITION_NAME_PATTERN.fullmatch(value):
            raise _wrong(key, f"is {_shown(value)}, which is no name", DESCRIBE_HINT)
    elif key in OPTION_KEYS and says is not None and not getattr(says, key):
        raise _wrong(key, f"is given, and {name} takes none", f"Leave it out. {DESCRIBE_HINT}")


def _file(root: Path, value: str) -> str:
    """Return a file of the project, relative to it, links resolved.

    Raises:
        UsageError: It is elsewhere, missing, no file, or may hold secrets.
    """
    below = confined(root, value, "options.file")
    if not (root / below).is_file():
        raise _wrong("file", f"is {_shown(value)}, which is no file", "Give the path of a file.")
    if refusal(below) == SECRET_REASON:
        raise _wrong("file", f"is {_shown(value)}, which {SECRET_REASON}", "Give another file.")
    return below


def _destination(root: Path, value: str) -> str:
    """Return where to write, relative to the project; it need not be there.

    Raises:
        UsageError: It is elsewhere, or what no agent may write itself: of git, of this program, of its client.
    """
    top = real_path(root)
    place = real_path(top / value)
    inside = place.relative_to(top) if place.is_relative_to(top) else None
    if inside is None or not is_inside(inside.as_posix()) or belongs_to_us(inside):
        raise UsageError(
            f"options.destination is {_shown(value)}, which is no place for files of the project.",
            code="path_outside_root",
            hint="Give a path inside the project, none of git's, of code-intel's or of its client's settings.",
            details={"field": "options.destination"},
        )
    return inside.as_posix()


def _wrong(key: str, what: str, hint: str) -> UsageError:
    between = "" if not key or key.startswith("[") else "."
    field = f"options{between}{visible(key[:MAX_VALUE_CHARS])}"
    return UsageError(f"{field} {what}.", hint=hint, details={"field": field})


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else type(value).__name__
    return f"`{visible(text[:MAX_VALUE_CHARS])}`"
