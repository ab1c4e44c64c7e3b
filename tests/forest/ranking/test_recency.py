from collections.abc import Mapping
from pathlib import Path

from code_intel.chunking import parse_file
from code_intel.forest.ranking.recency import MAX_DOCUMENTS, MIN_AGE_GAP_NS, recent_of
from code_intel.forest.ranking.search import search
from code_intel.index.rows import DocumentRow
from code_intel.index.store import Store

TEXT = "def total_price():\n    return 0\n"


def planted(path: Path, times: Mapping[str, int]) -> Store:
    store = Store.open(path)
    for name, time in times.items():
        row = DocumentRow(name, digest=name, mtime_ns=time, language="python")
        store.put_document(row, parse_file(name, TEXT))
    return store


def checkout(edited: Mapping[str, int]) -> dict[str, int]:
    return {f"old_{n:02}.py": MIN_AGE_GAP_NS + n for n in range(MAX_DOCUMENTS + 4)} | dict(edited)


def test_a_fresh_checkout_has_no_recent_documents(tmp_path: Path) -> None:
    with planted(tmp_path / "f.db", checkout({})) as store:
        assert recent_of(store) == {}


def test_few_documents_are_never_recent(tmp_path: Path) -> None:
    with planted(tmp_path / "f.db", {"a.py": 1, "b.py": 10 * MIN_AGE_GAP_NS}) as store:
        assert recent_of(store) == {}


def test_the_latest_edit_counts_most(tmp_path: Path) -> None:
    edited = {"a.py": 5 * MIN_AGE_GAP_NS, "b.py": 6 * MIN_AGE_GAP_NS}
    with planted(tmp_path / "f.db", checkout(edited)) as store:
        recent = recent_of(store)
    assert list(recent) == ["b.py", "a.py"]
    assert 1.0 == recent["b.py"] > recent["a.py"] > 0


def test_the_next_search_sees_an_edit(tmp_path: Path) -> None:
    with planted(tmp_path / "f.db", checkout({})) as store:
        assert recent_of(store) == {}
        row = DocumentRow("z.py", digest="z", mtime_ns=9 * MIN_AGE_GAP_NS, language="python")
        store.put_document(row, parse_file("z.py", TEXT))
        assert list(recent_of(store)) == ["z.py"]
        first = search(store, "total price", None, top_k=1)[0]
    assert (first.document, "recent" in first.why) == ("z.py", True)
