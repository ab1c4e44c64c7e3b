"""The records of the command registry, with the names of seeds 000 and 001.

A command has three identifiers, C3L: its domain `c1` (`climpt-git`), its action `c2`
(`group-commit`) and its target `c3` (`unstaged-changes`). With its agent they are its key.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

DEFAULT_AGENT = "climpt"
MAX_NAME_CHARS = 100
"""Characters of each of these names."""
IDENTIFIER_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
"""An agent, c1, c2 or c3: on a command line never an option, a path or a second line."""
EDITION_NAME_PATTERN = re.compile(r"\w[\w.-]{0,99}")
"""An edition or adaptation: part of a file's name, in any script."""
VARIABLE_PATTERN = re.compile(r"uv-[A-Za-z0-9][A-Za-z0-9_-]{0,96}")
"""The option that gives a prompt one of its variables."""
DEFAULT_RESULTS = 3
"""Results of a search, unless asked for more (seed 000)."""


class CommandKey(NamedTuple):
    """What a command is called."""

    agent: str
    c1: str
    c2: str
    c3: str


@dataclass(frozen=True, slots=True)
class CommandOptions:
    """The options of a command (seed 001): editions, adaptations, and three kinds of input."""

    edition: tuple[str, ...] = ()
    adaptation: tuple[str, ...] = ()
    file: bool = False
    stdin: bool = False
    destination: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    """One command of a registry; without such a key, `usage` and `options` have the value None.

    `variables` are pairs of `uv-NAME` and what it is, where the registry tells of them. A command
    that is a prompt file of a client (`sources`) has the `origin` and the `file`, relative to the
    project; both are empty for a command of a registry.
    """

    c1: str
    c2: str
    c3: str
    description: str
    usage: str | None = None
    options: CommandOptions | None = None
    agent: str = DEFAULT_AGENT
    variables: tuple[tuple[str, str], ...] = ()
    origin: str = ""
    file: str = ""

    @property
    def key(self) -> CommandKey:
        """What it is called, and by whom."""
        return CommandKey(self.agent, self.c1, self.c2, self.c3)

    @property
    def name(self) -> str:
        """Its three identifiers, as seed 001 writes them."""
        return f"{self.c1} {self.c2} {self.c3}"


@dataclass(frozen=True, slots=True)
class Registry:
    """The commands of one agent, in the order of the file.

    Attributes:
        agent: Whose.
        path: The file, absolute.
        commands: All of them, those with the name of an earlier one included.
        version: As the file says.
        description: As the file says.
        notes: What is odd in it, a sentence each; nothing of it keeps a command from being found.
        folders: The clients' folders whose prompt files are among the commands.
    """

    agent: str
    path: Path
    commands: tuple[Command, ...]
    version: str = ""
    description: str = ""
    notes: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A command found by words; `score` is BM25's: above 0, without an upper bound (seed 000)."""

    c1: str
    c2: str
    c3: str
    description: str
    score: float


@dataclass(frozen=True, slots=True)
class RRFResult(SearchResult):
    """A command found by several queries; `ranks` has its places, from 1, or -1 (seed 000)."""

    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ExecutionResult:
    """The result of an execution, or what it would run.

    Attributes:
        prompt: The command's prompt, unchanged.
        runner: `climpt`, `deno`, `prompts`, or the name of the configured program.
        truncated: Whether the end of the prompt is missing.
        notes: Remarks, one sentence each.
        file: The prompt file, if no program runs.
        argv: The command line, if the program has not been run.
        missing: The options of placeholders that have no value, such as `uv-audience`.
    """

    prompt: str
    runner: str
    truncated: bool = False
    notes: tuple[str, ...] = ()
    file: str = ""
    argv: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
