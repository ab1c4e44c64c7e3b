import threading
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from code_intel.config import load_settings
from code_intel.embedding.cache import VectorCache
from code_intel.embedding.lazy import LazyEmbedder
from code_intel.errors import UsageError
from code_intel.registry import Command
from code_intel.registry.meaning import (
    LOADING,
    NO_MODEL,
    TEXTS_PER_BATCH,
    VECTOR_TIMEOUT_S,
    CommandVectors,
    card,
)
from code_intel.registry.score import everyday
from doubles import HashEmbedder
from registry.embedders import Broken, Gated, Hashed, loaded_of, many, meanings_of
from registry.small_registries import SEVEN


def working() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "embed commands"]


def test_embedded_text_has_names_as_words_and_the_description() -> None:
    command = Command("climpt-git", "groupCommit", "unstaged_changes", "変更をまとめる")
    assert card(command) == "climpt git group commit unstaged changes. 変更をまとめる"


def test_each_command_has_a_unit_vector_in_index_order(tmp_path: Path) -> None:
    with meanings_of(Hashed(), tmp_path) as meanings:
        loaded = loaded_of([*SEVEN, SEVEN[0]])
        vectors, reason = meanings.of(loaded)
        assert vectors is not None
        assert reason == ""
        assert vectors.rows.shape == (7, 384)
        assert vectors.everyday.shape == (len(everyday()), 384)
        assert np.allclose(np.linalg.norm(vectors.rows, axis=1), 1, atol=1e-5)
        backwards, _ = meanings.of(loaded_of(SEVEN[::-1]))
        assert backwards is not None
        assert np.array_equal(backwards.rows, vectors.rows[::-1])


def test_only_changed_commands_are_embedded_again(tmp_path: Path) -> None:
    first, second = Hashed(), Hashed()
    with meanings_of(first, tmp_path) as meanings:
        assert meanings.of(loaded_of(SEVEN))[0] is not None
        assert meanings.of(loaded_of(SEVEN))[0] is not None
    assert len(first.passages_of) == 7 + len(everyday())
    changed = (*SEVEN[:6], Command("climpt-meta", "create", "instruction", "Another text"))
    with meanings_of(second, tmp_path) as meanings:
        assert meanings.of(loaded_of(SEVEN))[0] is not None
        assert second.passages_of == []
        assert meanings.of(loaded_of(changed))[0] is not None
    assert second.passages_of == [card(changed[-1])]


def test_a_search_that_waits_no_longer_reports_pending_vectors(tmp_path: Path) -> None:
    embedder, loaded = Gated(), loaded_of(many(300))
    with meanings_of(embedder, tmp_path, patience=0) as meanings:
        assert meanings.of(loaded)[0] is None
        assert embedder.begun.wait(60)
        vectors, reason = meanings.of(loaded)
        assert vectors is None
        assert "300 of 300 commands" in reason
        embedder.gate.set()
        assert meanings.of(loaded, 60)[1] == ""
        assert meanings.of(loaded)[0] is not None
        assert len(embedder.passages_of) == 300 + len(everyday())


@pytest.mark.covers("rule.commands.waiting")
def test_search_waits_for_the_vectors_no_longer_than_its_timeout(tmp_path: Path) -> None:
    embedder = Gated()
    with meanings_of(embedder, tmp_path, patience=VECTOR_TIMEOUT_S) as meanings:
        began = time.monotonic()
        assert meanings.of(loaded_of(SEVEN))[0] is None
        assert VECTOR_TIMEOUT_S <= time.monotonic() - began < VECTOR_TIMEOUT_S + 10
        embedder.gate.set()


def test_model_that_loads_slowly_is_the_reason(tmp_path: Path) -> None:
    with meanings_of(Hashed(), tmp_path) as meanings:
        assert meanings.of(loaded_of(SEVEN))[0] is not None
    loading, loaded = SlowToAsk(), loaded_of(SEVEN)
    with meanings_of(loading, tmp_path, patience=0.01) as meanings:
        while meanings.of(loaded)[1] != LOADING or not loading.begun.is_set():
            pass
        loading.gate.set()
        assert meanings.of(loaded, 60)[1] == ""


class SlowToAsk(Gated):
    """An embedder whose questions wait for its gate."""

    def queries(self, texts: Sequence[str]) -> NDArray[np.float32]:  # type: ignore[explicit-override]  # typing.override needs 3.12
        self.begun.set()
        assert self.gate.wait(60)
        return super().queries(texts)


def test_long_timeout_waits_for_a_slow_cache(tmp_path: Path) -> None:
    class Slow(VectorCache):
        def get(self, identity: str, texts: Sequence[str]) -> dict[str, NDArray[np.float32]]:  # type: ignore[explicit-override]  # typing.override needs 3.12
            threading.Event().wait(1.2)  # longer than a third of a server's timeout
            return super().get(identity, texts)

    with closing(Slow(tmp_path)) as cache, closing(CommandVectors(Hashed(), cache, 60)) as meanings:
        assert meanings.of(loaded_of(SEVEN))[0] is not None


