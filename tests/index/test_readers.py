"""Files are read in several processes; the index does not show it."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from code_intel.config import IndexConfig
from code_intel.index.reading import readers
from code_intel.index.reading.batches import FileToRead
from code_intel.index.reading.readers import start_process
from code_intel.index.skipped import BINARY
from code_intel.index.store import Store
from code_intel.index.sync import sync

FILES = 450
"""More than two batches."""

Processes = Callable[[int], None]


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> Processes:
    """Let so many processes read, whatever the number of files and cores."""

    def choose(count: int) -> None:
        monkeypatch.setattr(readers, "process_count", lambda _files: count)

    return choose


@pytest.fixture
def config(tmp_path: Path) -> IndexConfig:
    """Return the configuration of a project with many files, some of them of odd kinds."""
    project = tmp_path / "project"
    project.mkdir()
    for number in range(FILES):
        text = f'"""Keeps parcel {number}."""\n\n\ndef find_{number}(a):\n    return a[{number}]\n'
        (project / f"parcel_{number}.py").write_text(text, encoding="utf-8")
    (project / "binary.py").write_bytes(b"\0\1\2\3" * 99)
    (project / "notes.md").write_text("# Notes\n\nparcels", encoding="utf-8")
    (project / "secret.py").write_text('password = "Tr0ub4dor&3x"\n', encoding="utf-8")
    return IndexConfig(
        path=project / "devrag-forest.json",
        corpus="forest",
        patterns=(".",),
        db_path=tmp_path / "forest.db",
    )


def indexed(config: IndexConfig, database: Path) -> tuple[object, ...]:
    """Return what a new index of the project contains, and what the report says."""
    with Store.open(database) as store:
        report = sync(store, config)
        assert store.check() == []
        rows = store.documents()
        chunks = store.chunks_of(row.path for row in rows)
        hits = store.word_hits(["parcel", "find"], "body", 1000)
        counts = (report.added, report.masked, report.skipped, report.failed)
        return [(row.id, row.path, row.digest, row.lines) for row in rows], chunks, hits, counts


def test_several_processes_build_the_same_index_as_one(
    config: IndexConfig, processes: Processes, tmp_path: Path
) -> None:
    processes(0)
    alone = indexed(config, tmp_path / "alone.db")
    processes(2)
    assert indexed(config, tmp_path / "together.db") == alone
    assert alone[-1] == (FILES + 2, 1, {"binary.py": BINARY}, {}), alone[-1]


def test_files_of_a_process_that_was_killed_are_read_all_the_same(
    config: IndexConfig, processes: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes(0)
    alone = indexed(config, tmp_path / "alone.db")
    started = []

    def start_and_kill_the_first() -> "subprocess.Popen[bytes]":
        started.append(start_process())
        if len(started) == 1:
            started[0].kill()
            started[0].wait()
        return started[-1]

    monkeypatch.setattr(readers, "start_process", start_and_kill_the_first)
    processes(2)
    assert indexed(config, tmp_path / "together.db") == alone
    assert [process.poll() is not None for process in started] == [True, True]


def test_a_reader_ends_when_its_parent_does() -> None:
    with start_process() as process:
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(60) == 0


def test_a_stop_ends_the_processes(
    config: IndexConfig, processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []

    def start() -> "subprocess.Popen[bytes]":
        started.append(start_process())
        return started[-1]

    monkeypatch.setattr(readers, "start_process", start)
    processes(2)
    names = sorted(config.folder.iterdir())
    batch = [FileToRead(path.name, str(path), path.stat().st_size) for path in names]
    assert list(readers.read_batches([batch, batch], 500, lambda: True)) == []
    assert len(started) == 2
    assert all(process.returncode is not None for process in started)


def test_few_files_are_read_by_this_process() -> None:
    assert readers.process_count(readers.MIN_FILES - 1) == 0
