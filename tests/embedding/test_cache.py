"""Test the cache of vectors. Its faults cost time, but no answer."""

import subprocess
import sys
from pathlib import Path

import apsw
import numpy as np
import pytest
from numpy.typing import NDArray

from code_intel.embedding.cache import CACHE_FILE, VectorCache

ROOT = Path(__file__).parents[2]


def vectors(*texts: str) -> dict[str, NDArray[np.float32]]:
    return {text: np.full(4, len(text), dtype=np.float32) for text in texts}


def test_stored_vectors_are_read_by_another_cache_object(tmp_path: Path) -> None:
    assert VectorCache(tmp_path).put("m", vectors("a", "在庫", "\ud83d")) == 3
    found = VectorCache(tmp_path).get("m", ["a", "在庫", "\ud83d", "unknown"])
    assert set(found) == {"a", "在庫", "\ud83d"}
    assert found["在庫"].tolist() == [2, 2, 2, 2]
    assert found["a"].dtype == np.float32


def test_vectors_of_another_identity_are_not_returned(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path)
    cache.put("q4", vectors("a"))
    assert cache.get("int8", ["a"]) == {}


def test_a_vector_is_stored_once(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path)
    assert cache.put("m", vectors("a", "bb")) == 2
    assert cache.put("m", vectors("bb", "ccc")) == 1
    assert cache.put("m", {}) == 0


def test_more_texts_than_sql_variables_are_read(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path)
    texts = [f"text {number}" for number in range(1_700)]
    cache.put("m", vectors(*texts))
    assert len(cache.get("m", texts)) == 1_700


def test_the_oldest_vectors_are_removed_when_the_cache_is_full(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path, max_bytes=10 * (16 + 120))
    texts = [f"text {number}" for number in range(25)]
    for text in texts:
        cache.put("m", vectors(text))
    assert list(cache.get("m", texts)) == texts[-10:]


@pytest.mark.parametrize(
    "content", [b"", b"not a database at all" * 500, b"SQLite format 3\0" + b"x" * 4096]
)
def test_a_damaged_file_is_set_aside(tmp_path: Path, content: bytes) -> None:
    (tmp_path / CACHE_FILE).write_bytes(content)
    cache = VectorCache(tmp_path)
    assert cache.get("m", ["a"]) == {}
    assert cache.put("m", vectors("a")) == 1
    assert list(cache.get("m", ["a"])) == ["a"]
    aside = [file.read_bytes() for file in tmp_path.iterdir() if "damaged" in file.name]
    assert aside == ([content] if content else [])


def test_a_table_of_another_shape_is_set_aside(tmp_path: Path) -> None:
    apsw.Connection(str(tmp_path / CACHE_FILE)).execute("CREATE TABLE vectors(other TEXT)")
    cache = VectorCache(tmp_path)
    assert cache.put("m", vectors("a")) == 1


def test_a_vector_that_is_not_finite_is_not_returned(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path)
    cache.put("m", {"bad": np.array([np.nan, 1], dtype=np.float32), **vectors("good")})
    assert list(cache.get("m", ["bad", "good"])) == ["good"]


def test_an_unwritable_folder_leaves_the_cache_empty(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    cache = VectorCache(tmp_path / "file" / "cache")
    assert cache.put("m", vectors("a")) == 0
    assert cache.get("m", ["a"]) == {}


def test_a_busy_database_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("code_intel.embedding.cache.LOCK_TIMEOUT_MS", 50)
    VectorCache(tmp_path).put("m", vectors("a"))
    holder = apsw.Connection(str(tmp_path / CACHE_FILE))
    holder.execute("BEGIN IMMEDIATE")
    cache = VectorCache(tmp_path)
    assert cache.put("m", vectors("bb")) == 0
    assert list(cache.get("m", ["a"])) == ["a"]
    holder.execute("ROLLBACK")
    assert cache.put("m", vectors("bb")) == 1


WRITER = """
import sys
from pathlib import Path
import numpy as np
from code_intel.embedding.cache import VectorCache
cache = VectorCache(Path(sys.argv[1]))
kept = sum(
    cache.put("m", {f"{sys.argv[2]} {number}": np.ones(8, dtype=np.float32)})
    for number in range(60)
)
print(kept)
"""


def test_concurrent_processes_store_all_their_vectors(tmp_path: Path) -> None:
    running = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), name],
            stdout=subprocess.PIPE, cwd=ROOT, text=True, encoding="utf-8",
        )
        for name in ("one", "two", "three")
    ]  # fmt: skip
    assert [process.communicate(timeout=240)[0].strip() for process in running] == ["60"] * 3
    texts = [f"{name} {number}" for name in ("one", "two", "three") for number in range(60)]
    assert len(VectorCache(tmp_path).get("m", texts)) == 180


def test_a_closed_cache_opens_again(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path)
    cache.put("m", vectors("a"))
    cache.close()
    assert list(cache.get("m", ["a"])) == ["a"]
