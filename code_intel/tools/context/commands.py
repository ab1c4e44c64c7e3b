"""Give the command tools a project's registries and their vectors.

The stand-alone server, the gateway and the terminal share `CommandContext`, so they all find and
run commands in the same way (docs/decisions/0044). Opening it reads no file and loads no model.
"""

from dataclasses import dataclass, field

from anyio import CapacityLimiter

from code_intel.config import Settings
from code_intel.embedding.cache import VectorCache
from code_intel.embedding.lazy import LazyEmbedder
from code_intel.registry.execution import MAX_RUNNING
from code_intel.registry.loading import Registries
from code_intel.registry.meaning import VECTOR_TIMEOUT_S, CommandVectors
from code_intel.tools.context.corpus_service import open_models


@dataclass(frozen=True)
class CommandContext:
    """The commands of one project.

    Attributes:
        settings: The project's settings.
        registries: The commands by agent.
        vectors: Vectors of commands and queries.
        embedder: The process's model.
        turns: Limits how many programs run at the same time.
    """

    settings: Settings
    registries: Registries
    vectors: CommandVectors
    embedder: LazyEmbedder
    turns: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(MAX_RUNNING))

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
    vectors = CommandVectors(embedder, cache, patience)
    return CommandContext(settings, Registries(settings.root), vectors, embedder)
