"""What no head needs is removed later, and only that."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path

import pytest

from code_intel.errors import ConflictError, NotFoundError, UpstreamError
from code_intel.shared.milvus import SharedIndex
from code_intel.shared.milvus.engine import Engine
from code_intel.shared.milvus.heads import Records
from code_intel.shared.milvus.pruning import Pruned
from code_intel.shared.records import Head
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


def removed(index: SharedIndex) -> tuple[int, int]:
    """Prune without grace: one run notes what is unused, and the next removes it."""
    runs = [index.prune(0) for _ in range(2)]
    return sum(run.generations for run in runs), sum(run.layers for run in runs)


def test_a_replaced_generation_is_kept_for_the_grace_period(index: SharedIndex) -> None:
    first = pushed(index, "team/shop", FIRST)
    pushed(index, "team/shop", OTHER, branch="other")
    whole = pushed(index, "team/shop", SECOND)
    assert index.prune(DAY, is_dry=True) == Pruned(marked=1)
    assert index.prune(DAY) == Pruned(marked=1)
    assert index.prune(DAY) == Pruned(marked=1)
    assert index.generation(first.id) is not None
    assert len(index.store([first]).word_hits(["word"], "body", 9)) == 2
    assert index.prune(0, is_dry=True) == Pruned(1)
    assert index.generation(first.id) is not None
    assert index.prune(0) == Pruned(1)
    assert index.generation(first.id) is None
    assert index.generation_at("team/shop", [first.commit]) is None
    assert len(index.store([whole]).word_hits(["word"], "body", 9)) == 2
    assert removed(index) == (0, 0)


def test_the_grace_period_begins_when_a_generation_is_replaced(index: SharedIndex) -> None:
    first = pushed(index, "team/shop", FIRST)
    assert removed(index) == (0, 0)
    pushed(index, "team/shop", OTHER)
    index.prune(DAY)
    pushed(index, "team/shop", FIRST)
    pushed(index, "team/shop", OTHER)
    assert index.generation(first.id) is not None
    assert index.prune(DAY) == Pruned(marked=1)


def test_rows_of_removed_layers_are_gone(index: SharedIndex) -> None:
    pushed(index, "team/shop", OTHER)
    before = rows(index)
    push = Push(index, "team/shop", FIRST)
    push.write()
    push.finish("feature")
    assert removed(index) == (0, 0)
    assert index.head("team/shop", "feature") is not None
    Push(index, "team/shop", OTHER).finish("feature")
    assert removed(index) == (1, 1)
    after = rows(index)
    assert after.pop("records") == before.pop("records") + 1  # the head of the branch
    assert after == before


def test_a_push_that_was_not_finished_is_removed(index: SharedIndex) -> None:
    kept = pushed(index, "team/shop", OTHER)
    before = rows(index)
    push = Push(index, "team/shop", FIRST)
    push.write(["a.py"])
    assert rows(index) != before
    assert index.prune(DAY) == Pruned()
    assert rows(index) != before
    assert removed(index) == (0, 1)
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
    assert removed(index) == (1, 0)
    store = index.store([second])
    assert {path for path, *_ in store.digests()} == {"a.py", "b.py"}
    assert len(store.vector_hits(vector_of("q"), 9)) == 2


def test_a_reader_of_removed_layers_is_told_so(index: SharedIndex) -> None:
    first = pushed(index, "team/shop", FIRST)
    other = Push(index, "team/shop", OTHER)
    other.write()
    other.finish()
    assert removed(index) == (1, 1)
    again = SharedIndex(index._engine, index._opened)  # noqa: SLF001 - with empty caches
    with pytest.raises(NotFoundError, match="removed"):
        again.store([first]).digests()


def test_a_repository_is_deleted_at_once(index: SharedIndex) -> None:
    kept = pushed(index, "team/shop-two", OTHER)
    before = rows(index)
    pushed(index, "team/shop", FIRST)
    pushed(index, "team/shop", SECOND)
    Push(index, "team/shop", OTHER).write()
    assert index.delete_repository("team/shop") == Pruned(2, 3)
    assert rows(index) == before
    assert index.heads(lambda _: True) == [index.head("team/shop-two", "main")]
    assert len(index.store([kept]).word_hits(["word"], "body", 9)) == 1
    again = pushed(index, "team/shop", FIRST)
    assert len(index.store([again]).word_hits(["word"], "body", 9)) == 2


@pytest.mark.parametrize("calls", range(11))
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
        if calls < 9:
            with pytest.raises(UpstreamError):
                removed(index)
        else:
            assert removed(index) == (1, 1)
    removed(index)
    assert rows(index) == {**before, "records": before["records"] + 1}
    assert len(index.store([kept]).word_hits(["word"], "body", 9)) == 1
    push.write()
    push.finish("feature")
    found = index.generation(push.generation.id)
    assert found is not None
    assert len(index.store([found]).word_hits(["word"], "body", 9)) == 2


def test_a_generation_that_no_prune_has_noted_is_kept(index: SharedIndex) -> None:
    first = pushed(index, "team/shop", FIRST)
    pushed(index, "team/shop", OTHER)
    assert index.prune(0) == Pruned(marked=1)
    assert index.generation(first.id) is not None


def test_a_head_is_removed_and_its_generation_later(index: SharedIndex) -> None:
    pushed(index, "team/shop", FIRST)
    other = pushed(index, "team/shop", OTHER, branch="feature/x")
    head = index.head("team/shop", "feature/x")
    assert index.delete_head("team/shop", "feature/x") == head
    assert index.delete_head("team/shop", "feature/x") is None
    assert index.delete_head("team/none", "main") is None
    assert [head.branch for head in index.heads(lambda _: True)] == ["main"]
    assert index.generation(other.id) is not None
    assert removed(index) == (1, 1)
    assert index.generation(other.id) is None


def test_a_head_that_moved_meanwhile_is_not_removed(
    index: SharedIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    pushed(index, "team/shop", FIRST)
    delete = Records.delete_head

    def push_first(records: Records, head: Head) -> None:
        pushed(index, "team/shop", OTHER)
        delete(records, head)

    monkeypatch.setattr(Records, "delete_head", push_first)
    index.delete_head("team/shop", "main")
    assert index.head("team/shop", "main") is not None


def test_old_branches_are_removed_except_the_trunk(index: SharedIndex) -> None:
    pushed(index, "team/shop", FIRST)
    pushed(index, "team/shop", SECOND, branch="feature/old")
    pushed(index, "team/web", OTHER, branch="production")
    pushed(index, "team/web", FIRST, branch="feature/old")
    assert index.prune_heads(DAY) == []
    old = index.head("team/shop", "feature/old")
    assert index.prune_heads(0, is_dry=True) == [old]
    assert index.head("team/shop", "feature/old") == old
    assert index.prune_heads(0) == [old]
    assert {(head.repository, head.branch) for head in index.heads(lambda _: True)} == {
        ("team/shop", "main"),
        ("team/web", "production"),
        ("team/web", "feature/old"),
    }


@pytest.mark.parametrize("moment", ["before the head is read again", "after it"])
def test_a_revert_during_a_prune_loses_nothing_silently(
    index: SharedIndex, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    first = pushed(index, "team/shop", FIRST, commit="a" * 40)
    pushed(index, "team/shop", OTHER)
    index.prune(0)
    revert = Push(index, "team/shop", FIRST, commit="b" * 40)
    remove, put_head = Records.remove_generations, Records.put_head

    def prune_between(records: Records, head: Head) -> None:
        """Prune after the generation was written, and before the head is."""
        monkeypatch.setattr(Records, "put_head", put_head)
        monkeypatch.setattr(Records, "mark_unused", lambda *_: None)
        index.prune(0)
        remove(records, [first.id])
        put_head(records, head)

    def finish_between(records: Records, ids: Iterable[str]) -> None:
        """Finish when the prune has decided, and before it removes."""
        monkeypatch.setattr(Records, "remove_generations", remove)
        revert.finish()
        remove(records, ids)

    if moment == "after it":
        monkeypatch.setattr(Records, "put_head", prune_between)
        with pytest.raises(ConflictError, match="removed while it was pushed"):
            revert.finish()
        revert.write()
        revert.finish()
    else:
        monkeypatch.setattr(Records, "remove_generations", finish_between)
        assert index.prune(0).generations == 0
    found = index.generation(first.id)
    assert found is not None
    assert found.commit == "b" * 40
    assert index.generation_at("team/shop", ["b" * 40]) is not None
    assert len(index.store([found]).word_hits(["word"], "body", 9)) == 2


def test_a_layer_that_is_used_again_during_a_prune_is_put_back(
    index: SharedIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = pushed(index, "team/shop", FIRST)
    pushed(index, "team/shop", OTHER)
    index.prune(0)
    revert = Push(index, "team/shop", FIRST)
    heads, calls = Records.heads, []

    def finish_after(records: Records, repositories: Sequence[str] = ()) -> list[Head]:
        found = heads(records, repositories)
        calls.append(repositories)
        if len(calls) == 2:  # the generation was removed, and its layers were not
            revert.finish()
        return found

    monkeypatch.setattr(Records, "heads", finish_after)
    assert index.prune(0) == Pruned(1)
    found = index.generation(first.id)
    assert found is not None
    assert len(index.store([found]).word_hits(["word"], "body", 9)) == 2
    assert removed(index) == (1, 1)
    assert len(index.store([found]).word_hits(["word"], "body", 9)) == 2


def test_a_prune_does_not_undo_a_push_of_the_same_files(
    index: SharedIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    pushed(index, "team/shop", FIRST, commit="a" * 40)
    heads = Records.heads

    def push_after(records: Records, names: list[str]) -> list[Head]:
        monkeypatch.setattr(Records, "heads", heads)
        found = heads(records, names)
        pushed(index, "team/shop", FIRST, commit="b" * 40)
        return found

    pushed(index, "team/shop", OTHER)
    monkeypatch.setattr(Records, "heads", push_after)
    index.prune(DAY)
    found = index.generation_at("team/shop", ["b" * 40])
    assert found is not None
    assert found.commit == "b" * 40
    stored = index.generation(found.id)
    assert stored is not None
    assert stored.commit == "b" * 40


def test_a_push_after_the_repository_was_deleted_is_pruned_too(index: SharedIndex) -> None:
    pushed(index, "team/shop-two", OTHER)
    before = rows(index)
    push = Push(index, "team/shop", FIRST)
    push.write(["a.py"])
    index.delete_repository("team/shop")
    push.write(["b.py"])
    assert removed(index) == (0, 1)
    assert rows(index) == before
