"""Change and list the other projects of this machine that a project may search."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from code_intel.config import Settings, find_root, holds_all_projects
from code_intel.embedding.lazy import LazyEmbedder
from code_intel.errors import CodeIntelError, NotFoundError, UsageError
from code_intel.foundation import git
from code_intel.tools.context.repositories.checkouts import other_service, project_settings
from code_intel.tools.context.repositories.workspace import (
    WorkspaceEntry,
    change_workspace,
    is_name,
    read_workspace,
    repository_name,
)


class WorkspaceRow(NamedTuple):
    """A project of a workspace and its state.

    Attributes:
        name: The name by which a search asks for it.
        path: Its folder.
        commit: The commit that is checked out; empty without one.
        own: Whether it is the project itself.
        state: The state of its index, `missing` if it cannot be searched.
        files: Documents in its index.
        notes: What keeps searches from using all of it, each with the next step.
    """

    name: str
    path: str
    commit: str
    own: bool
    state: str
    files: int
    notes: tuple[str, ...]


def add_project(
    settings: Settings, path: Path, name: str = "", *, dry_run: bool = False
) -> WorkspaceRow:
    """Add the project that contains a folder.

    Args:
        settings: The project whose workspace to change.
        path: A folder of the other project.
        name: The name to give it; by default that of its git remote, else that of its folder.
        dry_run: Whether to change nothing.

    Raises:
        UsageError: It is no other project, or the name is malformed or taken.
        NotFoundError: It does not exist or has no index.
        StorageError: Its index cannot be used.
    """
    if not path.is_dir():
        raise UsageError(f"{path} is not a folder.", details={"field": "path"})
    root = find_root(path).resolve()
    if holds_all_projects(root):
        raise UsageError(
            f"{root} contains all of your projects, so it cannot be one of them.",
            hint="Name the folder of one project.",
            details={"field": "path"},
        )
    if root == settings.root.resolve():
        raise UsageError(
            f"{root} is this project itself; it is always searched with the others.",
            hint="Name the folder of another project.",
            details={"field": "path"},
        )
    if name and not is_name(name):
        raise UsageError(
            f"{name[:200]} cannot be the name of a repository.",
            hint="Use letters, digits and `.+-_`, with `/` between parts, such as team/shop.",
            details={"field": "name"},
        )
    entry = WorkspaceEntry(name or repository_name(root), root)
    row = _row(settings, entry)
    own = WorkspaceEntry(repository_name(settings.root), settings.root)

    def change(before: tuple[WorkspaceEntry, ...]) -> list[WorkspaceEntry]:
        others = [each for each in before if each.root != root]
        for each in (own, *others):
            if each.name == entry.name:
                raise UsageError(
                    f"{entry.root} and {each.root} would both be called {entry.name}.",
                    hint=f"Give another name: `code-intel workspace add {path} --name NAME`.",
                    details={"field": "name"},
                )
        return [*others, entry]

    change_workspace(settings, change, dry_run=dry_run)
    return row


def remove_project(settings: Settings, given: str, *, dry_run: bool = False) -> WorkspaceEntry:
    """Remove a project, by its name or folder; return it.

    Raises:
        NotFoundError: The workspace does not contain it.
    """
    path = Path(given).expanduser().absolute()
    found: list[WorkspaceEntry] = []

    def change(before: tuple[WorkspaceEntry, ...]) -> list[WorkspaceEntry]:
        found[:] = [e for e in before if e.name == given] or [
            each for each in before if each.root in {path, path.resolve()}
        ]
        if not found:
            raise NotFoundError(
                f"The workspace contains no {given[:200]}.",
                hint="`code-intel workspace list` shows what it contains.",
                details={"field": "project"},
            )
        return [each for each in before if each not in found]

    change_workspace(settings, change, dry_run=dry_run)
    return found[0]


def list_projects(settings: Settings) -> list[WorkspaceRow]:
    """Return the project itself and the others, by name.

    Raises:
        StorageError: The list cannot be read.
    """
    own = WorkspaceEntry(repository_name(settings.root), settings.root)
    return [_described(settings, own), *_others(settings)]


def _others(settings: Settings) -> Iterator[WorkspaceRow]:
    for entry in read_workspace(settings):
        yield _described(settings, entry)


def _described(settings: Settings, entry: WorkspaceEntry) -> WorkspaceRow:
    """Return the state of a project, even if it cannot be searched."""
    try:
        return _row(settings, entry)
    except CodeIntelError as error:
        note = f"{error.message} {error.hint}"
        own = entry.root == settings.root
        return WorkspaceRow(entry.name, str(entry.root), "", own, "missing", 0, (note,))


def _row(settings: Settings, entry: WorkspaceEntry) -> WorkspaceRow:
    """Return the state of a project; open its index for reading."""
    own = entry.root == settings.root
    found = settings if own else project_settings(entry.root, entry.name)
    service = other_service(found, LazyEmbedder(settings, corpus="forest"))
    try:
        service.index.store.version_token()
        state = service.index.freshness()
    finally:
        service.index.close()
    commit = git.head(entry.root) or ""
    return WorkspaceRow(
        entry.name, str(entry.root), commit, own, state.state, state.files, state.degraded
    )
