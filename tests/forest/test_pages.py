"""Pages that plans wrote are listed once. A page written or removed is seen at once."""

from pathlib import Path

from code_intel.config import load_settings
from code_intel.forest.pages import pages_of
from code_intel.index.facade import Index
from code_intel.planning import knowledge
from code_intel.planning.place import root_of
from kept_plans import plan


def test_a_page_of_another_process_is_seen_and_a_removed_one_is_not(tmp_path: Path) -> None:
    (tmp_path / "auth.py").write_text("def login():\n    return 1\n", "utf-8")
    settings = load_settings(tmp_path)
    with Index(settings.forest) as here, Index(settings.forest) as elsewhere:
        here.complete(words_only=True)
        assert pages_of(here.store) == ()
        page = knowledge.write(root_of(settings), plan(), tmp_path)
        assert page is not None
        elsewhere.complete(words_only=True)
        (found,) = pages_of(here.store)
        assert pages_of(here.store) is pages_of(here.store)
        assert [row.path for row in here.store.chunk_rows([found]).values()] == [
            page.relative_to(tmp_path).as_posix()
        ]
        with here.store.batch():
            assert pages_of(here.store) == (found,)
        page.unlink()
        elsewhere.complete(words_only=True)
        elsewhere.complete(words_only=True)
        assert pages_of(here.store) == ()
