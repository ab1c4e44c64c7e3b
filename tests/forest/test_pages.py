"""Test the list of pages that query plans wrote."""

from pathlib import Path

from code_intel.config import load_settings
from code_intel.forest.pages import pages_of
from code_intel.index.facade import Index
from code_intel.planning import knowledge
from code_intel.planning.place import root_of
from kept_plans import plan


def test_a_page_written_or_removed_by_another_process_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "auth.py").write_text("def login():\n    return 1\n", "utf-8")
    settings = load_settings(tmp_path)
    with Index(settings.forest) as index, Index(settings.forest) as other:
        index.complete(words_only=True)
        assert pages_of(index.store) == ()
        page = knowledge.write(root_of(settings), plan(), tmp_path)
        assert page is not None
        other.complete(words_only=True)
        (found,) = pages_of(index.store)
        assert pages_of(index.store) is pages_of(index.store)
        assert [row.path for row in index.store.chunk_rows([found]).values()] == [
            page.relative_to(tmp_path).as_posix()
        ]
        with index.store.batch():
            assert pages_of(index.store) == (found,)
        page.unlink()
        other.complete(words_only=True)
        other.complete(words_only=True)
        assert pages_of(index.store) == ()
