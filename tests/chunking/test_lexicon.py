import re
import sys
import unicodedata
from collections.abc import Callable
from importlib import resources
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.chunking import lexicon
from code_intel.chunking.lexicon import ALTERNATIVES, MAX_TERM_CHARS, dictionary, english
from code_intel.chunking.words import STOP_WORDS
from code_intel.forest.ranking.question import read

LINES = resources.files(lexicon.__package__).joinpath("japanese.tsv").read_text("utf-8")
TERMS = st.sampled_from(sorted(dictionary()))


@pytest.mark.parametrize(
    ("query", "words"),
    [
        # The longest term at a place is read.
        ("認証", ["authentication"]),
        ("木構造の走査", ["tree traversal"]),
        ("文字列の解析", ["string", "parse"]),
        ("送信者名", ["sender"]),
        ("アクセストークンの有効期限", ["access token", "expiry"]),
        # A term may mix scripts, but does not cut a loan word.
        ("レート制限", ["rate limit"]),
        ("ファイルの一括ダウンロード", ["file", "bulk download"]),
        ("サーバー側のエラー処理", ["server side", "error handling"]),
        ("サーバーレス側", ["serverless"]),
        ("一括ダウンロードタスク", ["bulk", "download", "task"]),
        # Loan words are read within longer ones.
        ("ファイルサーバー", ["file", "server"]),
        ("ソートキー", ["sort", "key"]),
        ("チャレンジ", []),
        ("ホゲトークン", ["token"]),
        ("ホゲキー", []),
        ("ー", []),
        # A single kanji is a term unless an unknown kanji is beside it.
        ("型", ["type"]),
        ("型の", ["type"]),
        ("その型を", ["type"]),
        ("配列型", ["array", "type"]),
        ("親ディレクトリ", ["parent dir"]),
        ("親配列", ["parent", "array"]),
        ("模型飛", ["model"]),
        ("の型紙飛", ["pattern"]),
        ("型鬱", []),
        ("の型鬱", []),
        ("鬱型", []),
        ("鬱型の", []),
        # Words that only serve the grammar of a question are not terms.
        ("この処理の仕組みを使う方法", []),
        ("認証を行う処理", ["authentication"]),
        ("設定に応じて、例えば", ["config"]),
        ("合わない値", ["value"]),
        ("変更したどのファイルか", ["change", "file"]),
        ("値が指す先", ["value", "point"]),
        ("設定の場所", ["config", "location"]),
        # Names and English words stay as they are.
        ("get_userの認証", ["get_user", "authentication"]),
        ("Store.openでエラー", ["Store.open", "error"]),
        ("HTTP2サーバー", ["HTTP2", "server"]),
        ("認証 middleware", ["authentication", "middleware"]),
        ("_private と 型", ["_private", "type"]),
    ],
)
def test_a_question_is_translated_term_by_term(query: str, words: list[str]) -> None:
    assert [alternatives[0] for alternatives in english(query)] == words


@pytest.mark.parametrize(
    ("query", "plain"),
    [
        ("ｻｰﾊﾞｰ", "サーバー"),
        ("ﾊﾞｯﾌｧ", "バッファ"),
        ("１０進数", "10進数"),
        ("ｇｅｔの型", "getの型"),
        ("サーハ\u3099ー", "サーバー"),
    ],
)
def test_widths_and_forms_of_a_character_are_equal(query: str, plain: str) -> None:
    assert english(query) == english(plain) != []


@pytest.mark.parametrize(
    "query", ["", " ", "where is the cache", "get_user", "naïve", "о кэше", "캐시"]
)
def test_a_question_without_japanese_has_no_terms(query: str) -> None:
    assert english(query) == []


def test_english_words_precede_japanese_ones_in_the_search() -> None:
    terms = read("設定を検証する").terms
    assert terms[: terms.index("設定")] == ("config", "set", "configurat", "validat", "verifi")
    assert "検証" in terms


def test_a_question_of_particles_is_searched_as_it_is() -> None:
    assert read("これはどこですか").terms == (
        "これ",
        "れは",
        "はど",
        "どこ",
        "こで",
        "です",
        "すか",
    )


@given(st.text(max_size=80))
def test_any_text_gives_words_of_the_dictionary_or_names(query: str) -> None:
    known = set(dictionary().values())
    for words in english(query):
        assert words in known or (len(words) == 1 and words[0].isascii())


@given(TERMS)
def test_every_term_is_read_whole(term: str) -> None:
    words = dictionary()[term]
    assert english(term) == ([words] if words else [])


@given(st.lists(TERMS, max_size=6))
def test_separated_terms_are_read_separately(terms: list[str]) -> None:
    found = [dictionary()[term] for term in terms]
    assert english("、".join(terms)) == [words for words in found if words]


def test_every_line_of_the_dictionary_is_well_formed() -> None:
    line = re.compile(r"[^\sA-Za-z]+\t(?:[a-z0-9]+(?:_[a-z0-9]+)*(?: |$)){0,3}")
    lines = LINES.splitlines()
    assert [text for text in lines if not line.fullmatch(text) or text.endswith(" ")] == []
    assert "\r" not in LINES
    assert LINES.endswith("\n")


def test_the_dictionary_is_sorted_and_has_each_term_once() -> None:
    terms = [line.split("\t")[0] for line in LINES.splitlines()]
    assert terms == sorted(set(terms))


def test_terms_are_normalized_as_questions_are() -> None:
    terms = dictionary()
    assert [term for term in terms if unicodedata.normalize("NFKC", term) != term] == []
    assert max(map(len, terms)) <= MAX_TERM_CHARS


def test_a_term_has_few_words_and_each_once() -> None:
    translations = dictionary().values()
    assert all(len(set(words)) == len(words) <= ALTERNATIVES for words in translations)


def test_a_stop_word_is_only_the_first_word_of_a_term() -> None:
    wasted = {term: words for term, words in dictionary().items() if STOP_WORDS & set(words[1:])}
    assert wasted == {}


HOSTILE = [
    "キー",
    "サーバー",
    "型",
    "の型",
    "エラー処理",
    "ア",
    "ー",
    "漢",
    "\ud800",
    "\0",
    "ぁ",
    "get_",
    "型a",
    "ﾊﾞ",
    "々",
    "⺀",
]


def steps(task: Callable[[], object]) -> int:
    """Return how many lines of the dictionary reader a task executes."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if frame.f_code.co_filename != lexicon.__file__:
            return None
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        task()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("unit", HOSTILE)
def test_reading_takes_time_linear_in_the_length(unit: str) -> None:
    dictionary()
    text = (unit * 1000)[:1000] + "。"
    assert steps(lambda: english(text)) <= 100 * len(text)


@pytest.mark.parametrize("unit", HOSTILE[:9])
def test_a_very_long_text_is_read(unit: str) -> None:
    text = unit * (10_000 // len(unit))
    found = read(text)
    assert len(found.terms) <= 64
    assert len(english(text)) <= len(text)
