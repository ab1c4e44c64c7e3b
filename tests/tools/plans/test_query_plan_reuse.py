"""Check that the page of a plan does not invalidate its cache."""

from pathlib import Path

import pytest

from code_intel.embedding.lazy import LazyEmbedder
from code_intel.index.facade import Index
from code_intel.records import Hit, SearchAnswer
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.plans.gistdex_query_plan import gistdex_query_plan
from doubles import HashEmbedder
from served import settings_of

pytestmark = pytest.mark.anyio

GOAL = "How is the cart total computed?"


class Local:
    """Answer forest searches from an index in this process."""

    def __init__(self, forest: Index) -> None:
        self.forest = forest

    async def search_map(self, query: str, top_k: int) -> SearchAnswer:
        raise NotImplementedError(f"no {query} of {top_k}")

    async def search_forest(
        self, query: str, top_k: int, directory: str = "", file_pattern: str = ""
    ) -> SearchAnswer:
        del query, directory, file_pattern
        rows = self.forest.store.chunks_of(["src/cart/cart.py"])
        hits = (
            Hit(row.path, row.text, row.position, 0.9, 1.0, "", row.start_line, row.end_line)
            for row in rows
        )
        return SearchAnswer((*hits,)[:top_k], self.forest.freshness())

    def states(self) -> tuple[()]:
        return ()


async def hits(context: GatewayContext) -> int:
    answer = await gistdex_query_plan(context, GOAL, maxIterations=1)
    assert answer.data["status"] != "failed"
    return int(answer.data["metadata"]["cacheHits"])


@pytest.mark.covers("rule.plans.once", "rule.plans.answers")
async def test_page_without_a_vector_does_not_invalidate_the_cache(shop: Path) -> None:
    settings, embedder = settings_of(shop), HashEmbedder()
    with (
        Index(settings.forest, embedder=embedder) as forest,
        Index(settings.map, embedder=embedder) as agreed,
    ):
        forest.complete()
        context = GatewayContext(settings, Local(forest), agreed, forest, LazyEmbedder(settings))
        assert await hits(context) == 0
        assert forest.store.pending_count() == 1  # the page of that plan
        assert forest.freshness().pending == 0  # but answers are complete without it
        assert await hits(context) == 1
        (shop / "src" / "new.py").write_text("def cart_total(): ...\n", "utf-8")
        forest.complete(words_only=True)
        assert forest.freshness().pending == 2  # the page and a source file
        assert [await hits(context), await hits(context)] == [0, 0]
        forest.complete()
        assert [await hits(context), await hits(context)] == [0, 1]
