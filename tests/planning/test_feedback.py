from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.foundation.text import hidden_character
from code_intel.planning import feedback as said
from code_intel.planning.evaluation import evaluate
from code_intel.planning.feedback import described
from code_intel.planning.goals import defined_names
from code_intel.planning.records import DEFAULT_CONFIDENCE, Evaluation, Expected, Metrics, Result
from code_intel.records import Language

RESULTS = (
    Result("docs/a.md", "VitePress config: export default defineConfig({themeConfig})", 0.2, 1.0),
    Result("b.ts", "vitepress theme themeConfig", 0.2, 0.9, "site.themeConfig"),
    Result("c.ts", "vitepress? themeConfig no", 0.2, 0.9),
)
EXPECTED = Expected(("config", "vitepress", "threshold"), (r"defineConfig\(", r"it\("), 5)


def feedback(
    evaluation: Evaluation, results: Sequence[Result], expected: Expected, language: Language
) -> str:
    return described("", evaluation, results, expected, language)[0]


def suggestions(
    query: str,
    evaluation: Evaluation,
    results: Sequence[Result],
    expected: Expected,
    language: Language,
) -> tuple[str, ...]:
    return described(query, evaluation, results, expected, language)[1]


def test_feedback_names_confidence_and_missing_items() -> None:
    found = evaluate(RESULTS, EXPECTED)
    assert feedback(found, RESULTS, EXPECTED, "en") == (
        f"Confidence 0.17 of {DEFAULT_CONFIDENCE:.2f}. In no result so far: `threshold`, `it\\(`. "
        "3 of 5 results. The results are not similar to the query (0.20)."
    )
    text = feedback(found, RESULTS, EXPECTED, "ja")
    for part in (
        f"確信度 0.17(要求 {DEFAULT_CONFIDENCE:.2f})",
        "まだどの結果にもないもの: `threshold`、`it\\(`",
        "結果は 3 件",
        "クエリにあまり似ていません",
    ):
        assert part in text


@pytest.mark.parametrize(
    ("language", "words"),
    [("en", "Confidence 0.17, 0.10 was"), ("ja", "確信度 0.17(要求 0.10に到達)")],
)
def test_feedback_of_a_sufficient_result_names_missing_items(
    language: Language, words: str
) -> None:
    expected = Expected(("vitepress", "zebra"), confidence=0.1)
    found = evaluate(RESULTS, expected)
    text = feedback(found, RESULTS, expected, language)
    assert text.startswith(words)
    assert "`zebra`" in text
    assert suggestions("vitepress", found, RESULTS, expected, language) == ()


@pytest.mark.parametrize(
    ("language", "words"), [("en", "Nothing was found"), ("ja", "何も見つかりませんでした")]
)
def test_feedback_says_that_nothing_was_found(language: Language, words: str) -> None:
    found = evaluate((), EXPECTED)
    text = feedback(found, (), EXPECTED, language)
    assert text.startswith(words)
    assert "`threshold`" in text
    assert suggestions("zebra", found, (), EXPECTED, language)


def test_suggestions_come_from_the_evidence() -> None:
    likely = tuple(replace(each, similarity=0.8) for each in RESULTS)
    found = evaluate(likely, EXPECTED)
    assert suggestions("vitepress zebra the config", found, likely, EXPECTED, "en") == (
        "Add `threshold`: expected, but in no result so far.",
        "Add words for `it\\(`: no match so far.",
        "Add `themeConfig`: defined in the best results.",
    )
    japanese = suggestions("vitepress zebra the config", found, likely, EXPECTED, "ja")
    assert [each.split("`")[1] for each in japanese] == ["threshold", "it\\(", "themeConfig"]


def test_names_of_unlike_results_are_not_suggested() -> None:
    found = evaluate(RESULTS, EXPECTED)
    *_, last = suggestions("vitepress zebra", found, RESULTS, EXPECTED, "en")
    assert last == "Use other words, or name a symbol or file."
    assert "themeConfig" not in " ".join(suggestions("zebra", found, RESULTS, EXPECTED, "en"))


def test_searched_word_without_results_is_not_suggested_again() -> None:
    found = evaluate(RESULTS, EXPECTED)
    lines = suggestions("vitepress threshold", found, RESULTS, EXPECTED, "en")
    assert lines
    assert not any(each.startswith("Add `threshold`") for each in lines)


def test_only_names_of_definitions_in_the_best_results_are_suggested() -> None:
    assert defined_names(RESULTS, "vitepress") == ["themeConfig"]
    assert defined_names(RESULTS, "vitepress theme config themeConfig") == []
    assert defined_names(RESULTS[:1], "vitepress") == []


def test_score_is_not_rounded_up_to_the_confidence() -> None:
    nearly = Evaluation(Metrics(*[0.699] * 6), 0.5, DEFAULT_CONFIDENCE - 0.001)
    assert feedback(nearly, RESULTS, EXPECTED, "en").startswith(
        f"Confidence {DEFAULT_CONFIDENCE - 0.01:.2f} of {DEFAULT_CONFIDENCE:.2f}"
    )
    reached = Evaluation(Metrics(*[0.7] * 6), 0.5, DEFAULT_CONFIDENCE)
    assert feedback(reached, RESULTS, EXPECTED, "en").startswith(
        f"Confidence {DEFAULT_CONFIDENCE:.2f}, {DEFAULT_CONFIDENCE:.2f} was requested"
    )


def test_every_sentence_exists_in_both_languages() -> None:
    rows = [each for each in vars(said).values() if isinstance(each, said.Phrase)]
    assert len(rows) > 10
    for row in rows:
        assert row.en.isascii()
        assert not row.ja.isascii()


def test_names_in_feedback_are_short_single_line_and_few() -> None:
    expected = Expected(("a\nb\u202e`c", "x" * 200, *(f"word{at}zz" for at in range(9))))
    found = evaluate(RESULTS, expected)
    text = feedback(found, RESULTS, expected, "en")
    assert "`a b\\u202e'c`" in text
    assert "\n" not in text
    assert "\u202e" not in text
    assert "x" * 100 not in text
    assert " and 6 more" in text


@given(
    st.text(max_size=80),
    st.lists(st.text(max_size=12), max_size=4),
    st.lists(st.text(max_size=60), max_size=3),
    st.sampled_from(["ja", "en"]),
)
def test_feedback_is_short_and_visible(
    query: str, keywords: list[str], texts: list[str], language: Language
) -> None:
    results = [Result(f"{at}", text, 0.1) for at, text in enumerate(texts)]
    expected = Expected(tuple(keywords))
    found = evaluate(results, expected)
    lines = suggestions(query, found, results, expected, language)
    text = feedback(found, results, expected, language)
    assert len(lines) <= 5
    assert all(not hidden_character(each) and len(each) < 500 for each in (*lines, text))
