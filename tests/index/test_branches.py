"""Test an index while git changes many files: checkout, stash, rebase, bisect."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from code_intel.config import IndexConfig
from code_intel.embedding.cache import VectorCache
from code_intel.index.store import Store
from code_intel.index.sync import sync
from code_intel.index.vectors import embed_pending
from doubles import HashEmbedder
from index.samples import index_config
from programs import git

FILES = 200
CHANGED = range(20, 80)
GONE = range(80, 90)


def commit(root: Path, message: str) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-qm", message)


def write(root: Path, number: int, text: str) -> None:
    path = root / f"part_{number % 10}" / f"work_{number}.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"def work_{number}(order):\n    return '{text}'\n", encoding="utf-8")


def project(root: Path) -> IndexConfig:
    """Make a repository whose branch `other` changes 60 of 200 files, deletes 10 and adds 10."""
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    for number in range(FILES):
        write(root, number, "as it was")
    commit(root, "one")
    git(root, "checkout", "-qb", "other")
    for number in CHANGED:
        write(root, number, "on the other branch")
    commit(root, "two")
    for number in GONE:
        (root / f"part_{number % 10}" / f"work_{number}.py").unlink()
        write(root, number + FILES, "new on the other branch")
    commit(root, "three")
    git(root, "checkout", "-q", "main")
    for number in range(4):
        write(root, number, "later on the trunk")
    commit(root, "four")
    return index_config(root, dimensions=16)


def content(store: Store) -> list[object]:
    """Return all that an index knows of words and symbols, without ids and times."""
    documents = store.documents()
    paths = [row.path for row in documents]
    return [
        *(replace(row, id=0, indexed_at="", mtime_ns=0, inode=0) for row in documents),
        *(chunk._replace(id=0, document_id=0) for chunk in store.chunks_of(paths)),
        *store.defined_in(paths),
    ]


def fresh(config: IndexConfig, name: str) -> list[object]:
    with Store.open(config.db_path.with_name(f"{name}.db"), dimensions=16) as store:
        sync(store, config)
        return content(store)


def differing(one: Sequence[object], other: Sequence[object]) -> Sequence[object]:
    """Return the first pairs that differ."""
    return [pair for pair in zip(one, other, strict=True) if pair[0] != pair[1]][:2]


def test_the_index_equals_a_new_one_after_git_changes_many_files(
    tmp_path: Path,
) -> None:
    config = project(tmp_path / "p")
    root, embedder, cache = config.folder, HashEmbedder(16), VectorCache(tmp_path / "cache")
    with Store.open(config.db_path, dimensions=16) as store:

        def synced() -> list[object]:
            report = sync(store, config)
            embed_pending(store, embedder, cache)
            assert not report.failed
            return content(store)

        on_main = synced()
        git(root, "checkout", "-q", "other")
        there = synced()
        embedded = embedder.embedded
        for number in range(40):
            write(root, number, "not committed")
        git(root, "stash", "-q")
        git(root, "stash", "pop", "-q")
        git(root, "stash", "-q")
        assert not differing(synced(), there)
        git(root, "rebase", "-q", "main")
        assert not differing(synced(), fresh(config, "rebased"))
        git(root, "bisect", "start", "HEAD", "HEAD~3")
        git(root, "bisect", "good")
        assert synced()
        git(root, "bisect", "reset")
        git(root, "checkout", "-q", "main")
        assert not differing(synced(), on_main)
        assert store.check() == []
        # Every text was embedded before, on one of the branches. Only the model was tried.
        assert embedder.embedded - embedded <= 10
