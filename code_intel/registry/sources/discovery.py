"""Find and read the clients' prompt files of a project.

A command is named by its path: `.claude/commands/git/commit.md` is `claude commands.git commit`. A
name that cannot be written so ends with a digest of the path.
"""

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from code_intel.index.corpus import SECRET_REASON, refusal
from code_intel.index.safe_files import real_path
from code_intel.registry import place
from code_intel.registry.checking import (
    MAX_EDITIONS,
    MAX_REGISTRY_NOTES,
    MalformedRegistry,
    reason_of,
)
from code_intel.registry.prompts import MAX_PROMPT_BYTES, name_of
from code_intel.registry.records import MAX_NAME_CHARS, Command, CommandOptions
from code_intel.registry.sources import formats
from code_intel.registry.sources.formats import SOURCES, PromptFile, Source

MAX_FILES = 500
UNUSABLE = (ValueError, OSError, RecursionError)
_INVALID = re.compile(r"[^A-Za-z0-9._-]+")


class ClientCommands(NamedTuple):
    """The commands of the clients' folders, and a note for each file that is left out."""

    commands: tuple[Command, ...] = ()
    notes: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()


def client_commands(root: Path) -> ClientCommands:
    """Return the commands of a project's prompt files as they are on disk."""
    commands: dict[str, Command] = {}
    files = tuple(_files(root))
    notes = [f"only the first {MAX_FILES} files are read"] if len(files) > MAX_FILES else []
    for source, path in files[:MAX_FILES]:
        reason = ""
        try:
            command = _command(root, source, path)
            if commands.setdefault(command.name, command) is not command:
                reason = "another file has its name"
        except UNUSABLE as error:
            reason = reason_of(error)
        if reason:
            called = place.mentioned(path, (root,), f"A file in {source.folder}")
            notes.append(f"{called} is left out: {reason}")
    if (more := len(notes) - MAX_REGISTRY_NOTES) > 0:
        notes[MAX_REGISTRY_NOTES:] = [f"{more:,} more files are left out"]
    return ClientCommands(tuple(commands.values()), tuple(notes), folders(root))


def folders(root: Path) -> tuple[str, ...]:
    """Return the clients' folders of prompt files that a project has and that can be read."""
    return tuple(one.folder for one in SOURCES.values() if os.path.isdir(root / one.folder))  # noqa: PTH112


def parsed(root: Path, source: Source, path: Path) -> PromptFile:
    """Read and parse a prompt file; raise one of `UNUSABLE` if that cannot be done."""
    real, data = place.content(path, (root,), MAX_PROMPT_BYTES)
    if refusal(real.as_posix()) == SECRET_REASON:
        raise MalformedRegistry(f"it is a link to a file that {SECRET_REASON}")
    return source.parse(data.decode("utf-8-sig", "replace").replace("\r\n", "\n"))


def _files(root: Path) -> Iterator[tuple[Source, Path]]:
    """Yield the files of each folder in order; of a folder that leads out of the project, none."""
    for source in SOURCES.values():
        top = root / source.folder
        real = place.confined(top, (root,))
        if real is None or real_path(root).is_relative_to(real):
            continue
        for path in sorted(top.glob(source.files)):
            if not any(part.startswith(".") for part in path.relative_to(top).parts):
                yield source, path


def _command(root: Path, source: Source, path: Path) -> Command:
    """Return the command of a file; raise one of `UNUSABLE` for another file."""
    prompt = parsed(root, source, path)
    if prompt.is_by_user:
        raise MalformedRegistry(f"only the user may start it ({formats.BY_USER})")
    if not prompt.body:
        raise MalformedRegistry("it has no prompt")
    about = {
        f"uv-{name}": "all arguments" if name in formats.WHOLE else f"the argument {name}"
        for name in map(name_of, source.found(prompt))
        if name and not _INVALID.search(name)
    }
    return Command(
        *_name(source, path.relative_to(root / source.folder)),
        description=prompt.description
        or formats.as_text(prompt.body.lstrip("# \n").split("\n")[0]),
        usage=prompt.usage or None,
        options=CommandOptions(stdin=True),
        variables=tuple(about.items())[:MAX_EDITIONS],
        origin=source.origin,
        file=path.relative_to(root).as_posix(),
    )


def _name(source: Source, below: Path) -> tuple[str, str, str]:
    """Return the client, the folders joined by dots, and the name of a file or skill."""
    client, _, kind = source.folder.lstrip(".").partition("/")
    is_skill = source.files == formats.SKILLS
    *above, last = (below.parent if is_skill else below.with_suffix("")).parts
    wanted = ".".join((kind, *above)), last
    c2, c3 = (_INVALID.sub("-", text).strip("-._")[:MAX_NAME_CHARS] or "x" for text in wanted)
    if (c2, c3) != wanted or any("." in folder for folder in above):
        digest = hashlib.sha256(below.as_posix().encode("utf-8", "surrogateescape")).hexdigest()
        c3 = f"{c3[: MAX_NAME_CHARS - 9]}-{digest[:8]}"
    return client, c2, c3
