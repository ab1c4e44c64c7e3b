"""What no head needs is removed later, and only that."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from code_intel.errors import NotFoundError, UpstreamError
from code_intel.shared.milvus import SharedIndex
from code_intel.shared.milvus.engine import Engine
from pushes import Push, pushed, vector_of

pytestmark = pytest.mark.milvus
NUMBERS = count()
FIRST = {"a.py": "def alpha(): return 'words'\n", "b.py": "def beta(): return 'words'\n"}
SECOND = {**FIRST, "a.py": "def changed(): return 'words'\n"}
OTHER = {"x.py": "def other(): return 'words'\n"}
DAY = 86_400.0


@pytest.fixture
def index(tmp_path: Path) -> Iterator[SharedIndex]:
    """Open an index of its own: pruning is about all repositories."""
    pytest.importorskip("milvus_lite")
    with SharedIndex.open(str(tmp_path / "shared.db")) as opened:
        yield opened


def rows(index: SharedIndex) -> dict[str, int]:
    """Return the number of rows of each collection."""
    engine: Engine = index._engine  # noqa: SLF001 - what is left can only be seen below
    return {
        short: sum(1 for _ in engine.query(name, 'id != ""', ("id",)))
        for short, name in index._opened.names.items()  # noqa: SLF001
    }


def test_a_replaced_generation_is_kept_for_the_grace_period(index: SharedIndex) -> None:
    first = pushed(index, "team/shop", FIRST)
    pushed(index, "team/shop", OTHER, branch="other")
    whole = pushed(index, "team/shop", SECOND)
    assert index.prune(DAY) == (0, 0)
    assert index.prune(DAY) == (0, 0)
    assert index.generation(first.id) is not None
    assert len(index.store([first]).word_hits(["word"], "body", 9)) == 2
    assert index.prune(0) == (1, 0)
    assert index.generation(first.id) is None
    assert index.generation_at("team/shop", [first.commit]) is None
    assert len(index.store([whole]).word_hits(["word"], "body", 9)) == 2
    assert index.prune(0) == (0, 0)


def test_the_grace_period_begins_when_a_generation_is_replaced(index: SharedIndex) -> None:
    first = pushed(index, "team/shop", FIRST)
    assert index.prune(0) == (0, 0)
    pushed(index, "team/shop", OTHER)
    index.prune(DAY)
    pushed(index, "team/shop", FIRST)
    pushed(index, "team/shop", OTHER)
    assert index.generation(first.id) is not None
    assert index.prune(DAY) == (0, 0)


def test_rows_of_removed_layers_are_gone(index: SharedIndex) -> None:
    pushed(index, "team/shop", OTHER)
    before = rows(index)
    push = Push(index, "team/shop", FIRST)
    push.write()
    push.finish("feature")
    assert index.prune(0) == (0, 0)
    assert index.head("team/shop", "feature") is not None
    Push(index, "team/shop", OTHER).finish("feature")
    assert index.prune(0) == (1, 1)
    after = rows(index)
    assert after.pop("records") == before.pop("records") + 1  # the head of the branch
    assert after == before


def test_a_push_that_was_not_finished_is_removed(index: SharedIndex) -> None:
    kept = pushed(index, "team/shop", OTHER)
    before = rows(index)
    push = Push(index, "team/shop", FIRST)
    push.write(["a.py"])
    assert rows(index) != before
    assert index.prune(DAY) == (0, 0)
    assert rows(index) != before
    assert index.prune(0) == (0, 1)
    assert rows(index) == before
    push.write()
    push.finish()
    found = index.generation(push.generation.id)
    assert found is not None
    assert len(index.store([found]).word_hits(["word"], "body", 9)) == 2
    assert index.generation(kept.id) is not None


def test_a_layer_below_others_is_kept(index: SharedIndex) -> None:
    pushed(index, "team/shop", FIRST)
    second = pushed(index, "team/shop", SECOND)
    assert index.prune(0) == (1, 0)
    store = index.store([second])
    assert {path for path, *_ in store.digests()} == {"a.py", "b.py"}
    assert len(store.vector_hits(vector_of("q"), 9)) == 2


def test_a_reader_of_removed_layers_is_told_so(index: SharedIndex) -> None:
    first = pushed(index, "team/shop", FIRST)
    other = Push(index, "team/shop", OTHER)
    other.write()
    other.finish()
    assert index.prune(0) == (1, 1)
    again = SharedIndex(index._engine, index._opened)  # noqa: SLF001 - with empty caches
    with pytest.raises(NotFoundError, match="removed"):
        again.store([first]).digests()


def test_a_repository_is_deleted_at_once(index: SharedIndex) -> None:
    kept = pushed(index, "team/shop-two", OTHER)
    before = rows(index)
    pushed(index, "team/shop", FIRST)
    pushed(index, "team/shop", SECOND)
    Push(index, "team/shop", OTHER).write()
    assert index.delete_repository("team/shop") == (2, 3)
    assert rows(index) == before
    assert index.heads(lambda _: True) == [index.head("team/shop-two", "main")]
    assert len(index.store([kept]).word_hits(["word"], "body", 9)) == 1
    again = pushed(index, "team/shop", FIRST)
    assert len(index.store([again]).word_hits(["word"], "body", 9)) == 2


@pytest.mark.parametrize("calls", range(9))
def test_an_interrupted_prune_is_continued(
    index: SharedIndex, monkeypatch: pytest.MonkeyPatch, calls: int
) -> None:
    kept = pushed(index, "team/shop", OTHER)
    before = rows(index)
    push = Push(index, "team/shop", FIRST)
    push.write()
    push.finish("feature")
    Push(index, "team/shop", OTHER).finish("feature")
    delete, done = Engine.delete, count()

    def interrupted(engine: Engine, name: str, condition: str) -> None:
        if next(done) == calls:
            raise UpstreamError("The engine was stopped.")
        delete(engine, name, condition)

    with monkeypatch.context() as patch:
        patch.setattr(Engine, "delete", interrupted)
        if calls < 7:
            with pytest.raises(UpstreamError):
                index.prune(0)
        else:
            assert index.prune(0) == (1, 1)
    index.prune(0)
    assert rows(index) == {**before, "records": before["records"] + 1}
    assert len(index.store([kept]).word_hits(["word"], "body", 9)) == 1
    push.write()
    push.finish("feature")
    found = index.generation(push.generation.id)
    assert found is not None
    assert len(index.store([found]).word_hits(["word"], "body", 9)) == 2
