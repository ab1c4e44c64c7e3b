"""Give the command tools a project's registries, their vectors and the log of executions.

The stand-alone server, the gateway and the terminal share `CommandContext`, so they all find and
run commands in the same way (docs/decisions/0044). Opening it reads no file and loads no model.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from anyio import CapacityLimiter

from code_intel.config import Settings
from code_intel.embedding.cache import VectorCache
from code_intel.embedding.lazy import LazyEmbedder
from code_intel.records import WEAK_SCORE
from code_intel.registry.execution import MAX_RUNNING
from code_intel.registry.learning import CommandExperience
from code_intel.registry.loading import Registries
from code_intel.registry.meaning import VECTOR_TIMEOUT_S, CommandVectors
from code_intel.registry.records import CommandKey
from code_intel.tools.context.corpus_service import open_models
from code_intel.tools.progress import Report, ignore_progress

MAX_SEARCHES = 20
"""Maximum searches to remember per connection."""
MAX_CONNECTIONS = 1000
"""Maximum connections to remember; the least recently used are dropped first."""


@dataclass
class RecentSearches:
    """The last searches of each connection, with the scores of the commands that they returned."""

    searches: dict[str, deque[tuple[str, Mapping[CommandKey, float]]]] = field(default_factory=dict)

    def note(self, connection: str | None, query: str, found: Mapping[CommandKey, float]) -> None:
        """Remember a search of a connection; without a connection, do nothing."""
        if connection is None:
            return
        known = self.searches.pop(connection, deque(maxlen=MAX_SEARCHES))
        known.append((query, found))
        self.searches[connection] = known
        while len(self.searches) > MAX_CONNECTIONS:
            del self.searches[next(iter(self.searches))]

    def query_for(self, connection: str | None, key: CommandKey) -> str:
        """Return the query of the last search that returned a command, or an empty text.

        Searches that gave the command a sufficient score are preferred, because in a small registry
        nearly every search returns nearly every command.
        """
        known = self.searches.get(connection, ()) if connection is not None else ()
        found = (
            (scores[key] >= WEAK_SCORE, i) for i, (_, scores) in enumerate(known) if key in scores
        )
        best = max(found, default=None)
        return known[best[1]][0] if best else ""


@dataclass(frozen=True)
class CommandContext:
    """The commands of one project.

    Attributes:
        settings: The project's settings.
        registries: The commands by agent.
        vectors: Vectors of commands and queries.
        experience: The log of commands executed in this project, with the features they served.
        embedder: The process's model.
        answered: The last searches of each connection.
        turns: Limits how many programs run at the same time.
        report: Reports progress to the caller.
        connection: The name of the caller's connection, or None if it is unknown.
    """

    settings: Settings
    registries: Registries
    vectors: CommandVectors
    experience: CommandExperience
    embedder: LazyEmbedder
    answered: RecentSearches = field(default_factory=RecentSearches)
    turns: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(MAX_RUNNING))
    report: Report = ignore_progress
    connection: str | None = ""

    def close(self) -> None:
        """Stop the background work."""
        self.vectors.close()


def open_commands(
    settings: Settings,
    embedder: LazyEmbedder | None = None,
    cache: VectorCache | None = None,
    *,
    patience: float = VECTOR_TIMEOUT_S,
) -> CommandContext:
    """Return the commands of a project.

    Args:
        settings: The project's settings.
        embedder: The process's model, if it has one already.
        cache: The user's vector cache, if it is open already.
        patience: Seconds that a search waits for the model and vectors; longer in a terminal.
    """
    if embedder is None or cache is None:
        _, new_embedder, new_cache = open_models(settings)
        embedder, cache = embedder or new_embedder, cache or new_cache
    return CommandContext(
        settings,
        Registries(settings.root),
        CommandVectors(embedder, cache, patience),
        CommandExperience(settings.root),
        embedder,
    )
