"""A search shows files as they are, although no scan has seen them yet."""

from pathlib import Path

import pytest

from code_intel.index.facade import Index
from code_intel.records import SearchAnswer
from code_intel.tools.context.corpus_service import open_project
from served import settings_of

FILE = "src/cart/shipping.py"
QUESTION = "how is the shipping fee computed"


def searched(shop: Path, *, readonly: bool = False) -> SearchAnswer:
    """Search without an indexer."""
    maps, forest = open_project(settings_of(shop), readonly=readonly)
    try:
        return forest.search(QUESTION, 5)
    finally:
        maps.index.close()
        forest.index.close()


def shown(answer: SearchAnswer) -> tuple[int, str]:
    """Return the place of the hit in the file, and its text."""
    return next((h.start_line, h.chunk) for h in answer.hits if h.document == FILE)


def test_a_search_shows_a_file_that_was_just_edited(shop: Path) -> None:
    first, _ = shown(searched(shop))
    path = shop / FILE
    path.write_text("# one\n# two\n" + path.read_text("utf-8"), encoding="utf-8")
    answer = searched(shop)
    place, text = shown(answer)
    assert place in {1, first + 2}
    lines = path.read_text("utf-8").splitlines()[place - 1 :]
    assert text.splitlines() == lines[: len(text.splitlines())]
    assert not [note for note in answer.index.degraded if "of the answer" in note]


def test_a_search_does_not_show_a_file_that_was_just_deleted(shop: Path) -> None:
    shown(searched(shop))
    (shop / FILE).unlink()
    assert FILE not in {hit.document for hit in searched(shop).hits}


def test_a_search_says_so_if_its_hits_cannot_be_brought_up_to_date(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = shop / FILE
    path.write_text("# one\n" + path.read_text("utf-8"), encoding="utf-8")
    monkeypatch.setattr(Index, "_disk_notes", lambda *_args, **_named: [])  # a check found nothing
    answer = searched(shop, readonly=True)
    assert shown(answer)
    assert answer.index.state == "stale"
    assert "index: 1 file of the answer changed after it was indexed" in answer.index.degraded
