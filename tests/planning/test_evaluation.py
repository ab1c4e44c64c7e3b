import math
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.errors import UsageError
from code_intel.planning.evaluation import (
    PARTIAL,
    WEIGHTS,
    chance_of_first,
    evaluate,
    score_of,
    status_of,
)
from code_intel.planning.records import Evaluation, Expected, Metrics, Mode, Result

SEED = (
    Result("docs/config.md", "// VitePress config\nexport default defineConfig({})", 0.82),
    Result("theme/index.ts", "VitePress reads the config of a theme", 0.74),
    Result("README.md", "How to install", 0.40),
)
SEED_EXPECTED = Expected(
    ("config", "vitepress", "export default"), (r"defineConfig\(",), min_matches=5, confidence=0.8
)


def test_metrics_and_score_are_as_worked_out() -> None:
    found = evaluate(SEED, SEED_EXPECTED)
    assert [round(value, 6) for value in found.metrics] == [
        0.555556,
        0.333333,
        0.653333,
        0.6,
        0.666667,
        1.0,
    ]
    assert found.score == 0.608889
    assert found.matched == ("config", "vitepress", "export default", r"defineConfig\(")
    assert found.unmatched == ()
    assert status_of(found, 0.8) == "partial"


def test_weights_are_those_of_the_seed_and_sum_to_1() -> None:
    assert WEIGHTS._asdict() == {
        "keyword_match": 0.25,
        "pattern_match": 0.15,
        "semantic_similarity": 0.25,
        "coverage": 0.15,
        "precision": 0.10,
        "recall": 0.10,
    }
    assert score_of(Metrics(*[1.0] * 6)) == 1.0
    for at, weight in enumerate(WEIGHTS):
        alone = Metrics(*[float(at == each) for each in range(6)])
        assert score_of(alone) == weight


def test_recall_counts_distinct_keywords() -> None:
    results = (Result("a", "alpha", 0.5), Result("b", "gamma", 0.5))
    metrics = evaluate(results, Expected(("alpha", "gamma", "omega", "sigma"))).metrics
    assert (metrics.keyword_match, metrics.recall) == (0.25, 0.5)


def test_no_results_score_0() -> None:
    for expected in (SEED_EXPECTED, Expected(()), Expected(("x",), confidence=0.0)):
        found = evaluate((), expected)
        assert (found.metrics, found.score, found.matched) == (Metrics(0, 0, 0, 0, 0, 0), 0.0, ())
        assert status_of(found, expected.confidence) == "failed"
    assert evaluate((), SEED_EXPECTED).unmatched == (*SEED_EXPECTED.keywords, r"defineConfig\(")


def test_empty_expectations_are_met() -> None:
    metrics = evaluate(SEED, Expected(("", "  "), min_matches=1)).metrics
    assert metrics._replace(semantic_similarity=0) == Metrics(1, 1, 0, 1, 1, 1)


def ranked(*scores: float, similarity: float = 0.5) -> tuple[Result, ...]:
    return tuple(Result(f"{at}.py", "login", similarity, score) for at, score in enumerate(scores))


def chance(*scores: float, similarity: float = 0.5) -> float:
    found = chance_of_first(ranked(*scores, similarity=similarity))
    assert found is not None
    return round(found, 2)


def test_chance_of_the_first_result_rises_with_its_lead() -> None:
    chances = [chance(1.0, *[score] * 3) for score in (1.0, 0.9, 0.7, 0.5, 0.2)]
    assert chances == [0.16, 0.31, 0.72, 0.94, 0.99]
    assert chance(1.0, 0.9, 0.9, 0.9, 0.1) == chances[1]  # three count


def test_chance_of_the_first_result_rises_with_its_similarity() -> None:
    chances = [chance(1.0, 0.7, 0.7, 0.7, similarity=value) for value in (0, 0.5, 1)]
    assert chances == [0.41, 0.72, 0.91]


def test_calibrated_score_of_the_map_is_the_chance_itself() -> None:
    assert chance_of_first(ranked(0.83, 0.2), "map") == 0.83
    assert chance_of_first(ranked(1.0), "map") == 1.0


