"""Make registries and embedders for tests of ranking."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from code_intel.embedding.cache import VectorCache
from code_intel.embedding.engine import Embedder
from code_intel.embedding.onnx_engine import IDENTITY
from code_intel.errors import EmbeddingError
from code_intel.registry import Command
from code_intel.registry.loading import LoadedRegistry
from code_intel.registry.meaning import CommandVectors
from code_intel.registry.records import Registry
from doubles import HashEmbedder


def loaded_of(commands: Sequence[Command], agent: str = "climpt") -> LoadedRegistry:
    """Return a registry as read from a file."""
    return LoadedRegistry(Registry(agent, Path("/nowhere/registry.json"), tuple(commands)))


@contextmanager
def meanings_of(embedder: Embedder, folder: Path, patience: float = 20) -> Iterator[CommandVectors]:
    """Open the vectors of registries, cached in a folder."""
    with (
        closing(VectorCache(folder)) as cache,
        closing(CommandVectors(embedder, cache, patience)) as all_,
    ):
        yield all_


def many(count: int) -> list[Command]:
    """Return this many different commands."""
    return [
        Command("git", f"do-{at}", f"thing-{at}", f"Do thing number {at}") for at in range(count)
    ]


class Hashed(HashEmbedder):
    """Hash words under the identity of a calibrated engine."""

    def __init__(self) -> None:
        super().__init__(identity=IDENTITY)
        self.passages_of: list[str] = []

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:  # type: ignore[explicit-override]  # typing.override needs 3.12
        self.passages_of += texts
        return super().passages(texts)


class Gated(Hashed):
    """An embedder that waits for its gate."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = threading.Event()
        self.gate = threading.Event()

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:  # type: ignore[explicit-override]  # typing.override needs 3.12
        self.begun.set()
        assert self.gate.wait(60)
        return super().passages(texts)


class Broken(Hashed):
    """An embedder that fails while `broken`."""

    broken = True

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:  # type: ignore[explicit-override]  # typing.override needs 3.12
        if self.broken:
            raise EmbeddingError("The model is damaged.")
        return super().passages(texts)
