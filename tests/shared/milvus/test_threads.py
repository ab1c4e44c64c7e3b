"""Many threads ask one store, whose memory is full all the time."""

from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest

from code_intel.shared.milvus import SharedIndex
from code_intel.shared.milvus import store as stores
from pushes import pushed

pytestmark = pytest.mark.milvus
WORDS = [f"word{number}" for number in range(40)]
TEXTS = {f"{word}.py": f"def {word}(): return '{word} common'\n" for word in WORDS}


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "MAX_KEPT", 3)


@pytest.mark.usefixtures("little_memory")
def test_threads_that_ask_one_store_get_what_each_would_get_alone(
    shared_index: SharedIndex,
) -> None:
    index = SharedIndex(shared_index._engine, shared_index._opened)  # noqa: SLF001 - no caches
    generation = pushed(index, f"threads/repo{next(count())}", TEXTS)
    store = index.store([generation])

    def ask(number: int) -> tuple[object, ...]:
        words = [*WORDS[number % 20 : number % 20 + 20], "common"]
        hits = store.word_hits(words, "body", 30)
        places = store.chunk_places(chunk for chunk, _ in hits)
        return store.word_counts(words), hits, [place.path for place in places]

    alone = [ask(number) for number in range(20)]
    assert all(len(places) == len(hits) == 30 for _, hits, places in alone)  # type: ignore[arg-type]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(ask, [number % 20 for number in range(200)]))
    assert together == [alone[number % 20] for number in range(200)]
