"""Test that a process that dies during a write leaves all of it or nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from code_intel.chunking import parse_file
from code_intel.index.reading.batches import Batch, ReadFile
from code_intel.index.report import SyncReport
from code_intel.index.rows import DocumentRow
from code_intel.index.store import Store
from code_intel.index.sync import write_batch
from code_intel.records import Chunk, ParsedFile
from index.dying_process import NEW, OLD, change, plant
from index.samples import DIMENSIONS, chunks_of, parsed

BETWEEN = {**NEW, "c.py": OLD["c.py"]}
"""The new documents are in, the old one is not out yet: two transactions."""


def texts(store: Store) -> dict[str, tuple[str, ...]]:
    return {
        row.path: tuple(chunk.text for chunk in chunks_of(store, row.path))
        for row in store.documents()
    }


def test_a_killed_process_leaves_whole_documents(tmp_path: Path) -> None:
    db_path = tmp_path / "x.db"
    with Store.open(db_path, dimensions=DIMENSIONS) as store:
        plant(store)
    here = Path(__file__).parents[1]
    ends = subprocess.run(
        [sys.executable, here / "index" / "dying_process.py", db_path],
        env={**os.environ, "PYTHONPATH": f"{here.parent}{os.pathsep}{here}"},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    states = []
    for place, end in enumerate(ends):
        with Store.open(db_path.with_name(f"x.db.{place}"), dimensions=DIMENSIONS) as store:
            assert store.check() == [], place
            states.append(texts(store))
            kept = store.generations.vectors_of(store.chunk_rows(range(99)))
            assert len(kept) + store.pending_count() == sum(map(len, states[-1].values()))
            assert end == "signal 9" or states[-1] == NEW
            if place % 5 == 0:
                change(store)
                assert texts(store) == NEW
    assert ends[0] == "signal 9"
    assert ends[-1] == "done"
    assert len(ends) > 20
    assert [state for n, state in enumerate(states) if n == 0 or state != states[n - 1]] == [
        OLD, BETWEEN, NEW,
    ]  # fmt: skip


def test_a_document_that_cannot_be_stored_keeps_its_previous_content(store: Store) -> None:
    plant(store)
    sound = parsed("six", "seven").chunks
    unfit = Chunk(2, "no text: \ud800", 3, 3, (), "card")
    with pytest.raises(UnicodeError):
        store.put_document(DocumentRow("a.py", "new"), ParsedFile("python", (*sound, unfit)))
    assert texts(store) == OLD
    assert store.document("a.py") is not None
    assert store.pending_count() == 0
    assert store.check() == []


def test_of_documents_that_are_stored_together_all_are_stored_or_none(store: Store) -> None:
    sound = parsed("six", "seven")
    unfit = ParsedFile("python", (*sound.chunks, Chunk(2, "no text: \ud800", 3, 3, (), "card")))
    rows = [DocumentRow(f"{name}.py", "d") for name in "xyz"]
    both = [[("six", ""), ("seven", "")], [("six", ""), ("seven", ""), ("no", "")]]
    with pytest.raises(UnicodeError):
        store.put_documents([(rows[0], sound, both[0]), (rows[1], unfit, both[1])])
    assert not store.documents()
    store.put_documents([(row, sound, both[0]) for row in rows])
    assert len(store.word_hits(["seven"], "body", 9)) == len(rows)
    assert store.check() == []


def test_a_file_that_cannot_be_stored_does_not_keep_the_others_of_its_batch_out(
    store: Store,
) -> None:
    sound = parsed("six")
    unfit = ParsedFile("python", (Chunk(0, "no text: \ud800", 1, 1, (), "card"),))
    files = [
        ReadFile(DocumentRow(f"{name}.py", "d"), file, [("six", "")])
        for name, file in (("a", sound), ("b", unfit), ("c", sound))
    ]
    report = SyncReport()
    write_batch(store, Batch(files, count=3), {}, report)
    assert [document.path for document in store.documents()] == ["a.py", "c.py"]
    assert (report.added, list(report.failed)) == (2, ["b.py"])
    assert store.check() == []


def test_a_document_without_words_is_stored_and_deleted(store: Store) -> None:
    for text in ("", "\n", "!?;\n", "\f", "。\n"):
        store.put_document(DocumentRow("a.txt", "d"), parse_file("a.txt", text))
        assert store.check() == []
        assert store.word_hits(["a"], "body", 5) == []
    assert store.delete_document("a.txt")
    assert store.check() == []
