"""Split a devrag command line into command, flags and words.

Flags may be anywhere, also before the command. As in Go, flags have one dash or two, and a value
after `=` or a space; `--` ends the flags. `SWITCHES` and `VALUES` list the flags of all commands,
so that a value is never mistaken for the command. A test compares them with the parsers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from code_intel.errors import UsageError

SWITCHES = frozenset({
    "allow-writes", "dry-run", "force", "help", "json", "remove-file", "version", "words-only",
})  # fmt: skip
VALUES = frozenset({
    "allow-host", "config", "directory", "doc-type", "domain", "fields", "file-pattern",
    "filepaths", "format", "host", "http", "language", "model-dir", "output", "params", "path",
    "project", "tags", "token-file", "top-k",
})  # fmt: skip
TRUE_VALUES = frozenset({"1", "t", "true"})
FALSE_VALUES = frozenset({"0", "f", "false"})
"""The values that Go accepts after the `=` of a switch, in any case."""


@dataclass(slots=True)
class Line:
    """A command line.

    Attributes:
        command: The first word that is neither a flag nor a value; empty if none exists.
        config: The value of `--config`, None if not given.
        model_dir: The value of `--model-dir`, empty if not given.
        version: Whether `--version` is given.
        unknown: The first flag that no command has.
        flags: The flags with their values.
        words: The other words after the command.
    """

    command: str = ""
    config: str | None = None
    model_dir: str = ""
    version: bool = False
    unknown: str = ""
    flags: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)


def read(argv: Sequence[str]) -> Line:
    """Split a command line.

    Raises:
        UsageError: A global flag lacks its value, or the value of a switch is neither true nor
            false.
    """
    line, words_left = Line(), iter(argv)
    for word in words_left:
        name, equals, value = _flag(word)
        if word == "--":
            break
        if name in SWITCHES:
            _add_switch(line, name, value if equals else "true")
        elif name in VALUES:
            _add_value(line, name, value if equals else next(words_left, None))
        elif word.startswith("-") and word != "-":
            line.unknown = line.unknown or word
        else:
            line.words.append(word)
    line.words += words_left
    line.command = line.words.pop(0) if line.words else ""
    return line


def _flag(word: str) -> tuple[str, str, str]:
    """Return the name of a known flag, `=` if it contains one, and its value; else empty texts."""
    name, equals, value = word.lstrip("-").partition("=")
    name = "help" if name == "h" else name
    dashes = len(word) - len(word.lstrip("-"))
    known = dashes in {1, 2} and name in SWITCHES | VALUES
    return (name, equals, value) if known else ("", "", "")


def _add_switch(line: Line, name: str, value: str) -> None:
    if value.lower() not in TRUE_VALUES | FALSE_VALUES:
        raise UsageError(f"--{name} is true or false.", details={"field": name.replace("-", "_")})
    if value.lower() in TRUE_VALUES and name == "version":
        line.version = True
    elif value.lower() in TRUE_VALUES:
        line.flags.append(f"--{name}")


def _add_value(line: Line, name: str, value: str | None) -> None:
    if name in {"config", "model-dir"}:
        if not value:
            raise UsageError(f"--{name} needs a path.", details={"field": name.replace("-", "_")})
        if name == "config":
            line.config = value
        else:
            line.model_dir = value
    else:
        line.flags.append(f"--{name}" if value is None else f"--{name}={value}")
