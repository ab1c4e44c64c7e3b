import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.foundation.text import hidden_character
from code_intel.planning import feedback as said
from code_intel.planning.evaluation import evaluate
from code_intel.planning.feedback import costliest, feedback, in_common, in_vain, suggestions
from code_intel.planning.records import Evaluation, Expected, Metrics, Result

RESULTS = (
    Result("docs/a.md", "VitePress config: export default defineConfig({themeConfig})", 0.2),
    Result("b.ts", "vitepress theme themeConfig", 0.2),
    Result("c.ts", "vitepress? themeConfig no", 0.2),
)
EXPECTED = Expected(("config", "vitepress", "threshold"), (r"defineConfig\(", r"it\("), 5)


def test_feedback_names_what_is_missing_and_what_costs_most() -> None:
    found = evaluate(RESULTS, EXPECTED)
    assert feedback(found, RESULTS, EXPECTED, "en") == (
        "0.50 of 0.70. Not found: `threshold`, `it\\(`. 3 of 5 results. "
        "The results are not similar to the query (0.20). Largest deduction: similarity to the "
        "query (-0.20)."
    )
    text = feedback(found, RESULTS, EXPECTED, "ja")
    for part in (
        "0.50(目標 0.70)",
        "見つからないもの: `threshold`、`it\\(`",
        "結果は 3 件",
        "クエリとの類似度",
    ):
        assert part in text


@pytest.mark.parametrize(("language", "words"), [("en", "Good enough"), ("ja", "十分です")])
def test_feedback_says_what_is_good_enough_and_what_is_missing_still(
    language: str, words: str
) -> None:
    expected = Expected(("vitepress", "zebra"), confidence=0.4)
    found = evaluate(RESULTS, expected)
    text = feedback(found, RESULTS, expected, language)
    assert text.startswith(words)
    assert "`zebra`" in text
    assert suggestions("vitepress", found, RESULTS, expected, language) == ()


@pytest.mark.parametrize(
    ("language", "words"), [("en", "Nothing was found"), ("ja", "何も見つかりませんでした")]
)
def test_feedback_says_that_nothing_was_found(language: str, words: str) -> None:
    found = evaluate((), EXPECTED)
    text = feedback(found, (), EXPECTED, language)
    assert text.startswith(words)
    assert "`threshold`" in text
    assert suggestions("zebra", found, (), EXPECTED, language)


def test_suggestions_come_from_the_evidence() -> None:
    found = evaluate(RESULTS, EXPECTED)
    assert suggestions("vitepress zebra the config", found, RESULTS, EXPECTED, "en") == (
        "Remove `zebra`: in no result.",
        "Add `threshold`: expected, but not found.",
        "Add words for `it\\(`: no match.",
        "Add `themeConfig`: common to the best results.",
        "Use fewer words: 3 of 5 results.",
    )
    japanese = suggestions("vitepress zebra the config", found, RESULTS, EXPECTED, "ja")
    assert [each.split("`")[1] for each in japanese[:4]] == [
        "zebra",
        "threshold",
        "it\\(",
        "themeConfig",
    ]


def test_what_was_asked_for_in_vain_is_not_asked_for_again() -> None:
    found = evaluate(RESULTS, EXPECTED)
    told = suggestions("vitepress threshold", found, RESULTS, EXPECTED, "en")
    assert told[0] == "Remove `threshold`: in no result."
    assert not any(each.startswith("Add `threshold`") for each in told)


def test_words_in_vain_are_those_no_result_has_in_any_of_its_ways() -> None:
    login = (Result("src/auth.py", "def authenticate(user): ...", 0.5),)
    assert in_vain("認証と在庫の処理", login) == ["在庫"]
    assert in_vain("the user zebra", login) == ["zebra"]
    assert in_vain("zebra quokka", login) == []  # it would leave nothing
    assert in_vain("", login) == []


def test_terms_in_common_are_in_most_of_the_best_results_and_not_in_the_query() -> None:
    assert in_common("vitepress", RESULTS) == ["themeConfig"]
    assert in_common("vitepress theme config themeConfig", RESULTS) == []
    assert in_common("vitepress", RESULTS[:1]) == []


def test_a_score_is_never_rounded_up_to_what_it_has_not_reached() -> None:
    nearly = Evaluation(Metrics(*[0.699] * 6), 0.699)
    assert feedback(nearly, RESULTS, EXPECTED, "en").startswith("0.69 of 0.70")
    reached = Evaluation(Metrics(*[0.7] * 6), 0.7)
    assert feedback(reached, RESULTS, EXPECTED, "en").startswith("Good enough: 0.70 of 0.70")


def test_the_metric_that_costs_most_is_the_one_with_the_greatest_loss() -> None:
    assert costliest(Metrics(1, 0, 0.5, 1, 1, 1)) == ("pattern_match", 0.15)
    assert costliest(Metrics(1, 1, 1, 1, 1, 0)) == ("recall", 0.10)


def test_every_sentence_is_there_in_both_languages() -> None:
    for table in (said.METRIC_NAMES, said.SUGGESTED):
        for row in table.values():
            assert row.en.isascii()
            assert not row.ja.isascii()
    assert set(said.METRIC_NAMES) == set(Metrics._fields)


def test_names_are_cut_shown_on_one_line_and_never_more_than_a_few() -> None:
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
    st.sampled_from(["ja", "en", "fr", ""]),
)
def test_whatever_comes_the_answer_is_short_and_visible(
    query: str, keywords: list[str], texts: list[str], language: str
) -> None:
    results = [Result(f"{at}", text, 0.1) for at, text in enumerate(texts)]
    expected = Expected(tuple(keywords))
    found = evaluate(results, expected)
    told = suggestions(query, found, results, expected, language)
    text = feedback(found, results, expected, language)
    assert len(told) <= 5
    assert all(not hidden_character(each) and len(each) < 500 for each in (*told, text))


def test_one_word_is_not_asked_to_be_fewer() -> None:
    for query, several in (("login", False), ("login form", True)):
        found = evaluate((), Expected(("login",)))
        told = suggestions(query, found, (), Expected(("login",)), "en")
        assert any("fewer words" in each for each in told) is several
