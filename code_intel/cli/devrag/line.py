"""A command line of devrag's users, taken apart: flags may stand anywhere, before the command too.

Go's flags have one dash or two, and a value behind `=` or behind a space; what stands behind `--` is no
flag. `SWITCHES` and `VALUES` are all flags of all commands, so that a value is never taken for the
command; a test compares them with the parsers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from code_intel.errors import UsageError

SWITCHES = frozenset({
    "allow-writes", "dry-run", "force", "help", "json", "remove-file", "version", "words-only",
})  # fmt: skip
VALUES = frozenset({
    "allow-host", "config", "directory", "doc-type", "domain", "fields", "file-pattern", "filepaths",
    "format", "host", "http", "language", "model-dir", "output", "params", "path", "project", "tags",
    "token-file", "top-k",
})  # fmt: skip
YES = frozenset({"1", "t", "true"})
NO = frozenset({"0", "f", "false"})
"""What Go takes behind the `=` of a switch, in any case."""


@dataclass(slots=True)
class Line:
    """What a line says.

    Attributes:
        command: The first word that is no flag and no flag's value; empty when there is none.
        config: `--config`; None when it is not given.
        model_dir: `--model-dir`; empty when it is not given.
        version: Whether `--version` stands anywhere.
        unknown: The first flag that no command has.
        flags: The flags, each together with its value.
        words: The other words behind the command.
    """

    command: str = ""
    config: str | None = None
    model_dir: str = ""
    version: bool = False
    unknown: str = ""
    flags: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)


def read(argv: Sequence[str]) -> Line:
    """Take a line apart.

    Raises:
        UsageError: A global flag lacks its value, or a switch has one that says neither yes nor no.
    """
    line, rest = Line(), iter(argv)
    for word in rest:
        name, equals, value = _flag(word)
        if word == "--":
            break
        if name in SWITCHES:
            _switch(line, name, value if equals else "true")
        elif name in VALUES:
            _take(line, name, value if equals else next(rest, None))
        elif word.startswith("-") and word != "-":
            line.unknown = line.unknown or word
        else:
            line.words.append(word)
    line.words += rest
    line.command = line.words.pop(0) if line.words else ""
    return line


def _flag(word: str) -> tuple[str, str, str]:
    """Return a known flag's name, `=` if it has one, and what is behind; else an empty name."""
    name, equals, value = word.lstrip("-").partition("=")
    name = "help" if name == "h" else name
    dashes = len(word) - len(word.lstrip("-"))
    known = dashes in {1, 2} and name in SWITCHES | VALUES
    return (name, equals, value) if known else ("", "", "")


def _switch(line: Line, name: str, value: str) -> None:
    if value.lower() not in YES | NO:
        raise UsageError(f"--{name} is true or false.", details={"field": name.replace("-", "_")})
    if value.lower() in YES and name == "version":
        line.version = True
    elif value.lower() in YES:
        line.flags.append(f"--{name}")


def _take(line: Line, name: str, value: str | None) -> None:
    if name in {"config", "model-dir"}:
        if not value:
            raise UsageError(f"--{name} needs a path.", details={"field": name.replace("-", "_")})
        if name == "config":
            line.config = value
        else:
            line.model_dir = value
    else:
        line.flags.append(f"--{name}" if value is None else f"--{name}={value}")
