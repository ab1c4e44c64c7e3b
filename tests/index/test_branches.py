"""Git changes hundreds of files at once: checkout, stash, rebase, bisect."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from code_intel.config import IndexConfig
from code_intel.embedding.cache import VectorCache
from code_intel.index.store import Store
from code_intel.index.sync import sync
from code_intel.index.vectors import embed_pending
from doubles import HashEmbedder
from programs import git

FILES = 1000
CHANGED = range(100, 400)
GONE = range(400, 450)


def commit(root: Path, message: str) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-qm", message)


def write(root: Path, number: int, said: str) -> None:
    path = root / f"part_{number % 10}" / f"work_{number}.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"def work_{number}(order):\n    return '{said}'\n", encoding="utf-8")


def project(root: Path) -> IndexConfig:
    """Make a repository whose branch `other` changes 300 of 1,000 files, deletes 50 and adds 50."""
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
    for number in range(20):
        write(root, number, "later on the trunk")
    commit(root, "four")
    return IndexConfig(
        path=root / "devrag-forest.json",
        corpus="forest",
        patterns=(".",),
        db_path=root.parent / "forest.db",
        dimensions=16,
    )


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
    """Return the first pairs that differ: of a thousand, the others help nobody."""
    return [pair for pair in zip(one, other, strict=True) if pair[0] != pair[1]][:2]


def test_whatever_git_does_to_a_thousand_files_the_index_becomes_what_a_fresh_one_is(
    tmp_path: Path,
) -> None:
    config = project(tmp_path / "p")
    root, embedder, cache = config.folder, HashEmbedder(16), VectorCache(tmp_path / "cache")
    with Store.open(config.db_path, dimensions=16) as store:

        def taken_in() -> list[object]:
            report = sync(store, config)
            embed_pending(store, embedder, cache)
            assert not report.failed
            return content(store)

        on_main = taken_in()
        git(root, "checkout", "-q", "other")
        there = taken_in()
        embedded = embedder.embedded
        for number in range(200):
            write(root, number, "not committed")
        git(root, "stash", "-q")
        git(root, "stash", "pop", "-q")
        git(root, "stash", "-q")
        assert not differing(taken_in(), there)
        git(root, "rebase", "-q", "main")
        assert not differing(taken_in(), fresh(config, "rebased"))
        git(root, "bisect", "start", "HEAD", "HEAD~3")
        git(root, "bisect", "good")
        assert taken_in()
        git(root, "bisect", "reset")
        git(root, "checkout", "-q", "main")
        assert not differing(taken_in(), on_main)
        assert store.check() == []
        # The texts were all embedded once, on either branch: only the model was tried in between.
        assert embedder.embedded - embedded <= 10
