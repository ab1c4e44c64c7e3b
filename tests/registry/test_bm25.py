"""Check BM25 against worked numbers and a second implementation."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.registry import Command, search
from code_intel.registry.bm25 import BM25Index
from registry.small_registries import SEVEN, THREE


def plain_tokens(text: str) -> list[str]:
    """Split at white space, and add the parts at `-` and `_`.

    The small registries have no camelCase.
    """
    words = text.lower().split()
    return words + [
        part
        for word in words
        if "-" in word or "_" in word
        for part in word.replace("_", "-").split("-")
    ]


def plain_scores(commands: Sequence[Command], query: str) -> list[float]:
    """Compute the formula of seed 000."""
    documents = [plain_tokens(f"{c.c1} {c.c2} {c.c3} {c.description}") for c in commands]
    average = sum(map(len, documents)) / len(documents)
    scores = []
    for document in documents:
        score = 0.0
        for term in plain_tokens(query):
            df, f = sum(term in other for other in documents), document.count(term)
            idf = math.log((len(documents) - df + 0.5) / (df + 0.5) + 1)
            score += idf * f * (1.2 + 1) / (f + 1.2 * (1 - 0.75 + 0.75 * len(document) / average))
        scores.append(score)
    return scores


def most(index: BM25Index, query: str) -> float:
    """Return the sum of the weights of a query's terms."""
    return math.fsum(map(index.idf, index.terms(query)))


def by_position(commands: Sequence[Command], query: str) -> list[float]:
    found = dict(BM25Index(commands).search(query))
    return [found.get(position, 0.0) for position in range(len(commands))]


def close(numbers: Sequence[float], tolerance: float = 5e-7) -> object:
    return pytest.approx(list(numbers), abs=tolerance)


@pytest.mark.parametrize(
    ("query", "scores", "shares"),
    [
        ("group commit", (2.183468, 0, 0), (1.0, 0, 0)),
        ("branch", (0, 1.515326, 0), (0, 1.0, 0)),
        ("build changes", (1.276819, 0, 1.463924), (0.6509, 0, 0.7463)),
        ("git", (0.434457, 0.455109, 0), (0.9244, 0.9683, 0)),
    ],
)
def test_three_commands_score_as_worked_out(
    query: str, scores: tuple[float, ...], shares: tuple[float, ...]
) -> None:
    assert plain_scores(THREE, query) == close(scores)
    assert by_position(THREE, query) == close(scores)
    whole = most(BM25Index(THREE), query)
    assert [min(1.0, score / whole) for score in by_position(THREE, query)] == close(shares, 5e-5)


def test_weight_of_a_term_falls_with_the_number_of_commands_that_have_it() -> None:
    index = BM25Index(THREE)
    assert [index.idf("commit"), index.idf("git")] == close((0.980829, 0.470004))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("create new", {"create": 3.080608, "decide-branch": 2.227075}),
        (
            "merge branch",
            {
                "merge-up": 2.393879,
                "find-oldest": 1.881151,
                "decide-branch": 0.883524,
                "list-select": 0.509346,
            },
        ),
        ("変更をグループ化してコミット", {}),
    ],
)
def test_seven_commands_score_as_worked_out(query: str, expected: dict[str, float]) -> None:
    found = search(SEVEN, query, top_n=7)
    assert [one.c2 for one in found] == list(expected)
    assert [one.score for one in found] == close(list(expected.values()))
    assert plain_scores(SEVEN, query) == close(by_position(SEVEN, query), 1e-12)


def test_search_returns_three_commands_by_default() -> None:
    assert len(search(SEVEN, "branch")) == 3
    assert len(search(SEVEN, "branch", 10)) == 4
    assert search(SEVEN, "branch", 0) == []
    assert search(SEVEN, "branch", -1) == []


def test_only_the_first_command_of_a_name_is_indexed() -> None:
    again = Command(*SEVEN[0].key[1:], description="merge merge merge")
    assert search([*SEVEN, again], "merge branch", 9) == search(SEVEN, "merge branch", 9)
    assert BM25Index([*SEVEN, again]).commands == SEVEN


