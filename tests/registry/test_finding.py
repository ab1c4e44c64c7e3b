import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.config import load_settings
from code_intel.embedding.lazy import LazyEmbedder
from code_intel.records import FAIR_SCORE, VERY_GOOD_SCORE
from code_intel.registry import Command, bm25
from code_intel.registry.finding import find
from code_intel.registry.loading import LoadedRegistry
from code_intel.registry.meaning import NO_MODEL, CommandVectors
from registry.embedders import Broken, Gated, Hashed, loaded_of, many, meanings_of
from registry.small_registries import SEVEN

EXAMPLE = (
    Command("climpt-git", "decide-branch", "working-branch",
            "Analyze task content and decide whether to create a new branch"),
    Command("climpt-git", "find-oldest", "descendant-branch", "最古の関連ブランチを検索・マージ"),
    Command("climpt-git", "group-commit", "unstaged-changes",
            "Group file changes by semantic proximity and execute multiple commits sequentially"),
    Command("climpt-git", "list-select", "pr-branch", "PR付きブランチ一覧から次のターゲット選択"),
    Command("climpt-git", "merge-up", "base-branch", "派生ブランチを親ブランチにマージ"),
    Command("climpt-meta", "build", "frontmatter", "C3L v0.5 準拠 frontmatter 生成"),
    Command("climpt-meta", "create", "instruction", "新規 instruction ファイル作成"),
)  # fmt: skip
"""Seed 001's registry.

Two commands are in English, as in its example, and the others are as in its list.
"""
VOCABULARY = (
    "create",
    "new",
    "merge",
    "branch",
    "commit",
    "files",
    "the",
    "PR",
    "変更",
    "ブランチ",
    "マージ",
    "天気",
    "zebra",
)
QUERIES = st.lists(
    st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=6).map(" ".join),
    min_size=1,
    max_size=3,
)


def names(
    loaded: LoadedRegistry,
    *queries: str,
    command_vectors: CommandVectors | None = None,
    top: int = 3,
) -> list[str]:
    return [
        one.command.c2
        for one in find(loaded, queries, command_vectors=command_vectors, top_n=top).results
        if max(one.ranks) > 0
    ]


@pytest.fixture(scope="module")
def hashed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandVectors]:
    with meanings_of(Hashed(), tmp_path_factory.mktemp("vectors")) as meanings:
        yield meanings


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("create new", [("create", 3.080608), ("decide-branch", 2.227075)]),
        (
            "merge branch",
            [("merge-up", 2.393879), ("find-oldest", 1.881151), ("decide-branch", 0.883524)],
        ),
    ],
)
def test_without_a_model_the_golden_order_and_raw_scores_hold(
    query: str, expected: list[tuple[str, float]]
) -> None:
    found = find(loaded_of(SEVEN), [query], command_vectors=None, top_n=len(expected))
    assert [one.command.c2 for one in found.results] == [name for name, _ in expected]
    for one, (_, raw) in zip(found.results, expected, strict=True):
        assert math.isclose(one.bm25_score, raw, abs_tol=1e-6)
    assert found.degraded == (f"{NO_MODEL} This search used words only.",)


@pytest.mark.parametrize("limit", range(1, 9))
def test_commands_below_the_floor_come_last_and_are_unlikely(limit: int) -> None:
    found = find(loaded_of(SEVEN), ["create new"], command_vectors=None, top_n=limit).results
    likely, unlikely = found[:2], found[2:]
    assert len(found) == min(limit, 7)
    assert [one.command.c2 for one in likely] == ["create", "decide-branch"][:limit]
    assert not any(one.is_unlikely for one in likely)
    assert all(one.is_unlikely and one.ranks == (-1,) for one in unlikely)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("変更をグループ化してコミット", "group-commit"),
        ("merges", "merge-up"),
        ("frontmatterを生成", "build"),
    ],
)
def test_without_a_model_japanese_and_inflected_words_match(query: str, first: str) -> None:
    assert names(loaded_of(SEVEN), query)[0] == first


@pytest.mark.parametrize("query", ["今日の天気", "zebra", "?!", "🙂", "\u200b"])
def test_unrelated_query_finds_nothing_by_words(query: str) -> None:
    assert names(loaded_of(SEVEN), query) == []


def test_english_query_finds_a_japanese_description() -> None:
    assert names(loaded_of(EXAMPLE), "search the oldest branch")[0] == "find-oldest"


@given(queries=QUERIES, top=st.integers(0, 9), by=st.sampled_from(["words", "meaning"]))
def test_scores_fall_and_commands_are_unique(
    hashed: CommandVectors, queries: list[str], top: int, by: str
) -> None:
    loaded = loaded_of([*SEVEN, *SEVEN[:2]])
    found = find(
        loaded, queries, command_vectors=hashed if by == "meaning" else None, top_n=top
    ).results
    scores = [one.score for one in found]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= value <= 1 for value in scores)
    assert len({one.command.key for one in found}) == len(found) == min(top, 7)
    for one in found:
        assert one.bm25_score >= 0
        assert len(one.ranks) == len(queries)
        assert by == "words" or all(rank >= 1 for rank in one.ranks)


def test_several_queries_are_fused_by_rank(hashed: CommandVectors) -> None:
    loaded = loaded_of(SEVEN)
    queries = ("merge commit", "branch base")
    for meanings in (None, hashed):
        alone = [names(loaded, query, command_vectors=meanings, top=9) for query in queries]
        found = find(loaded, queries, command_vectors=meanings, top_n=9).results
        assert len(found) == 7
        for one in found:
            places = tuple(
                ranking.index(one.command.c2) + 1 if one.command.c2 in ranking else -1
                for ranking in alone
            )
            assert one.ranks == places
        worth = [sum(1 / (60 + rank) for rank in one.ranks if rank > 0) for one in found]
        assert worth == sorted(worth, reverse=True)
    assert -1 in {
        rank for one in find(loaded, queries, command_vectors=None).results for rank in one.ranks
    }


