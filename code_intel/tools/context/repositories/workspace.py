"""Keep the list of other projects on this machine that a project may search.

The list is in the user's state folder, not in the project: a repository from elsewhere
must not name folders to read (docs/decisions/0093).
"""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from code_intel.config import Settings
from code_intel.config.confinement import could_be_written_by
from code_intel.errors import StorageError
from code_intel.foundation import durable, revisions
from code_intel.foundation.state_folder import project_digest
from code_intel.index.safe_files import read_plain

FORMAT = 1
MAX_BYTES = 1 << 20
_PART = r"[\w.+-]*[\w+-][\w.+-]*"
_NAME = re.compile(rf"{_PART}(?:/{_PART})*")


class WorkspaceEntry(NamedTuple):
    """Another project that may be searched, with the name by which a search asks for it."""

    name: str
    root: Path


def workspace_file(settings: Settings) -> Path:
    """Return the file with the list of a project."""
    return settings.state_dir / "workspaces" / f"{project_digest(settings.root)}.json"


def read_workspace(settings: Settings) -> tuple[WorkspaceEntry, ...]:
    """Return the other projects that a project may search, by name.

    A list inside the project does not count: a repository could bring it.

    Raises:
        StorageError: The list cannot be read, or a newer version wrote it.
    """
    if could_be_written_by(settings.root, settings.state_dir):
        return ()
    file = workspace_file(settings)
    try:
        data = json.loads(read_plain(file, MAX_BYTES))
        version = data["version"]
        entries = [WorkspaceEntry(str(row["name"]), Path(row["path"])) for row in data["projects"]]
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, TypeError, LookupError) as error:
        raise StorageError(
            f"The workspace cannot be read: {file} is malformed.",
            hint=f"Remove {file}, and add the projects again with `code-intel workspace add`.",
        ) from error
    if version != FORMAT:
        raise StorageError(
            f"A newer version of code-intel wrote {file}.", hint="Upgrade code-intel."
        )
    return tuple(sorted(entries))


def change_workspace(
    settings: Settings,
    change: Callable[[tuple[WorkspaceEntry, ...]], Sequence[WorkspaceEntry]],
    *,
    dry_run: bool = False,
) -> tuple[WorkspaceEntry, ...]:
    """Replace the list by what `change` makes of it, under a lock; return the new list.

    Raises:
        StorageError: The list cannot be read or written.
    """
    file = workspace_file(settings)
    if dry_run:
        return tuple(sorted(change(read_workspace(settings))))
    durable.make_folder(file.parent, 0o700)
    with durable.locked(file.with_suffix(".lock")):
        before = read_workspace(settings)
        after = tuple(sorted(change(before)))
        rows = [{"name": entry.name, "path": str(entry.root)} for entry in after]
        if after != before:
            text = json.dumps({"version": FORMAT, "projects": rows}, indent=2) + "\n"
            durable.sweep(file.parent)
            durable.replace(file, text.encode("utf-8", "surrogateescape"))
    return after


def repository_name(root: Path) -> str:
    """Return `team/shop` from the address of the git remote, or else the folder's name.

    The name of a project that is a folder of a repository ends with that folder.
    """
    name = revisions.repository_name(root)
    return name if is_name(name) else as_name(root.name)


def as_name(text: str) -> str:
    """Return a text as a name, with other characters replaced.

    >>> as_name("my shop")
    'my-shop'
    """
    name = re.sub(r"[^\w.+-]+", "-", text).strip("-.")
    return name if is_name(name) else "project"


def is_name(text: str) -> bool:
    """Return whether a text can be the name of a repository, such as `team/shop`.

    >>> is_name("team/shop"), is_name("../shop"), is_name("a//b"), is_name("a b")
    (True, False, False, False)
    """
    return bool(_NAME.fullmatch(text))
