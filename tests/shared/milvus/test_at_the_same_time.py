"""Pushes, readers and prunes at the same time, over one server."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from code_intel.errors import ConflictError
from code_intel.shared.milvus import SharedIndex
from milvus_servers import milvus_server
from pushes import Push

pytestmark = pytest.mark.milvus
REPOSITORY = "team/busy"
FILES = 6
PUSHERS = 3
COMMITS = 5


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    pytest.importorskip("milvus_lite")
    with milvus_server(tmp_path / "busy.db") as started:
        yield started


def commit(pusher: int, number: int) -> dict[str, str]:
    """Return the files of a commit: all of them have its mark."""
    mark = f"mark{pusher}x{number}"
    return {f"{n}.py": f"def file{n}(): return '{mark}'\n" for n in range(FILES)}


def push_all(url: str, pusher: int) -> list[str]:
    with SharedIndex.open(url) as index:
        done = []
        for number in range(COMMITS):
            head = index.head(REPOSITORY, "main")
            base = index.generation(head.generation) if head and number % 2 else None
            push = Push(index, REPOSITORY, commit(pusher, number), base=base)
            push.write()
            push.finish()
            done.append(push.generation.id)
        return done


def read_all(url: str, over: Event) -> int:
    """Read the head again and again; it must always be one whole commit."""
    read = 0
    with SharedIndex.open(url) as index:
        while not over.is_set():
            head = index.head(REPOSITORY, "main")
            found = index.generation(head.generation) if head else None
            if found is None:
                continue
            store = index.store([found])
            rows = store.chunks_of(f"{n}.py" for n in range(FILES))
            marks = {row.text.split("'")[1] for row in rows}
            assert (len(rows), len(marks)) == (FILES, 1)
            (mark,) = marks
            assert store.word_counts([mark]) == (FILES, {mark: FILES})
            assert len(store.word_hits([mark], "body", 99)) == FILES
            read += 1
    return read


def prune_all(url: str, over: Event) -> int:
    removed = 0
    with SharedIndex.open(url) as index:
        while not over.is_set():
            removed += index.prune(3600).generations
    return removed


def test_readers_see_whole_commits_during_pushes(url: str) -> None:
    SharedIndex.open(url).close()
    over = Event()
    with ThreadPoolExecutor(PUSHERS + 3) as pool:
        readers = [pool.submit(read_all, url, over) for _ in range(2)]
        pruner = pool.submit(prune_all, url, over)
        try:
            pushers = [pool.submit(push_all, url, pusher) for pusher in range(PUSHERS)]
            ids = [each for pusher in pushers for each in pusher.result()]
        finally:
            over.set()
        assert all(reader.result() > 0 for reader in readers)
        assert pruner.result() == 0
    with SharedIndex.open(url) as index:
        assert all(index.generation(each) is not None for each in ids)
        head = index.head(REPOSITORY, "main")
        assert head is not None
        index.prune(0)
        index.prune(0)
        kept = index.generation(head.generation)
        assert kept is not None
        assert len(index.store([kept]).chunks_of(f"{n}.py" for n in range(FILES))) == FILES
        others = {*ids} - {kept.id}
        assert all(index.generation(each) is None for each in others)


def test_a_push_whose_rows_were_pruned_is_refused(url: str) -> None:
    with SharedIndex.open(url) as index, SharedIndex.open(url) as other:
        push = Push(index, REPOSITORY, commit(0, 0))
        push.write()
        assert other.prune(0).layers == 1
        with pytest.raises(ConflictError) as caught:
            push.finish()
        assert "Push again" in caught.value.hint
        assert index.head(REPOSITORY, "main") is None
        push.write()
        assert push.finish() == index.head(REPOSITORY, "main")