def test_first_command_of_a_name_is_found() -> None:
    twice = (
        Command("git", "merge", "branch", "Merge one"),
        Command("git", "merge", "branch", "Merge two"),
    )
    found = find(loaded_of(twice), ["merge"], command_vectors=None, top_n=2).results
    assert [one.command.description for one in found] == ["Merge one"]


def test_empty_registry_or_no_query_finds_nothing(hashed: CommandVectors) -> None:
    assert find(loaded_of([]), ["merge"], command_vectors=hashed).results == ()
    assert find(loaded_of(SEVEN), [], command_vectors=hashed).results == ()


def test_single_command_is_found_by_meaning(hashed: CommandVectors) -> None:
    assert names(loaded_of(SEVEN[4:5]), "merge up base branch", command_vectors=hashed) == [
        "merge-up"
    ]


def test_failing_model_falls_back_to_words(tmp_path: Path) -> None:
    with meanings_of(Broken(), tmp_path) as meanings:
        found = find(loaded_of(SEVEN), ["merge branch"], command_vectors=meanings)
    assert found.degraded == ("embedding: The model is damaged. This search used words only.",)
    assert found.results == find(loaded_of(SEVEN), ["merge branch"], command_vectors=None).results


def test_large_registry_uses_words_until_vectors_are_ready(tmp_path: Path) -> None:
    embedder, loaded = Gated(), loaded_of(many(500))
    with meanings_of(embedder, tmp_path) as meanings:
        found = find(loaded, ["thing number 77"], command_vectors=meanings)
        assert found.results[0].command.c2 == "do-77"
        assert found.degraded == (
            "embedding: 500 of 500 commands have no vector yet. This search used words only.",
        )
        embedder.gate.set()


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandVectors]:
    folder = tmp_path_factory.mktemp("real")
    embedder = LazyEmbedder(load_settings(folder, {}), corpus="forest")
    with meanings_of(embedder, folder) as meanings:
        assert meanings.of(loaded_of(EXAMPLE), 60)[1] == ""
        yield meanings


@pytest.mark.model
def test_example_of_seed_001_is_found_first(real: CommandVectors) -> None:
    found = find(
        loaded_of(EXAMPLE), ["変更をグループ化してコミット"], command_vectors=real, top_n=7
    )
    assert found.degraded == ()
    first, *others = found.results
    assert (first.command.c2, first.command.c3) == ("group-commit", "unstaged-changes")
    assert first.score >= VERY_GOOD_SCORE
    assert first.bm25_score == 0
    assert all(one.score < FAIR_SCORE for one in others)


@pytest.mark.model
@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("put my edits into several commits", "group-commit"),
        ("branchを切るべきか判断して", "decide-branch"),
        ("bring my feature branch back into its parent", "merge-up"),
        ("次に取り組むPRを選びたい", "list-select"),
        ("write a new instruction", "create"),
    ],
)
def test_query_and_description_may_differ_in_language(
    real: CommandVectors, query: str, first: str
) -> None:
    assert names(loaded_of(EXAMPLE), query, command_vectors=real)[0] == first


@pytest.mark.model
@pytest.mark.parametrize(
    "query",
    ["今日の天気", "best pizza in town", "おすすめのラーメン屋", "who won the match yesterday"],
)
def test_unrelated_queries_find_only_unlikely_commands(real: CommandVectors, query: str) -> None:
    found = find(loaded_of(EXAMPLE), [query], command_vectors=real).results
    assert len(found) == 3
    assert all(one.is_unlikely for one in found)


DATA = Path(__file__).parents[2] / "benchmarks" / "data" / "commands"


@pytest.mark.parametrize(("name", "queries"), [("tuning", 150), ("heldout", 150), ("outside", 80)])
def test_benchmark_sets_cover_every_command_in_both_languages(name: str, queries: int) -> None:
    registry = json.loads((DATA / name / "commands.json").read_text("utf-8"))
    lines = (DATA / name / "queries.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    keys = {(one["c1"], one["c2"], one["c3"]) for one in registry["tools"]["commands"]}
    labelled = [tuple(key) for row in rows for key in row["relevant"]]
    assert len(keys) >= 60
    assert len(rows) >= queries
    assert set(labelled) == keys
    assert len({row["id"] for row in rows}) == len(rows)
    assert {row["lang"] for row in rows} == {"en", "ja"}


@pytest.mark.model
def test_meaning_finds_three_times_as_much_as_bm25_on_heldout_queries(
    real: CommandVectors,
) -> None:
    rows = [
        json.loads(line)
        for line in (DATA / "heldout" / "queries.jsonl").read_text("utf-8").splitlines()
    ]
    registry = json.loads((DATA / "heldout" / "commands.json").read_text("utf-8"))
    commands = [
        Command(one["c1"], one["c2"], one["c3"], one["description"])
        for one in registry["tools"]["commands"]
    ]
    loaded = loaded_of(commands)

    def found(meanings: CommandVectors | None, index: bm25.BM25Index | None = None) -> int:
        count = 0
        for row in rows[::4]:
            if index is not None:
                three = [index.commands[at] for at, _ in index.search(row["query"])[:3]]
            else:
                three = [
                    one.command
                    for one in find(loaded, [row["query"]], command_vectors=meanings).results
                ]
            count += any([one.c1, one.c2, one.c3] in row["relevant"] for one in three)
        return count

    assert found(real) >= 3 * found(None, loaded.index) > 0