def test_commands_with_equal_scores_keep_the_order_of_the_registry() -> None:
    descriptions = ["the same words", "same", "words and the same"]
    commands = [Command("c", "do", f"thing{n:03}", descriptions[n % 3]) for n in range(600)]
    found = search(commands, "same words", 600)
    by_score: dict[float, list[str]] = {}
    for one in found:
        by_score.setdefault(one.score, []).append(one.c3)
    assert [len(names) for names in by_score.values()] == [200, 200, 200]
    assert all(names == sorted(names) for names in by_score.values())


def test_repeated_query_term_counts_each_time() -> None:
    once, twice = (
        by_position(SEVEN, "merge branch"),
        by_position(SEVEN, "merge branch merge branch"),
    )
    assert twice == close([2 * score for score in once], 1e-12)


def test_unknown_word_lowers_the_share_but_not_the_score() -> None:
    index = BM25Index(SEVEN)
    assert index.search("merge zebra") == index.search("merge")
    assert most(index, "merge zebra") > most(index, "merge") > 0
    assert index.idf("zebra") == pytest.approx(math.log(7.5 / 0.5 + 1))


@pytest.mark.parametrize("query", ["", "   ", "zebra", "変更", "-", "\x00"])
def test_query_without_a_match_returns_an_empty_list(query: str) -> None:
    assert search(SEVEN, query) == []


@pytest.mark.parametrize("query", ["", "merge branch"])
def test_empty_registry_returns_nothing(query: str) -> None:
    index = BM25Index([])
    assert (index.search(query), index.commands) == ([], ())
    assert math.isfinite(most(index, query))


def test_registry_of_one_command_is_searchable() -> None:
    (found,) = search([SEVEN[0]], "branch")
    assert found.score > 0


def test_commands_without_words_are_never_found() -> None:
    blank = [Command("", "", "", ""), Command(" ", "", "", "")]
    assert search(blank, "anything") == []
    assert search([*blank, *THREE], "branch")[0].c2 == "decide-branch"


def test_case_and_width_of_a_query_are_ignored() -> None:
    assert search(SEVEN, "ＭＥＲＧＥ　Branch", 9) == search(SEVEN, "merge branch", 9)


def test_camel_case_is_found_by_its_parts() -> None:
    command = Command("git", "groupCommit", "changes", "one step")
    assert [one.c2 for one in search([*SEVEN, command], "group")] == ["groupCommit", "group-commit"]


def test_index_can_use_another_tokenizer() -> None:
    index = BM25Index(SEVEN, lambda text: [letter for letter in text if letter == "5"])
    ((at, score),) = index.search("5")
    assert (index.commands[at].c2, score) == ("build", index.scores(["5"])[at])


texts = st.lists(
    st.sampled_from(
        ["create", "new_file", "merge-up", "branch", "the", "PR", "a", "変更", "fooBar"]
    ),
    max_size=6,
)
commands = st.lists(
    st.builds(Command, *[st.sampled_from(["a", "git", "x-y"])] * 3, texts.map(" ".join)), max_size=8
)


@given(commands, texts.map(" ".join))
def test_scores_are_finite_positive_and_sorted(registry: list[Command], query: str) -> None:
    index = BM25Index(registry)
    found = index.search(query)
    scores = [score for _, score in found]
    assert all(math.isfinite(score) and score > 0 for score in scores)
    assert scores == sorted(scores, reverse=True)
    assert len({position for position, _ in found}) == len(found)
    assert all(score <= most(index, query) * 2.2 + 1e-9 for score in scores)


@given(commands, texts.map(" ".join), st.integers(0, 5))
def test_limited_search_is_a_prefix_of_the_full_one(
    registry: list[Command], query: str, few: int
) -> None:
    assert search(registry, query, few) == search(registry, query, len(registry))[:few]