def test_lower_score_in_the_first_place_is_no_lead() -> None:
    """A rule of the caller has moved it there, or the index lacks the first result now."""
    behind, level = chance_of_first(ranked(0.8, 1.0, 1.0)), chance_of_first(ranked(1.0, 1.0, 1.0))
    assert behind is not None
    assert level is not None
    assert behind < level < 0.2


def test_score_is_the_confidence_where_no_chance_is_known() -> None:
    for results in (ranked(1.0), ranked(0.0, 0.0)):  # a single result; an index without scores
        assert chance_of_first(results) is None
        found = evaluate(results, Expected(("login",)))
        assert found.confidence == found.score


def test_results_without_anything_expected_limit_the_confidence() -> None:
    results = ranked(1.0, 0.1, similarity=0.1)
    found = evaluate(results, Expected(("zebra",), (r"quokka\(",), min_matches=50))
    assert found.score <= PARTIAL
    assert found.confidence == found.score
    assert evaluate(results, Expected(("login",))).confidence == chance_of_first(results)


def test_missing_keyword_limits_the_confidence_in_strict_mode() -> None:
    expected = Expected(("login", "zebra"), confidence=0.6)
    found = evaluate(ranked(1.0, 0.1), expected, "strict")
    assert found.confidence == found.score < 0.6


@pytest.mark.parametrize(
    ("confidence", "score", "requested", "status"),
    [
        (0.7, 0.5, 0.7, "success"),
        (0.699999, 0.9, 0.7, "partial"),
        (0.1, 0.300001, 0.7, "partial"),
        (0.1, 0.3, 0.7, "failed"),
        (0.2, 0.2, 0.2, "success"),
        (0.0, 0.0, 0.0, "failed"),
        (1.0, 1.0, 1.0, "success"),
    ],
)
def test_confidence_decides_success_and_the_score_failure(
    confidence: float, score: float, requested: float, status: str
) -> None:
    evaluation = Evaluation(Metrics(*[score] * 6), score, confidence)
    assert status_of(evaluation, requested) == status


def test_strict_mode_requires_every_keyword_verbatim() -> None:
    text = "vitest test coverage"
    results = tuple(Result(f"{at}.ts", text, 1.0, 1.0 - 0.4 * at) for at in range(3))
    expected = Expected(("vitest", "test", "coverage", "Threshold"), confidence=0.5)
    fuzzy, strict = evaluate(results, expected), evaluate(results, expected, "strict")
    assert status_of(fuzzy, 0.5) == "success"
    assert status_of(strict, 0.5) == "partial"
    assert strict.unmatched == ("Threshold",)
    assert strict.metrics.precision == 0.0  # none has all of them
    lower = replace(results[0], text=f"{text} threshold")
    whole = replace(results[0], text=f"{text} Threshold")
    assert "Threshold" in evaluate((lower,), expected).matched
    assert evaluate((lower,), expected, "strict").unmatched == ("Threshold",)
    assert evaluate((whole, *results[1:]), expected, "strict").score > 0.5


def test_strict_score_rises_with_each_keyword() -> None:
    expected = Expected(("vitest", "coverage", "threshold"), min_matches=1)
    one = evaluate((Result("a", "vitest", 0.5),), expected, "strict")
    two = evaluate((Result("a", "vitest coverage", 0.5),), expected, "strict")
    assert 0 < one.score < two.score < expected.confidence


def test_semantic_mode_adds_translations_and_endings() -> None:
    results = (Result("a", "def authenticate(user): ...", 0.5),)
    expected = Expected(("認証", "authenticating"))
    assert evaluate(results, expected, "semantic").matched == ("認証", "authenticating")
    assert evaluate(results, expected, "fuzzy").matched == ()


def test_duplicate_results_count_once() -> None:
    assert evaluate((*SEED, *SEED), SEED_EXPECTED) == evaluate(SEED, SEED_EXPECTED)


