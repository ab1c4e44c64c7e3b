"""The clock, the disk and the project folder change while an index is in use."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from code_intel.config import IndexConfig
from code_intel.index.facade import Index
from code_intel.index.indexer import Indexer
from code_intel.index.store import Store
from index.samples import DIMENSIONS, HashEmbedder, index_config
from small_disk import mounted

LONG = 60.0
YEAR_NS = 365 * 24 * 3600 * 10**9


def project(root: Path) -> IndexConfig:
    root.mkdir(parents=True)
    for name in ("a", "b"):
        write(root, name, "first")
    return index_config(root, db_path=root / ".code-intel" / "x.db")


def write(root: Path, name: str, word: str) -> None:
    (root / f"{name}.py").write_text(f"def {name}_{word}():\n    return 1\n", encoding="utf-8")


def symbols(config: IndexConfig) -> set[str]:
    with Store.open(config.db_path, dimensions=DIMENSIONS, readonly=True) as store:
        assert store.check() == []
        return {each.name for each in store.defined_in(["a.py", "b.py"])}


def complete(config: IndexConfig) -> set[str]:
    with Index(config, embedder=HashEmbedder()) as index:
        index.complete()
    return symbols(config)


@contextmanager
def running(config: IndexConfig) -> Iterator[Indexer]:
    indexer = Indexer(config, embedder=HashEmbedder(), interval=0.02)
    indexer.start()
    try:
        yield indexer
    finally:
        indexer.stop()


@pytest.mark.parametrize("shift", [-YEAR_NS, YEAR_NS])
def test_an_edit_is_found_though_the_clock_was_set(tmp_path: Path, shift: int) -> None:
    """The last scan and the files are a year older or younger than the edit."""
    config = project(tmp_path / "p")
    for file in config.folder.glob("*.py"):
        when = time.time_ns() + shift
        os.utime(file, ns=(when, when))
    complete(config)
    with closing(Store.open(config.db_path, dimensions=DIMENSIONS)) as store:
        store.set_meta("scanned_ns", str(time.time_ns() + shift))
    write(config.folder, "a", "second")
    assert complete(config) == {"a_second", "b_first"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_endless_files_and_pipes_among_the_sources_are_skipped(tmp_path: Path) -> None:
    config = project(tmp_path / "p")
    with (config.folder / "huge.py").open("wb") as file:
        file.truncate(3 << 30)  # without content, so that it takes no space
    os.mkfifo(config.folder / "pipe.py")
    (config.folder / "zero.py").symlink_to("/dev/zero")
    with Index(config, embedder=HashEmbedder()) as index:
        report = index.complete()
        assert report.added == 2
        assert not report.failed
        assert "larger than 1 MiB" in report.skipped["huge.py"]
        for name in ("huge.py", "pipe.py", "zero.py"):
            assert index.store.document(name) is None


def test_a_project_replaced_by_a_link_to_itself_keeps_its_index(tmp_path: Path) -> None:
    config = project(tmp_path / "p")
    with running(config) as indexer:
        assert indexer.wait(lambda status: status.scans > 0, LONG)
        config.folder.rename(tmp_path / "elsewhere")
        config.folder.symlink_to(tmp_path / "elsewhere", target_is_directory=True)
        write(config.folder, "a", "second")
        scans = indexer.status.scans
        assert indexer.wait(lambda status: status.scans > scans + 1 and not status.problem, LONG)
    assert symbols(config) == {"a_second", "b_first"}
    assert not [*config.db_path.parent.glob("*-bak*")]


def test_a_project_replaced_by_another_gets_an_index_of_its_own(tmp_path: Path) -> None:
    config, other = project(tmp_path / "p"), project(tmp_path / "other")
    write(other.folder, "a", "other")
    with running(config) as indexer:
        assert indexer.wait(lambda status: status.scans > 0, LONG)
        config.folder.rename(tmp_path / "away")
        other.folder.rename(config.folder)
        assert indexer.wait(lambda _: config.db_path.exists(), LONG)
        scans = indexer.status.scans
        assert indexer.wait(lambda status: status.scans > scans + 1 and not status.problem, LONG)
    assert symbols(config) == {"a_other", "b_first"}
    old = index_config(tmp_path / "away", db_path=tmp_path / "away" / ".code-intel" / "x.db")
    assert symbols(old) == {"a_first", "b_first"}


def test_an_index_is_read_on_a_disk_that_became_read_only_and_updated_afterwards(
    tmp_path: Path,
) -> None:
    with mounted(tmp_path / "disk", "8m") as disk:
        config = project(disk / "p")
        assert complete(config) == {"a_first", "b_first"}
        remount(disk, "ro")
        with running(config) as indexer, Index(config, readonly=True) as reader:
            assert reader.store.document_count() == 2
            assert reader.store.word_hits(["first"], "body", 9)
            assert indexer.wait(lambda status: "ead-only" in status.problem, LONG)
            remount(disk, "rw")
            write(config.folder, "a", "second")
            scans = indexer.status.scans
            assert indexer.wait(
                lambda status: status.scans > scans + 1 and not status.problem, LONG
            )
        assert symbols(config) == {"a_second", "b_first"}


def remount(disk: Path, mode: str) -> None:
    command = ["mount", "-o", f"remount,{mode}", str(disk)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        pytest.skip(f"The disk cannot be remounted here: {done.stderr}")
