"""Waiting for the vectors of a registry, however many there are, as a terminal does."""

from contextlib import closing
from pathlib import Path

import pytest

from code_intel.embedding.cache import VectorCache
from code_intel.registry.meaning import MAX_WAITED_TEXTS, NO_MODEL, CommandVectors
from code_intel.registry.score import everyday
from doubles import HashEmbedder
from registry.meant import Broken, Gated, Hashed, loaded_of, many, meanings_of

COUNT = MAX_WAITED_TEXTS + 200


def test_a_large_registry_is_waited_for_and_what_is_done_is_told(tmp_path: Path) -> None:
    embedder, loaded = Gated(), loaded_of(many(COUNT))
    told: list[tuple[int, int]] = []

    def tell(done: int, total: int) -> None:
        told.append((done, total))
        embedder.gate.set()

    with meanings_of(embedder, tmp_path, patience=0) as meanings:
        assert meanings.of(loaded) is None
        assert meanings.complete(loaded, tell) == ""
        assert meanings.of(loaded) is not None
        assert told[0] == (0, COUNT + len(everyday()))
        assert told == sorted(told)
        told.clear()
        assert meanings.complete(loaded, tell) == ""
        assert told == []


@pytest.mark.parametrize(
    ("embedder", "why"),
    [
        (Broken(), "embedding: The model is damaged."),
        (HashEmbedder(identity="other"), "no score is calibrated for other"),
        (HashEmbedder(identity=""), NO_MODEL),
    ],
    ids=["broken", "other", "none"],
)
def test_where_there_can_be_no_vectors_nobody_waits_and_the_reason_is_answered(
    tmp_path: Path, embedder: Hashed, why: str
) -> None:
    loaded = loaded_of(many(3))
    with (
        closing(VectorCache(tmp_path)) as cache,
        closing(CommandVectors(embedder, cache)) as meanings,
    ):
        assert why in meanings.complete(loaded, lambda _done, _total: None)
        assert meanings.of(loaded) is None
