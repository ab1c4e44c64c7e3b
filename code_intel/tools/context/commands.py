"""Give the command tools a project's registries, their vectors and the record of executions.

The stand-alone server, the gateway and the terminal share this class, so all of them find and run
commands the same way (docs/decisions/0044). Opening it reads no file and loads no model.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from anyio import CapacityLimiter

from code_intel.config import Settings
from code_intel.embedding.cache import VectorCache
from code_intel.embedding.lazy import LazyEmbedder
from code_intel.registry.execution import AT_ONCE
from code_intel.registry.learning import Experience
from code_intel.registry.loading import Registries
from code_intel.registry.meaning import PATIENCE, Meanings
from code_intel.registry.records import Key
from code_intel.tools.context.corpus_service import model_of
from code_intel.tools.declaration import Report, silent

MOST_SEARCHES = 20
"""Searches of one connection that are remembered: what is executed was found by one of the last."""
LIKELY = 0.2
"""Score from which on a search is believed to have been for a command: where seed 001 begins to call it a match."""
MOST_CONNECTIONS = 1000
"""Connections whose searches are; the longest unused are forgotten first."""


@dataclass
class Answered:
    """What the last searches of each connection were for, and the commands that they answered with, scores and all."""

    searches: dict[str, deque[tuple[str, Mapping[Key, float]]]] = field(default_factory=dict)

    def note(self, connection: str | None, query: str, found: Mapping[Key, float]) -> None:
        """Remember a search; where there is no connection nothing belongs together, and nothing is remembered."""
        if connection is None:
            return
        known = self.searches.pop(connection, deque(maxlen=MOST_SEARCHES))
        known.append((query, found))
        self.searches[connection] = known
        while len(self.searches) > MOST_CONNECTIONS:
            del self.searches[next(iter(self.searches))]

    def query_for(self, connection: str | None, key: Key) -> str:
        """Return what the last search of a connection was for that a command answered, likely ones first, or nothing.

        In a small registry nearly every search is answered with nearly every command.
        """
        known = self.searches.get(connection, ()) if connection is not None else ()
        found = (
            (scores[key] >= LIKELY, at) for at, (_, scores) in enumerate(known) if key in scores
        )
        best = max(found, default=None)
        return known[best[1]][0] if best else ""


@dataclass(frozen=True)
class CommandContext:
    """The commands of one project.

    Attributes:
        settings: The project's settings.
        registries: Who has which commands.
        meanings: Their vectors and those of questions.
        experience: What was executed for what, here.
        embedder: The process's model.
        answered: What each connection's last searches were answered with.
        turns: How many programs run at a time, whoever asked for them.
        report: Takes the progress of a call to who asks.
        connection: Who asks: the name of a connection, or None where there is none to remember.
    """

    settings: Settings
    registries: Registries
    meanings: Meanings
    experience: Experience
    embedder: LazyEmbedder
    answered: Answered = field(default_factory=Answered)
    turns: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(AT_ONCE))
    report: Report = silent
    connection: str | None = ""

    def close(self) -> None:
        """End what works in the background."""
        self.meanings.close()


def open_commands(
    settings: Settings,
    embedder: LazyEmbedder | None = None,
    cache: VectorCache | None = None,
    *,
    patience: float = PATIENCE,
) -> CommandContext:
    """Return the commands of a project.

    Args:
        settings: The project's settings.
        embedder: The process's model, where it has one already.
        cache: The user's vectors, likewise.
        patience: Seconds that a search waits for the model and for vectors; who asks once waits longer than a server.
    """
    if embedder is None or cache is None:
        _, own, kept = model_of(settings)
        embedder, cache = embedder or own, cache or kept
    return CommandContext(
        settings,
        Registries(settings.root),
        Meanings(embedder, cache, patience),
        Experience(settings.root),
        embedder,
    )