def test_changed_registry_replaces_the_one_being_embedded(tmp_path: Path) -> None:
    embedder = Gated()
    old, new = loaded_of(many(300)), loaded_of(SEVEN)
    with meanings_of(embedder, tmp_path, patience=0.01) as meanings:
        assert meanings.of(old)[0] is None
        assert embedder.begun.wait(60)
        assert meanings.of(new)[0] is None
        embedder.gate.set()
        assert meanings.of(new, 60)[1] == ""
    assert len(embedder.passages_of) <= TEXTS_PER_BATCH + 7 + len(everyday())


def test_vectors_of_two_agents_are_both_available(tmp_path: Path) -> None:
    with meanings_of(Hashed(), tmp_path) as meanings:
        mine, yours = loaded_of(SEVEN), loaded_of(many(3), agent="other")
        assert meanings.of(mine)[0] is not None
        assert meanings.of(yours)[0] is not None


def test_closing_stops_the_work_and_keeps_finished_vectors(tmp_path: Path) -> None:
    embedder, loaded = Gated(), loaded_of(many(3000))
    with meanings_of(embedder, tmp_path, patience=0) as meanings:
        assert meanings.of(loaded)[0] is None
        assert embedder.begun.wait(60)
        closer = threading.Thread(target=meanings.close)
        closer.start()
        while not meanings._is_closed:  # noqa: SLF001 - wait until closing has begun
            pass
        embedder.gate.set()
        closer.join(60)
        assert working() == []
        assert 0 < len(embedder.passages_of) < 3000
        assert meanings.of(loaded)[0] is None
    with closing(VectorCache(tmp_path)) as cache:
        batch = embedder.passages_of[:TEXTS_PER_BATCH]
        assert set(cache.get(embedder.identity, batch)) == set(batch)


def test_failing_model_is_reported_and_tried_again_at_the_next_search(tmp_path: Path) -> None:
    embedder, loaded = Broken(), loaded_of(SEVEN)
    with meanings_of(embedder, tmp_path) as meanings:
        assert meanings.of(loaded) == (None, "embedding: The model is damaged.")
        embedder.broken = False
        vectors, reason = meanings.of(loaded)
        assert vectors is not None
        assert reason == ""


class Exhausted(Broken):
    """An embedder that runs out of memory while `broken`."""

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:  # type: ignore[explicit-override]  # typing.override needs 3.12
        if self.broken:
            raise MemoryError
        return super().passages(texts)


def test_unexpected_error_ends_the_wait(tmp_path: Path) -> None:
    embedder, loaded = Exhausted(), loaded_of(many(1000))
    with meanings_of(embedder, tmp_path) as meanings:
        why = meanings.of(loaded, 60)[1]
        assert why == "embedding: An unexpected MemoryError occurred."
        embedder.broken = False
        assert meanings.of(loaded, 60)[1] == ""


@pytest.mark.parametrize(
    ("embedder", "why"),
    [
        (Broken(), "embedding: The model is damaged."),
        (HashEmbedder(identity="other"), "No score is calibrated for other"),
        (HashEmbedder(identity=""), NO_MODEL),
    ],
    ids=["broken", "other", "none"],
)
def test_complete_returns_the_reason_why_there_are_no_vectors(
    tmp_path: Path, embedder: Hashed, why: str
) -> None:
    loaded = loaded_of(many(3))
    with (
        closing(VectorCache(tmp_path)) as cache,
        closing(CommandVectors(embedder, cache)) as meanings,
    ):
        assert why in meanings.of(loaded, 60)[1]
        assert meanings.of(loaded)[0] is None


def test_disabled_embedding_is_the_reason(tmp_path: Path) -> None:
    settings = load_settings(tmp_path, {"CODE_INTEL_EMBEDDING": "off"})
    embedder = LazyEmbedder(settings, corpus="forest")
    with meanings_of(embedder, tmp_path) as meanings:
        vectors, reason = meanings.of(loaded_of(SEVEN))
        assert vectors is None
        assert "switched off" in reason
        assert not embedder.loaded


def test_an_empty_registry_needs_no_vectors(tmp_path: Path) -> None:
    with meanings_of(Hashed(), tmp_path) as meanings:
        assert meanings.of(loaded_of([])) == (None, "")


def test_spaces_do_not_change_the_vector_of_a_question(tmp_path: Path) -> None:
    with meanings_of(Hashed(), tmp_path) as meanings:
        first = meanings.question("merge my branch")
        assert np.array_equal(meanings.question(" merge  my branch\n"), first)
        with pytest.raises(UsageError):
            meanings.question("\u200b")
