"""Open the project itself and the other projects of its workspace, which are on this machine.

Other projects are only read: nothing is created, moved, repaired or indexed there.
"""

import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path

from code_intel.config import Settings, load_settings
from code_intel.embedding.lazy import LazyEmbedder
from code_intel.errors import NotFoundError
from code_intel.foundation import git
from code_intel.index.facade import Index
from code_intel.index.walk import bases
from code_intel.tools.context.corpus_service import CorpusService, project_sync
from code_intel.tools.context.repositories.search import no_repositories
from code_intel.tools.context.repositories.sources import Listed, OpenedIndex, Place
from code_intel.tools.context.repositories.workspace import (
    WorkspaceEntry,
    read_workspace,
    repository_name,
)


class OpenProjects:
    """The other projects whose indexes a process has open.

    Attributes:
        union: What searches of several projects keep.
    """

    def __init__(self) -> None:
        self.union = no_repositories()
        self._services: dict[Path, CorpusService] = {}
        self._lock = threading.Lock()

    def service(self, entry: WorkspaceEntry, embedder: LazyEmbedder) -> CorpusService:
        """Return the service of a project's forest, which embeds questions with `embedder`.

        Raises:
            CodeIntelError: See `project_settings`.
        """
        settings = project_settings(entry.root, entry.name)
        with self._lock:
            known = self._services.get(entry.root)
            if known is None or known.settings.forest != settings.forest:
                if known is not None:
                    known.index.close()
                known = other_service(settings, embedder)
                self._services[entry.root] = known
            return replace(known, embedder=embedder)

    def close(self) -> None:
        """Close the indexes; the next search opens them again."""
        with self._lock:
            for service in self._services.values():
                service.index.close()
            self._services.clear()


class Checkouts:
    """The project itself and the other projects of its workspace; a `RepositorySource`.

    Args:
        own: The service of the project's own forest.
        projects: Opens the other projects.
        has_own: Whether the project itself is listed.
        has_others: Whether the other projects are listed.
        own_name: The name of the project, if it is known.
    """

    def __init__(
        self,
        own: CorpusService,
        projects: OpenProjects,
        *,
        has_own: bool = True,
        has_others: bool = True,
        own_name: str = "",
    ) -> None:
        self._own = own
        self._projects = projects
        self._has_own, self._has_others = has_own, has_others
        settings = own.settings
        self._own_name = own_name or settings.shared.repository or repository_name(settings.root)

    def parts(self) -> "tuple[Checkouts, Checkouts]":
        """Return the other projects, and the project itself."""
        part = partial(Checkouts, self._own, self._projects, own_name=self._own_name)
        return part(has_own=False), part(has_others=False)

    def listed(self) -> Listed:
        """Return the name and the folder of each project; see `RepositorySource`.

        Raises:
            StorageError: The list of the workspace cannot be read.
        """
        found = {self._own_name: str(self._own.settings.root)} if self._has_own else {}
        for entry in read_workspace(self._own.settings) if self._has_others else ():
            if entry.name != self._own_name:
                found[entry.name] = str(entry.root)
        return Listed(found)

    def open(self, names: Sequence[str]) -> list[OpenedIndex]:
        """Return the index of each project; see `RepositorySource`.

        Raises:
            NotFoundError: A project does not exist or has no index.
            StorageError: An index cannot be used, such as that of a newer version.
            ConfigError: The configuration of a project cannot be used.
        """
        others = {entry.name: entry for entry in read_workspace(self._own.settings)}
        return [
            _opened(name, self._own, is_own=True)
            if name == self._own_name
            else _opened(
                name, self._projects.service(others[name], self._own.embedder), is_own=False
            )
            for name in names
        ]


def project_settings(root: Path, name: str = "") -> Settings:
    """Return the settings of another project that has an index.

    Raises:
        NotFoundError: It does not exist, or has no index.
        ConfigError: Its configuration cannot be used.
    """
    remove = f", or `code-intel workspace remove {name}`" if name else ""
    if not root.is_dir():
        raise NotFoundError(f"{root} does not exist.", hint=f"Restore the folder{remove}.")
    settings = load_settings(root)
    if not settings.forest.db_path.exists():
        raise NotFoundError(
            f"{root} is not indexed.", hint=f"Run `{project_sync(settings)}`{remove}."
        )
    return settings


def other_service(settings: Settings, embedder: LazyEmbedder) -> CorpusService:
    """Return the service of another project's forest, for reading."""
    index = Index(settings.forest, readonly=True, check_disk=True, command=project_sync(settings))
    index.disk_check.in_background = True
    return CorpusService(settings, index, index, embedder)


def _opened(name: str, service: CorpusService, *, is_own: bool) -> OpenedIndex:
    """Return an index, which is opened now, so that an error is that of this project."""
    store = service.index.store
    store.version_token()

    @lru_cache(maxsize=1)
    def commit() -> str:
        return git.head(service.settings.root) or ""

    return OpenedIndex(
        key=name,
        store=store,
        bases=bases(service.index.config),
        place_of=lambda document: Place(name, commit(), document),
        comparable=service.comparable,
        freshness=service.freshness,
        is_own=is_own,
    )
