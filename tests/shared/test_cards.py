"""Generations share layers only if the same file gives the same chunks."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import code_intel
from code_intel.shared import cards

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "tests" / "chunking" / "samples"
MODULES = """
import json, sys
from pathlib import Path
from code_intel.chunking import decode_counting, parse_file
from code_intel.index.rows import index_words
for path in Path(sys.argv[1]).iterdir():
    text, _ = decode_counting(path.read_bytes())
    for name in (path.name, "page.md"):
        for chunk in parse_file(name, text).chunks:
            index_words(name, chunk)
found = (module for name, module in sys.modules.items() if name.startswith("code_intel"))
print(json.dumps([module.__file__ for module in found]))
"""


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Compute the digest again in each test."""
    cards.chunker_digest.cache_clear()
    yield
    cards.chunker_digest.cache_clear()


def test_all_code_that_makes_chunks_is_part_of_the_settings() -> None:
    done = subprocess.run(
        [sys.executable, "-c", MODULES, str(SAMPLES)], capture_output=True, check=True, cwd=ROOT
    )
    used = {Path(name) for name in json.loads(done.stdout)}
    packages = {file for file in used if file.name == "__init__.py"}
    files = {*cards.chunker_files()}
    assert used - packages <= files
    for empty in packages - files:
        assert "def " not in empty.read_text(encoding="utf-8"), empty
    assert any(file.suffix == ".tsv" for file in files)


def test_another_release_with_the_same_chunker_shares_layers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = cards.settings_digest("model", 500)
    cards.chunker_digest.cache_clear()
    monkeypatch.setattr(code_intel, "__version__", "99.0")
    assert cards.settings_digest("model", 500) == before


def test_a_change_of_the_chunker_a_grammar_or_the_model_does_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = {cards.settings_digest("model", 500), cards.settings_digest("model", 600)}
    found.add(cards.settings_digest("another", 500))
    cards.chunker_digest.cache_clear()
    monkeypatch.setattr(cards, "version", lambda name: "99" if name == "tree-sitter-go" else "0.25")
    found.add(cards.settings_digest("model", 500))
    cards.chunker_digest.cache_clear()
    monkeypatch.undo()
    copy = tmp_path
    for file in cards.chunker_files():
        copy = tmp_path / file.relative_to(cards._PACKAGE)  # noqa: SLF001 - the code of a release
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(file.read_bytes())
    monkeypatch.setattr(cards, "_PACKAGE", tmp_path)
    same = cards.settings_digest("model", 500)
    assert same in found
    cards.chunker_digest.cache_clear()
    copy.write_text(copy.read_text(encoding="utf-8") + "CHANGED = True\n", encoding="utf-8")
    found.add(cards.settings_digest("model", 500))
    assert len(found) == 5
