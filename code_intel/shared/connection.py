"""Open the connection of a project to its shared index, once per process.

`repository` and `branches` come from git, when they are first needed.
"""

import hashlib
import threading
import time
from collections import OrderedDict
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from code_intel.config import Settings, SharedConfig
from code_intel.config.shared import is_repository
from code_intel.errors import UsageError
from code_intel.foundation import revisions
from code_intel.shared.client import SharedClient
from code_intel.shared.fields import MAX_COMMITS, is_branch
from code_intel.shared.kept_answers import KeptAnswers
from code_intel.shared.records import Generation, Head
from code_intel.shared.routes import (
    GENERATION,
    PUSH_DELETE_BRANCH,
    REPOSITORIES,
    VECTORS,
    DeleteBranch,
    FindCards,
    FindGeneration,
)
from code_intel.shared.wire import vectors_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from code_intel.config import IndexConfig
    from code_intel.shared.overlay import Overlay
    from code_intel.shared.remote_store import RemoteStore

KEPT_FOLDER = "shared"
"""The folder in the user's cache where answers are kept."""
TRUNKS = ("main", "master")
MAX_CONNECTIONS = 8
DELETE_TIMEOUT_S = 60.0
HEADS_S = 60.0
"""How long the list of the repositories is kept."""
MAX_STORES = 4
"""Number of searched sets of repositories of which answers are kept in memory."""


class Connection:
    """A project's connection to a server.

    Attributes:
        client: Sends the requests.
        folder: The folder that document names are relative to.
    """

    def __init__(self, config: SharedConfig, folder: Path, cache: Path) -> None:
        self.client = SharedClient(config)
        self.folder = folder
        self._kept = cache / KEPT_FOLDER / _key(config.url)
        self._overlay: Overlay | None = None
        self._heads: tuple[Head, ...] = ()
        self._heads_until = 0.0
        self._stores: dict[tuple[str, ...], RemoteStore] = {}
        self._lock = threading.Lock()

    @cached_property
    def repository(self) -> str:
        """The name of the project on the server.

        Raises:
            UsageError: The settings do not name it, and neither does a git remote.
        """
        found = self.client.config.repository or revisions.repository_name(self.folder)
        if not is_repository(found):
            raise UsageError(
                "The name of this repository on the server is not known: git has no remote.",
                hint='Set `repository = "team/shop"` in the table [shared] of config.toml.',
                details={"field": "shared.repository"},
            )
        return found

    def kept(self, generation: Generation) -> KeptAnswers:
        """Return the answers about a generation that are kept on this machine."""
        return KeptAnswers(self._kept / _key(generation.repository), generation.id)

    def overlay(self, config: "IndexConfig") -> "Overlay":
        """Return the index of the project with the local files over it, always the same."""
        from code_intel.shared.overlay import Overlay

        with self._lock:
            if self._overlay is None:
                self._overlay = Overlay(self, config)
            return self._overlay

    def close(self) -> None:
        """Close the local index that the overlay has opened, and the connections."""
        with self._lock:
            if self._overlay is not None:
                self._overlay.close()
        self.client.close()

    def heads(self, seconds: float) -> "Sequence[Head]":
        """Return the heads of all repositories that the token may read, kept for a minute.

        Raises:
            SharedIndexError: The server does not answer.
        """
        if time.monotonic() > self._heads_until:
            self._heads = self.client.ask(REPOSITORIES, None, seconds)
            self._heads_until = time.monotonic() + HEADS_S
        return self._heads

    def repositories(self, generations: tuple[str, ...], dimensions: int) -> "RemoteStore":
        """Return the index of the generations of several repositories; nothing is asked yet."""
        from code_intel.shared.remote_store import RemoteStore

        with self._lock:
            if generations not in self._stores:
                if len(self._stores) >= MAX_STORES:
                    self._stores.clear()
                store = RemoteStore(self.client, generations, dimensions=dimensions)
                self._stores[generations] = store
            return self._stores[generations]

    def generation(self, commits: "Sequence[str]", seconds: float) -> Generation | None:
        """Return the index of the first of some commits that has one, else of the trunk.

        Raises:
            SharedIndexError: The server does not answer, or has no such repository.
        """
        branches = (revisions.default_branch(self.folder), *TRUNKS)
        usable = tuple(name for name in dict.fromkeys(branches) if is_branch(name))
        question = FindGeneration(self.repository, tuple(commits[:MAX_COMMITS]), usable)
        return self.client.ask(GENERATION, question, seconds)

    def vectors(self, cards: "Sequence[str]", dimensions: int, seconds: float) -> dict[str, bytes]:
        """Return the vectors that the server has for cards.

        Raises:
            SharedIndexError: The server does not answer.
        """
        question = FindCards(self.repository, tuple(cards))
        found = self.client.ask(VECTORS, question, seconds, is_urgent=False)
        known = {card: found[card] for card in cards if card in found}
        return vectors_of(known, dimensions)

    def delete_branch(self, branch: str, *, dry_run: bool) -> str | None:
        """Remove a branch from the server; return its commit, or None if it has no such branch.

        Raises:
            SharedIndexError: The server does not answer, or the token may not push.
        """
        question = DeleteBranch(self.repository, branch, dry_run)
        return self.client.call(PUSH_DELETE_BRANCH, question, DELETE_TIMEOUT_S)


def _key(text: str) -> str:
    """Return the name of a folder for an address or a repository."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


_open: OrderedDict[tuple[Path, SharedConfig], Connection] = OrderedDict()
_lock = threading.Lock()


def close_connection(settings: Settings) -> None:
    """Close the connection of a project, if it is open."""
    with _lock:
        found = _open.pop((settings.forest.folder, settings.shared), None)
    if found is not None:
        found.close()


def connection_of(settings: Settings) -> Connection | None:
    """Return the connection of a project; None if it uses no shared index."""
    if not settings.shared.is_usable:
        return None
    key = settings.forest.folder, settings.shared
    with _lock:
        found = _open.pop(key, None)
        found = found or Connection(settings.shared, settings.forest.folder, settings.cache_dir)
        _open[key] = found
        while len(_open) > MAX_CONNECTIONS:
            _open.popitem(last=False)[1].close()
    return found


def close_connections() -> None:
    """Close all connections of this process; the next use opens them again."""
    with _lock:
        while _open:
            _open.popitem()[1].close()