def test_invalid_pattern_is_named_by_its_field() -> None:
    with pytest.raises(UsageError, match=r"expectedResults\.contentPatterns\[1\]"):
        evaluate(SEED, Expected(("x",), ("fine", "(?=x)")))
    with pytest.raises(UsageError, match=r"contentPatterns\[2\]"):
        evaluate(SEED, Expected(("x",), ("fine", "fine", "(?=x)")))


words = st.sampled_from(["config", "Config", "vitepress", "export default", "認証", "", "x y", "?"])
texts = st.lists(words, max_size=5).map(" ".join) | st.text(max_size=30)
shares = st.floats() | st.sampled_from([math.nan, math.inf, -math.inf, -1.0, 2.0])
results_ = st.lists(st.builds(Result, st.sampled_from("abc"), texts, shares), max_size=6)
expected_ = st.builds(
    Expected,
    st.lists(words | st.text(max_size=8), max_size=5).map(tuple),
    st.lists(st.sampled_from([r"config", r"\d+", "^$", "(a|b)*"]), max_size=3).map(tuple),
    st.integers(1, 50),
    st.floats(0, 1),
)
modes = st.sampled_from(["strict", "fuzzy", "semantic"])


@given(results_, expected_, modes)
def test_metrics_and_score_are_between_0_and_1(
    results: list[Result], expected: Expected, mode: Mode
) -> None:
    found = evaluate(results, expected, mode)
    assert all(0 <= value <= 1 for value in (*found.metrics, found.score))
    assert not set(found.matched) & set(found.unmatched) or set(expected.keywords) & set(
        expected.patterns
    )
    if not results:
        assert found.score == 0


@given(results_, expected_, modes, st.randoms(use_true_random=False))
def test_order_of_keywords_and_results_does_not_matter(
    results: list[Result], expected: Expected, mode: Mode, chance: random.Random
) -> None:
    keywords, shuffled = list(expected.keywords), list(dict.fromkeys(results))
    distinct = list({(each.document, each.text): each for each in results}.values())
    chance.shuffle(keywords)
    shuffled = distinct.copy()
    chance.shuffle(shuffled)
    one = evaluate(distinct, expected, mode)
    other = evaluate(shuffled, replace(expected, keywords=tuple(keywords)), mode)
    assert other.score == pytest.approx(one.score, abs=1e-5)
    assert sorted(other.matched) == sorted(one.matched)


@given(results_.filter(bool), expected_, modes, st.data())
def test_additional_keyword_never_lowers_the_score(
    results: list[Result], expected: Expected, mode: Mode, data: st.DataObject
) -> None:
    distinct = list({(each.document, each.text): each for each in results}.values())
    at = data.draw(st.integers(0, len(distinct) - 1))
    keyword = data.draw(st.sampled_from([*expected.keywords, "config"]))
    more = replace(distinct[at], text=f"{distinct[at].text} {keyword}", document=f"{at}!")
    less = replace(distinct[at], document=f"{at}!")
    plain = replace(expected, patterns=())
    before = evaluate([*distinct[:at], less, *distinct[at + 1 :]], plain, mode)
    after = evaluate([*distinct[:at], more, *distinct[at + 1 :]], plain, mode)
    assert after.score >= before.score


def test_japanese_keyword_and_its_translation_are_one_expectation() -> None:
    goal = ("login", "fail", "ログイン", "失敗")
    english = Result("login.py", "def login(): fail(name)", 0.5)
    japanese = Result("README.md", "ログインする。", 0.5)
    found = evaluate((english, japanese), Expected(goal, min_matches=2))
    assert (found.metrics.keyword_match, found.metrics.recall) == (3 / 4, 1)
    assert (found.matched, found.unmatched) == (("login", "fail", "ログイン"), ())
    found = evaluate((japanese,), Expected(goal, min_matches=1))
    assert (found.matched, found.unmatched) == (("ログイン",), ("fail", "失敗"))
    assert (found.metrics.keyword_match, found.metrics.recall) == (1 / 2, 1 / 2)
    strict = evaluate((english,), Expected(goal, min_matches=1), "strict")
    assert strict.unmatched == ("ログイン", "失敗")
