"""Check that answers of searches are cached while the index is unchanged."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from code_intel.config import load_settings
from code_intel.forest.ranking.search import search as ask_forest
from code_intel.index.facade import Index
from code_intel.planning import place, queries
from code_intel.planning.queries import QueryKey
from code_intel.planning.records import FoundResults, Result
from kept_plans import iteration, plan, result

pytestmark = pytest.mark.anyio
KEY = QueryKey("forest, words and vectors", "A1", "engine")


def entries(root: Path) -> list[Path]:
    return list(root.iterdir())


class RecordingSearch:
    """A search that records its queries."""

    def __init__(self, *degraded: str) -> None:
        self.queries: list[str] = []
        self.degraded = degraded

    async def __call__(self, query: str) -> FoundResults:
        """Return the query as the result."""
        self.queries.append(query)
        return FoundResults((result(text=query),), self.degraded)


async def test_repeated_query_is_answered_from_the_cache(tmp_path: Path) -> None:
    recorder = RecordingSearch()
    search = queries.cached(tmp_path, recorder, KEY)
    first, again = await search("login check"), await search("ｌｏｇｉｎ  check")
    assert (first.cached, again.cached) == (False, True)
    assert again.results == first.results
    assert recorder.queries == ["login check"]


@pytest.mark.parametrize(
    "changed",
    [{"revision": "A2"}, {"source": "map"}, {"engine": ""}, {"limit": 50}, {"filters": "docs"}],
)
async def test_cache_key_has_everything_the_answer_depends_on(
    tmp_path: Path, changed: dict[str, Any]
) -> None:
    recorder = RecordingSearch()
    await queries.cached(tmp_path, recorder, KEY)("login")
    assert not (await queries.cached(tmp_path, recorder, replace(KEY, **changed))("login")).cached
    assert not (await queries.cached(tmp_path, recorder, KEY)("Login")).cached
    assert (await queries.cached(tmp_path, recorder, KEY)("login")).cached


@pytest.mark.parametrize(
    ("key", "degraded"),
    [
        (replace(KEY, revision=""), ()),
        (replace(KEY, is_whole=False), ()),
        (KEY, ("embedding: the model failed",)),
    ],
)
async def test_incomplete_answers_are_not_cached(
    tmp_path: Path, key: QueryKey, degraded: tuple[str, ...]
) -> None:
    search = queries.cached(tmp_path, RecordingSearch(*degraded), key)
    assert [(await search("login")).cached for _ in range(2)] == [False, False]
    assert entries(tmp_path) == []


async def test_answers_without_a_model_are_cached_for_word_searches(tmp_path: Path) -> None:
    search = queries.cached(tmp_path, RecordingSearch("embedding: off"), replace(KEY, engine=""))
    await search("login")
    assert (await search("login")).cached


async def test_error_is_not_cached(tmp_path: Path) -> None:
    async def fails(query: str) -> FoundResults:
        raise LookupError(query)

    with pytest.raises(LookupError):
        await queries.cached(tmp_path, fails, KEY)("login")
    assert entries(tmp_path) == []


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"version": 1, "query": 3}', b'{"version": 9}']
)
async def test_damaged_answer_is_replaced(tmp_path: Path, content: bytes) -> None:
    recorder = RecordingSearch()
    search = queries.cached(tmp_path, recorder, KEY)
    await search("login")
    path = tmp_path / place.QUERIES / queries.name_of(KEY, "login")
    path.write_bytes(content)
    assert not (await search("login")).cached
    assert (await search("login")).cached
    assert recorder.queries == ["login", "login"]


async def test_answer_of_another_query_is_ignored(tmp_path: Path) -> None:
    recorder = RecordingSearch()
    search = queries.cached(tmp_path, recorder, KEY)
    await search("login")
    await search("logout")
    folder = tmp_path / place.QUERIES
    (folder / queries.name_of(KEY, "logout")).replace(folder / queries.name_of(KEY, "login"))
    assert (await search("login")).results[0].text == "login"
    assert recorder.queries == ["login", "logout", "login"]


async def test_cached_answer_names_its_plan_and_score(tmp_path: Path) -> None:
    search = queries.cached(tmp_path, RecordingSearch(), KEY)
    for query in ("login", "login token"):
        await search(query)
    done = plan(iterations=(iteration(1, "login", 0.4), iteration(2, "login token", 0.9)))
    queries.note(tmp_path, KEY, done)
    known = queries.find(tmp_path, KEY, "login token")
    assert known is not None
    assert (known.plan_id, known.evaluation_score) == (done.id, 0.9)
    assert known.refinement_history == ("login", "login token")
    data = (tmp_path / place.QUERIES / queries.name_of(KEY, "login token")).read_bytes()
    assert {"planId", "evaluationScore", "refinementHistory", "results"} <= json.loads(data).keys()
    queries.note(tmp_path, KEY, done)
    assert queries.find(tmp_path, KEY, "never asked") is None


async def test_least_recently_used_answers_are_evicted(tmp_path: Path) -> None:
    tmp_path.joinpath("config.json").write_text('{"limits": {"queries": 2}}', encoding="utf-8")
    search = queries.cached(tmp_path, RecordingSearch(), KEY)
    for query in ("one", "two", "one", "three"):
        await search(query)
    assert queries.find(tmp_path, KEY, "two") is None
    assert queries.find(tmp_path, KEY, "one")
    assert queries.find(tmp_path, KEY, "three")


async def test_unwritable_cache_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "cache").symlink_to(tmp_path / "elsewhere")
    found = await queries.cached(tmp_path, RecordingSearch(), KEY)("login")
    assert found.results[0].text == "login"
    (warning,) = found.degraded
    assert warning.startswith("cache: ")
    assert "is a link" in warning


@pytest.mark.covers("rule.plans.answers")
async def test_edited_file_invalidates_cached_answers(tmp_path: Path) -> None:
    source = tmp_path / "auth.py"
    source.write_text("def login():\n    return 1\n", encoding="utf-8")
    with Index(load_settings(tmp_path, {}).forest) as index:
        index.complete(words_only=True)

        async def search(query: str) -> FoundResults:
            hits = ask_forest(index.store, query, None, top_k=5)
            return FoundResults(tuple(Result(hit.document, hit.chunk, 0.0) for hit in hits))

        async def ask() -> FoundResults:
            key = replace_revision(index)
            return await queries.cached(tmp_path / ".gistdex", search, key)("login")

        def replace_revision(index: Index) -> QueryKey:
            return replace(KEY, revision=index.store.revision())

        await ask()
        index.complete(words_only=True)
        assert (await ask()).cached
        source.write_text("def login():\n    return 2\n", encoding="utf-8")
        index.complete(words_only=True)
        fresh = await ask()
        assert not fresh.cached
        assert "return 2" in fresh.results[0].text


@pytest.mark.covers("rule.plans.answers")
async def test_answers_of_an_interrupted_plan_are_reused(tmp_path: Path) -> None:
    recorder, interrupted = RecordingSearch(), anyio.CancelScope()

    async def slow(query: str) -> FoundResults:
        if query == "second":
            interrupted.cancel()
            await anyio.sleep_forever()
        return await recorder(query)

    search = queries.cached(tmp_path, slow, KEY)
    with interrupted:
        for query in ("first", "second"):
            await search(query)
    assert interrupted.cancelled_caught
    again = queries.cached(tmp_path, recorder, KEY)
    assert [(await again(query)).cached for query in ("first", "second")] == [True, False]
    assert recorder.queries == ["first", "second"]


async def test_empty_answer_is_cached(tmp_path: Path) -> None:
    async def nothing(query: str) -> FoundResults:
        del query
        return FoundResults(())

    search = queries.cached(tmp_path, nothing, KEY)
    await search("login")
    assert await search("login") == FoundResults((), (), cached=True)
    assert replace(result(), text="").text == ""
