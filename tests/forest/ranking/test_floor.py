"""A question about another project gets no hits; a search by keyword always does."""

from pathlib import Path

import pytest

from code_intel.embedding.onnx_engine import OnnxE5
from code_intel.forest.ranking.question import embedded
from code_intel.forest.ranking.search import search
from code_intel.index.facade import Index
from code_intel.index.store import Store
from index.samples import index_config

NONSENSE = ["zzzzqqq", "xkvbqz wpfjq", "むろぬへそゆほ", "qwrtzp fghjkl bvcxy"]
FUNCTION = '''def load_part_{n}(path):
    """Load part {n} of the archive from the disk."""
    return open(path).read()[{n}:]


'''


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Return the index of a project with 300 files, by words only."""
    folder = tmp_path_factory.mktemp("archive") / "p"
    folder.mkdir()
    for number in range(300):
        (folder / f"part{number}.py").write_text(FUNCTION.format(n=number), encoding="utf-8")
    index = Index(index_config(folder))
    index.complete(words_only=True)
    return index.store


@pytest.mark.parametrize("query", NONSENSE)
def test_nonsense_finds_nothing_by_words(archive: Store, query: str) -> None:
    assert search(archive, query, None, top_k=5) == []


@pytest.mark.parametrize("query", NONSENSE)
def test_nonsense_finds_nothing_by_vectors(tmp_path: Path, query: str) -> None:
    folder = tmp_path / "p"
    folder.mkdir()
    for number in range(5):
        (folder / f"part{number}.py").write_text(FUNCTION.format(n=number), encoding="utf-8")
    engine = OnnxE5()
    with Index(index_config(folder, dimensions=384), embedder=engine) as index:
        index.complete()
        assert search(index.store, query, embedded(engine, query), top_k=5) == []
        wanted = "load a part of the archive"
        assert search(index.store, wanted, embedded(engine, wanted), top_k=5)


def test_a_question_about_another_project_finds_nothing(archive: Store) -> None:
    query = "where does the hydraulic press report that its piston is overheated"
    assert search(archive, query, None, top_k=5) == []
    assert search(archive, query + " path", None, top_k=5, floor=False)


@pytest.mark.parametrize("query", ["load", "archive disk", "load_part_7"])
def test_words_that_every_file_has_are_found(archive: Store, query: str) -> None:
    assert search(archive, query, None, top_k=5)
