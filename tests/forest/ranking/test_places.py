"""An answer shows several places of a file, each with the line that matches."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from code_intel.forest.ranking.places import places_of
from code_intel.forest.ranking.search import search
from code_intel.index.store import Store
from code_intel.records import Hit
from forest.corpus import plant

LICENCE = "".join(f"# Copyright line {n}: do not copy the software.\n" for n in range(12))
ROUTER = (
    LICENCE
    + "class Router:\n"
    + "".join(f"    def rule_{n}(self):\n        return {n}\n" for n in range(20))
    + "\n\ndef add_route(router, path):\n    # Add a route.\n    router.routes[path] = path\n"
    + "".join(f"    log({n})\n" for n in range(40))
    + "\n\ndef remove_route(router, path):\n    # Remove a route.\n    del router.routes[path]\n"
    + "".join(f"    log({n})\n" for n in range(40))
)
OTHER = "def other():\n    route = 1\n    return route\n"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with plant(tmp_path / "f.db", {"router.py": ROUTER, "other.py": OTHER}) as opened:
        yield opened


def shown(store: Store, query: str, per_file: int = 3) -> list[Hit]:
    return places_of(store, query, search(store, query, None, top_k=5), per_file)


def line_of(text: str) -> int:
    return 1 + next(at for at, line in enumerate(ROUTER.splitlines()) if text in line)


def test_several_places_of_one_file_follow_each_other(store: Store) -> None:
    hits = shown(store, "add a route, remove a route")
    first = [hit.symbol for hit in hits if hit.document == "router.py"]
    assert set(first) == {"add_route", "remove_route"}
    assert [hit.document for hit in hits] == ["router.py", "router.py", "other.py"]


def test_per_file_limits_them(store: Store) -> None:
    hits = shown(store, "add a route, remove a route", per_file=1)
    assert [hit.document for hit in hits] == ["router.py", "other.py"]


def test_a_place_has_the_line_that_matches_and_the_symbol_around_it(store: Store) -> None:
    hit = shown(store, "remove route")[0]
    assert hit.line == line_of("def remove_route")
    assert hit.symbol == "remove_route"
    assert ROUTER.splitlines()[hit.line - 1][hit.column :].startswith("remove")


def test_a_named_symbol_is_shown_where_it_is_defined(store: Store) -> None:
    hit = shown(store, "add_route")[0]
    assert (hit.line, hit.symbol) == (line_of("def add_route"), "add_route")


def test_a_licence_is_not_the_line_of_a_place_unless_it_is_asked_for(store: Store) -> None:
    hits = {hit.symbol: hit for hit in shown(store, "Router")}
    assert hits["Router"].line == line_of("class Router")
    (asked,) = [hit for hit in shown(store, "copyright software", per_file=1) if hit.line]
    assert asked.line <= len(LICENCE.splitlines())


def test_the_other_symbols_of_a_place_are_named(store: Store) -> None:
    hit = shown(store, "class Router")[0]
    assert "Router.rule_0" in hit.symbols
    assert hit.symbol not in hit.symbols
