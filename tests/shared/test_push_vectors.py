"""A push loses no vector, and says so if one cannot be had."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from code_intel.cli.sync import update_words
from code_intel.errors import EmbeddingError
from code_intel.shared.connection import connection_of
from code_intel.shared.milvus import SharedIndex
from code_intel.shared.pushed_commit import commit_of
from code_intel.shared.pushing import Pusher, PushReport
from code_intel.tools.context.corpus_service import open_project
from doubles import HashEmbedder
from team_servers import Team, settings_of

pytestmark = pytest.mark.milvus

FILES = {f"src/part{n}.py": f"def part{n}():\n    return {n}\n" for n in range(5)}


@contextmanager
def push_of(root: Path, embedder: HashEmbedder) -> Iterator[Callable[[], PushReport]]:
    """Yield what pushes a repository with vectors of an embedder."""
    settings = settings_of(root)
    services = open_project(settings)
    connection = connection_of(settings)
    assert connection is not None
    index = services[1].index
    update_words(services[1], lambda *_: None)
    pusher = Pusher(
        connection.client,
        connection.repository,
        index.store,
        index.config.folder,
        index.config.chunk_size,
        embedder,
    )
    try:
        yield lambda: pusher.push(commit_of(index.store, index.config, "main", {}))
    finally:
        for service in services:
            service.index.close()


def vectors_in(index: SharedIndex, name: str) -> int:
    head = index.head(name, "main")
    assert head is not None
    generation = index.generation(head.generation)
    assert generation is not None
    return len(index.store([generation]).vector_hits(HashEmbedder().queries(["part"])[0], 99))


def test_a_vector_that_is_removed_during_a_push_is_computed(
    team: Team, name: str, shared_index: SharedIndex
) -> None:
    team.use("push:shop/*")
    embedder = HashEmbedder(identity=name)
    first, second = (team.repository(each, FILES) for each in (name, f"{name}-fork"))
    with push_of(first, embedder) as push:
        assert push().embedded == len(FILES)

    def remove_the_first(path: str) -> None:
        if path.endswith("/push/files"):
            shared_index.delete_repository(name)

    team.record.before = remove_the_first
    with push_of(second, embedder) as push:
        found = push()
    assert (found.embedded, found.reused) == (len(FILES), 0)
    assert vectors_in(shared_index, f"{name}-fork") == len(FILES)


def test_a_vector_that_many_chunks_share_does_not_hide_others(
    team: Team, name: str, shared_index: SharedIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    team.use("push:shop/*")
    embedder = HashEmbedder(identity=name)
    same = {f"copies/{n}/setup.py": "VALUE = 1\n" for n in range(3)}
    with push_of(team.repository(name, FILES | same), embedder) as push:
        assert push().unusable == 0
    monkeypatch.setattr("code_intel.shared.milvus.card_vectors.COPIES", 1)
    with push_of(team.repository(f"{name}-fork", FILES | same), embedder) as push:
        found = push()
    assert (found.embedded, found.reused) == (0, len(FILES) + 3)
    assert vectors_in(shared_index, f"{name}-fork") == len(FILES) + 3


class WithoutOne(HashEmbedder):
    """Gives no usable vector for one text."""

    def passages(  # type: ignore[explicit-override] # needs 3.12
        self, texts: Sequence[str]
    ) -> NDArray[np.float32]:
        rows = super().passages(texts)
        for text, row in zip(texts, rows, strict=True):
            if "part3" in text:
                row[:] = 0
        return rows


def test_a_chunk_without_a_usable_vector_is_counted(
    team: Team, name: str, shared_index: SharedIndex
) -> None:
    team.use("push:shop/*")
    with push_of(team.repository(name, FILES), WithoutOne(identity=name)) as push:
        found = push()
    assert (found.embedded, found.unusable) == (len(FILES) - 1, 1)
    assert vectors_in(shared_index, name) == len(FILES) - 1


class Switching(HashEmbedder):
    """Becomes another engine with its first vectors."""

    def passages(  # type: ignore[explicit-override] # needs 3.12
        self, texts: Sequence[str]
    ) -> NDArray[np.float32]:
        self.identity = "another"
        return super().passages(texts)


def test_an_engine_that_changes_during_a_push_stops_it(
    team: Team, name: str, shared_index: SharedIndex
) -> None:
    team.use("push:shop/*")
    root = team.repository(name, FILES)
    with (
        push_of(root, Switching(identity=name)) as push,
        pytest.raises(EmbeddingError, match="changed during the push") as caught,
    ):
        push()
    assert "Push again" in caught.value.hint
    assert shared_index.head(name, "main") is None
    assert team.record.pushed_files() == []
