"""The list of the map: filters, order, pages, and statuses that follow every change."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from code_intel.ui.map_cache import MapEntryCache
from code_intel.ui.pages.map.listing import PAGE_SIZE, Wanted, columns, list_entries
from code_intel.ui.rendering import breakable
from learned.builders import rewrite
from map_files import LOGIN, agree, entry_page
from page_client import PageClient, opened_page

CONFLICT = "<<<<<<< HEAD\nsymbol: A\n=======\nsymbol: B\n>>>>>>> theirs\n"
NOTE = "---\nkind: {kind}\nfiles:\n  - src/**\n---\n\n# {title}\n\nThe text.\n"


def rows(page: PageClient, address: str = "/map") -> list[str]:
    """Return the names in the list, in its order."""
    found = re.findall(r'<th scope="row"><a [^>]*>(.*?)</a>', page.get(address))
    return [str(name) for name in found]


def test_paths_break_after_a_slash_and_stay_text() -> None:
    assert breakable("src/<b>/a.py") == "src/<wbr>&lt;b&gt;/<wbr>a.py"
    assert breakable("A.b", ".") == "A.<wbr>b"
    assert "\u202e" not in breakable("a/\u202eb")


def test_an_empty_map_says_how_it_is_filled(shop: Path) -> None:
    with opened_page(shop) as page:
        assert "The map is empty." in page.text("/map")


def test_the_list_has_agreements_and_notes_with_their_states(shop: Path) -> None:
    agree(shop, *LOGIN)
    agree(shop, "ship", "shipping_fee", confirmed=False)
    folder = shop / ".code-intel" / "agreements"
    (folder / "note.md").write_text(NOTE.format(kind="convention", title="Be kind"), "utf-8")
    (folder / "conflict.md").write_text(f"---\nnl_term: a\n{CONFLICT}---\n", "utf-8")
    (folder / "invalid.md").write_text("nothing", "utf-8")
    with opened_page(shop) as page:
        assert sorted(rows(page)) == ["Be kind", "conflict.md", "invalid.md", "login", "ship"]
        text = page.text("/map")
        for state in ("valid", "unconfirmed", "conflict", "invalid"):
            assert f"{state} " in text
        assert rows(page, "/map?kind=convention") == ["Be kind"]
        assert rows(page, "/map?state=conflict") == ["conflict.md"]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("q=sign+in", ["login"]),
        ("q=\uff21\uff35\uff34\uff28", ["login"]),
        ("q=password+checks", ["login"]),
        ("q=nothing", []),
        ("file=src/cart", ["ship"]),
        ("file=agreements/ship", ["ship"]),
        ("q=ship&kind=agreement&state=valid", ["ship"]),
        ("q=ship&state=changed", []),
    ],
)
def test_filters_find_words_states_and_files(shop: Path, query: str, names: list[str]) -> None:
    agree(shop, *LOGIN, "checks the password", aliases=["Sign in"])
    agree(shop, "ship", "shipping_fee")
    with opened_page(shop) as page:
        assert rows(page, f"/map?{query}") == names


def test_a_column_sorts_the_list_and_says_so(shop: Path) -> None:
    agree(shop, "b", "shipping_fee")
    agree(shop, "a", "AuthService.login")
    with opened_page(shop) as page:
        assert rows(page, "/map?sort=name") == ["a", "b"]
        assert rows(page, "/map?sort=-name") == ["b", "a"]
        assert rows(page, "/map?sort=-symbol") == ["b", "a"]
        found = page.get("/map?sort=-since&kind=agreement")
        assert 'aria-sort="descending"><a href="/map?kind=agreement&amp;sort=since">' in found


def test_a_column_that_sorts_turns_its_order_around() -> None:
    found = columns(Wanted(sort="name"))
    assert (found["name"].address, found["name"].sorted) == ("/map?sort=-name", "ascending")
    assert (found["state"].address, found["state"].sorted) == ("/map?sort=state", "")


@pytest.mark.parametrize("query", ["kind=x", "state=x", "sort=x", "page=x", "page=-1"])
def test_a_filter_that_does_not_exist_is_refused(shop: Path, query: str) -> None:
    with opened_page(shop) as page:
        page.get(f"/map?{query}", 400)


def test_a_long_list_has_pages(shop: Path) -> None:
    folder = shop / ".code-intel" / "agreements"
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(PAGE_SIZE + 5):
        text = f"---\nnl_term: term {number:03}\nsymbol: AuthService\n---\n"
        (folder / f"{number:03}.md").write_text(text, "utf-8")
    with opened_page(shop) as page:
        assert len(rows(page)) == PAGE_SIZE
        assert f"1 to {PAGE_SIZE} of {PAGE_SIZE + 5}" in page.text("/map")
        assert 'rel="next" href="/map?page=2"' in page.get("/map")
        assert rows(page, "/map?page=2") == [f"term {PAGE_SIZE + n}" for n in range(5)]
        assert rows(page, "/map?page=99") == rows(page, "/map?page=2")
        assert "page=" not in page.get("/map?q=term+001")


def test_a_list_without_entries_has_one_page() -> None:
    found = list_entries([], Wanted(), 7)
    assert (found.page, found.pages, found.total) == (1, 1, 0)


def test_the_list_follows_every_change_of_files_and_memory(shop: Path) -> None:
    file = agree(shop, *LOGIN)
    with opened_page(shop) as page:
        assert rows(page, "/map?state=valid") == ["login"]
        rewrite(file, lambda text: text.replace("does it", "does more"))
        assert rows(page, "/map?state=unconfirmed") == ["login"]
        assert rows(page, "/map?q=more") == ["login"]
        agree(shop, "ship", "shipping_fee")
        assert rows(page, "/map?state=valid") == ["ship"]
        file.unlink()
        assert rows(page) == ["ship"]


def test_the_list_follows_the_index_of_the_source(shop: Path) -> None:
    agree(shop, *LOGIN)
    with opened_page(shop) as page:
        assert rows(page, "/map?state=valid") == ["login"]
        service = shop / "src" / "auth" / "service.py"
        rewrite(service, lambda text: text.replace("def login", "def sign_in"))
        page.project.writing().forest.complete(words_only=True)
        assert rows(page, "/map?state=valid") == []


def test_an_entry_that_has_not_changed_is_not_judged_again(shop: Path) -> None:
    agree(shop, *LOGIN)
    with opened_page(shop) as page:
        (first,) = page.project.map_entries().rows
        agree(shop, "ship", "shipping_fee")
        again, _ = page.project.map_entries().rows
        assert again is first


def test_a_status_that_depends_on_the_time_is_judged_every_hour(shop: Path) -> None:
    agree(shop, *LOGIN)
    with opened_page(shop) as page:
        cache, context = MapEntryCache(), page.project.context
        now = datetime.now(UTC)
        (first,) = cache.entries(context, now).rows
        (later,) = cache.entries(context, now + timedelta(hours=1)).rows
        assert later is not first


def test_a_large_map_is_judged_again_in_the_background(shop: Path) -> None:
    agree(shop, *LOGIN)
    agree(shop, "fee", "shipping_fee")
    cache = MapEntryCache(at_once=1)
    with opened_page(shop) as page:
        context = page.project.context
        assert {row.status for row in cache.entries(context).rows} == {"valid"}
        rewrite(
            shop / "src" / "auth" / "service.py", lambda text: text.replace("def login", "def go")
        )
        page.project.writing().forest.complete(words_only=True)
        before = cache.entries(context).by_file
        cache.wait()
        after = cache.entries(context).by_file
        assert [before[file].status for file in before] == ["valid", "valid"]
        assert sorted(after[file].status for file in after) == ["changed", "valid"]


def test_an_entry_says_when_the_source_is_newer_than_the_index(shop: Path) -> None:
    file = agree(shop, *LOGIN)
    with opened_page(shop) as page:
        assert '<span class="state valid">' in page.get(entry_page(file, shop))
        rewrite(
            shop / "src" / "auth" / "service.py", lambda text: text.replace("def login", "def go")
        )
        newer = "The source has changed since it was indexed"
        assert newer in page.get(entry_page(file, shop))
        page.post("/update")
        page.project.updater.wait()
        found = page.get(entry_page(file, shop))
        assert newer not in found
        assert '<span class="state changed">' in found
        assert rows(page, "/map?state=changed") == ["login"]


def test_what_files_say_is_text(shop: Path) -> None:
    folder = shop / ".code-intel" / "agreements"
    file = agree(shop, "<script>alert(1)</script>", "AuthService", aliases=["<img src=x>"])
    (folder / "<b onclick=x>.md").write_text("nothing", "utf-8")
    with opened_page(shop) as page:
        found = page.get("/map")
        assert "<script>alert" not in found
        assert "&lt;script&gt;alert(1)" in found
        assert "&lt;b onclick=x&gt;.md" in found
        assert "<b " not in found
        page.get(entry_page(file, shop))
