"""Answers include files that another process indexes meanwhile."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from code_intel.forest.text.grep import grep
from code_intel.tools.code.find_definitions import find_definitions
from code_intel.tools.context.corpus_service import open_project
from code_intel.tools.context.freshness import ask_fresh_index
from code_intel.tools.context.gateway import GatewayContext
from served import settings_of

NEW, CODE = "src/new.py", "def brand_new():\n    return 1\n"


@pytest.fixture
def context(shop: Path) -> Iterator[GatewayContext]:
    maps, forest = open_project(settings_of(shop))
    with maps.index, forest.index:
        yield GatewayContext(settings_of(shop), None, maps.index, forest.index, maps.embedder)


def index_elsewhere(shop: Path) -> None:
    """Index new files, as another process does."""
    with open_project(settings_of(shop))[1].index as index:
        index.complete(words_only=True)


def test_index_is_read_again_after_another_process_changed_it(
    context: GatewayContext, shop: Path
) -> None:
    results: list[int] = []

    def ask() -> list[str]:
        found = [d.file for d in context.forest.store.definitions("brand_new", exact=True, limit=9)]
        results.append(len(found))
        if len(results) == 1:
            (shop / NEW).write_text(CODE, encoding="utf-8")
            index_elsewhere(shop)
        return found

    assert ask_fresh_index(context, ask, lambda _: [NEW]) == [NEW]
    assert ask_fresh_index(context, ask, lambda _: [NEW]) == [NEW]
    assert results == [0, 1, 1]


@pytest.mark.anyio
async def test_definition_indexed_during_the_search_is_found(
    context: GatewayContext, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shop / NEW).write_text(CODE, encoding="utf-8")

    async def slow(*arguments: Any) -> Any:
        matches = await grep(*arguments)
        index_elsewhere(shop)
        return matches

    monkeypatch.setattr("code_intel.tools.code.find_definitions.grep", slow)
    answer = await find_definitions(context, "brand_new")
    assert [row["file"] for row in answer.data["definitions"]] == [NEW]
