"""A command line of devrag's users, taken apart: flags may stand anywhere, before the command too.

Go's flags have one dash or two, and a value behind `=` or behind a space. `SWITCHES` and `VALUES` are
all flags of all commands, so that a value is never taken for the command; a test compares them with
the parsers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from code_intel.errors import UsageError

SWITCHES = frozenset({"dry-run", "force", "help", "json", "remove-file", "version", "words-only"})
VALUES = frozenset({
    "allow-host", "config", "directory", "doc-type", "domain", "fields", "file-pattern", "filepaths",
    "format", "host", "http", "language", "model-dir", "output", "params", "path", "project", "tags",
    "token-file", "top-k",
})  # fmt: skip


@dataclass(slots=True)
class Line:
    """What a line says.

    Attributes:
        command: The first word that is no flag and no flag's value; empty when there is none.
        config: `--config`; None when it is not given.
        model_dir: `--model-dir`; empty when it is not given.
        version: Whether `--version` stands anywhere.
        rest: The other words, each flag together with its value.
    """

    command: str = ""
    config: str | None = None
    model_dir: str = ""
    version: bool = False
    rest: list[str] = field(default_factory=list)


def read(argv: Sequence[str]) -> Line:
    """Take a line apart.

    Raises:
        UsageError: A global flag lacks its value.
    """
    line, words = Line(), iter(argv)
    for word in words:
        name, equals, value = _flag(word)
        if word == "--":
            line.rest += [word, *words]
        elif name == "version" and not equals:
            line.version = True
        elif name in VALUES:
            _take(line, name, value if equals else next(words, None))
        elif name or word.startswith("-") or line.command:
            line.rest.append(f"--{name}{equals}{value}" if name else word)
        else:
            line.command = word
    return line


def _flag(word: str) -> tuple[str, str, str]:
    """Return a known flag's name, `=` if it has one, and what is behind; else an empty name."""
    name, equals, value = word.lstrip("-").partition("=")
    dashes = len(word) - len(word.lstrip("-"))
    known = dashes in {1, 2} and name in SWITCHES | VALUES
    return (name, equals, value) if known else ("", "", "")


def _take(line: Line, name: str, value: str | None) -> None:
    if name in {"config", "model-dir"}:
        if not value:
            raise UsageError(f"--{name} needs a path.", details={"field": name.replace("-", "_")})
        if name == "config":
            line.config = value
        else:
            line.model_dir = value
    else:
        line.rest.append(f"--{name}" if value is None else f"--{name}={value}")
