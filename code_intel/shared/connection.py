"""Open the connection of a project to its shared index, once per process.

`repository` and `branches` come from git, when they are first needed.
"""

import hashlib
import threading
from collections import OrderedDict
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from code_intel.config import Settings, SharedConfig
from code_intel.config.shared import is_repository
from code_intel.errors import UsageError
from code_intel.foundation import revisions
from code_intel.shared.client import SharedClient
from code_intel.shared.pushes import DELETED_BRANCH, DeleteBranch
from code_intel.shared.records import Generation
from code_intel.shared.wire import (
    FOUND_GENERATION,
    FOUND_VECTORS,
    MAX_COMMITS,
    FindGeneration,
    FindVectors,
    is_branch,
    vectors_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

KEPT_FOLDER = "shared"
"""The folder in the user's cache where answers are kept."""
TRUNKS = ("main", "master")
MAX_CONNECTIONS = 8
DELETE_TIMEOUT_S = 60.0


class Connection:
    """A project's connection to a server.

    Attributes:
        client: Sends the requests.
        folder: The folder that document names are relative to.
        kept: The folder of the answers that are kept.
    """

    def __init__(self, config: SharedConfig, folder: Path, cache: Path) -> None:
        self.client = SharedClient(config)
        self.folder = folder
        key = hashlib.sha256(config.url.encode()).hexdigest()[:16]
        self.kept = cache / KEPT_FOLDER / key

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

    def generation(self, commits: "Sequence[str]", seconds: float) -> Generation | None:
        """Return the index of the first of some commits that has one, else of the trunk.

        Raises:
            SharedIndexError: The server does not answer, or has no such repository.
        """
        branches = (revisions.default_branch(self.folder), *TRUNKS)
        usable = tuple(name for name in dict.fromkeys(branches) if is_branch(name))
        question = FindGeneration(self.repository, tuple(commits[:MAX_COMMITS]), usable)
        found = self.client.ask("/generation", question, FOUND_GENERATION, seconds).generation
        return None if found is None else found.record()

    def vectors(self, cards: "Sequence[str]", dimensions: int, seconds: float) -> dict[str, bytes]:
        """Return the vectors that the server has for cards.

        Raises:
            SharedIndexError: The server does not answer.
        """
        question = FindVectors(self.repository, tuple(cards))
        found = self.client.ask("/vectors", question, FOUND_VECTORS, seconds, is_urgent=False)
        known = {card: found.vectors[card] for card in cards if card in found.vectors}
        return vectors_of(known, dimensions)

    def delete_branch(self, branch: str, *, dry_run: bool) -> str | None:
        """Remove a branch from the server; return its commit, or None if it has no such branch.

        Raises:
            SharedIndexError: The server does not answer, or the token may not push.
        """
        question = DeleteBranch(self.repository, branch, dry_run)
        path = "/push/delete-branch"
        return self.client.call(path, question, DELETED_BRANCH, DELETE_TIMEOUT_S).commit


_open: OrderedDict[tuple[Path, SharedConfig], Connection] = OrderedDict()
_lock = threading.Lock()


def close_connection(settings: Settings) -> None:
    """Close the connection of a project, if it is open."""
    with _lock:
        found = _open.pop((settings.forest.folder, settings.shared), None)
    if found is not None:
        found.client.close()


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
            _open.popitem(last=False)[1].client.close()
    return found


def close_connections() -> None:
    """Close all connections of this process; the next use opens them again."""
    with _lock:
        while _open:
            _open.popitem()[1].client.close()
