"""A process that has the indexer's role for map and forest and stays in the middle of its work.

python busy_indexer.py PROJECT embedding|writing

It prints `at work` once it is. `embedding`: both indexes have files that wait, and the model does
not return. `writing`: it holds the map's write lock, like a batch that takes too long.
"""

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from code_intel.index.lease import IndexerLease
from code_intel.index.store import Store
from code_intel.index.sync import sync
from code_intel.index.vectors import embed_pending
from doubles import HashEmbedder
from served import settings_of


class Stuck:
    """A model that is at work until the parent says something."""

    dimensions = 384
    identity = "another"

    def __init__(self) -> None:
        self._model = HashEmbedder(identity=self.identity)
        self.queries = self._model.queries
        self.can_search = self._model.can_search

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if texts[:1] != ["login"]:  # that one only tries the model
            say_and_wait()
        return self._model.passages(texts)


def say_and_wait() -> None:
    sys.stdout.write("at work\n")
    sys.stdout.flush()
    sys.stdin.readline()


def main(root: Path, work: str) -> None:
    settings = settings_of(root)
    with ExitStack() as stack:
        stores = []
        for config in (settings.forest, settings.map):
            role = IndexerLease(config.db_path)
            assert role.acquire(timeout=60), f"{config.corpus} is led by {role.holder()}"
            stack.callback(role.release)
            stores.append(stack.enter_context(Store.open(config.db_path)))
            sync(stores[-1], config)
        if work == "writing":
            with stores[1].batch():
                say_and_wait()
        else:
            embed_pending(stores[0], Stuck(), None)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
