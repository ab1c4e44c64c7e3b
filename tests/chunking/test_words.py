import re
import string
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.chunking import query_words, split_identifier, words
from code_intel.chunking.words import MAX_WORD_CHARS, STOP_WORDS, stem

TOKEN = re.compile(r"\w+")
IDENTIFIERS = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,20}", fullmatch=True)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("HTTPServer_config2", "HTTP Server config 2"),
        ("getUserById", "get User By Id"),
        ("parse_file", "parse file"),
        ("kebab-case-name", "kebab case name"),
        ("URLs", "URLs"),
        ("parseURLs", "parse URLs"),
        ("__init__", "init"),
        ("AuthService.login", "Auth Service login"),
        ("utf8", "utf 8"),
        ("ログイン", "ログイン"),
        ("", ""),
    ],
)
def test_an_identifier_is_split_into_words(name: str, parts: str) -> None:
    assert split_identifier(name) == parts


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("getUserById", ["getuserbyid", "get", "user", "by", "id"]),
        ("parse_file", ["parse_file", "pars", "fil"]),
        ("foo-bar", ["foo_bar", "foo", "bar"]),
        ("OAuth2Token", ["oauth2token", "oauth", "auth", "token"]),
        ("a - b", ["a", "b"]),
        ("ログイン", ["ログ", "グイ", "イン"]),
        ("設", ["設"]),
        ("ﾛｸﾞ Ａ１", ["ログ", "a1"]),
        ("AuthServiceのログ", ["authservic", "auth", "servic", "のロ", "ログ"]),
        ("x" * (MAX_WORD_CHARS + 1), []),
        ("", []),
    ],
)
def test_tokens_of_code_and_prose(text: str, tokens: list[str]) -> None:
    assert words(text) == tokens


@pytest.mark.parametrize(
    "family",
    [
        ("validate", "validation", "validates", "validated", "validator", "validating"),
        ("cookie", "cookies"),
        ("retry", "retries", "retried"),
        ("run", "running", "runs"),
        ("class", "classes"),
        ("session", "sessions"),
        ("serialize", "serialization", "serializer", "serialized", "serializing"),
        ("cache", "cached", "caching", "caches"),
        ("connect", "connection", "connections", "connected"),
    ],
)
def test_forms_of_an_english_word_have_one_stem(family: tuple[str, ...]) -> None:
    assert len({stem(word) for word in family}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("status", "stat"),
        ("string", "str"),
        ("header", "head"),
        ("this", "the"),
        ("process", "proces"),
    ],
)
def test_different_words_have_different_stems(one: str, other: str) -> None:
    assert stem(one) != stem(other)


@given(st.text())
def test_tokens_are_letters_digits_and_underscores_in_folded_form(text: str) -> None:
    for token in [*words(text), *query_words(text)]:
        assert TOKEN.fullmatch(token)
        assert token == token.casefold()
        assert len(token) <= MAX_WORD_CHARS


@given(st.text())
def test_width_and_case_of_latin_letters_are_ignored(text: str) -> None:
    wide = "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)
    assert words(wide) == words(unicodedata.normalize("NFKC", wide))
    lower = "".join(c for c in text if c in string.ascii_lowercase + " ")
    assert words(lower.upper()) == words(lower)


@given(IDENTIFIERS)
def test_a_question_has_the_tokens_of_a_quoted_identifier(name: str) -> None:
    tokens = set(query_words(f"where is {name} set"))
    assert tokens >= {word for word in words(name) if word not in STOP_WORDS}


@given(st.lists(st.sampled_from(["alpha", "beta", "設定", "読む"]), min_size=1))
def test_a_text_of_several_lines_has_the_words_of_its_lines(lines: list[str]) -> None:
    assert words("\n".join(lines)) == [token for line in lines for token in words(line)]


def test_stop_words_are_removed_from_questions_only() -> None:
    assert query_words("how are redirects followed") == ["redirect", "follow"]
    assert "how" in words("how are redirects followed")


def test_particles_are_removed_from_japanese_questions() -> None:
    assert query_words("設定を読むには") == ["設定", "定を", "を読", "読む"]
    assert query_words("これは") == ["これ", "れは"]


def test_a_question_of_stop_words_alone_keeps_them() -> None:
    assert query_words("how to") == ["how", "to"]


def test_query_words_are_unique() -> None:
    assert query_words("token tokens Token") == ["token"]


@given(st.text(st.characters(max_codepoint=127)))
def test_a_text_in_ascii_has_the_same_tokens_beside_other_letters(text: str) -> None:
    assert words(f"{text} 設定") == [*words(text), "設定"]


@given(st.text("ABbs", max_size=12))
def test_an_identifier_in_ascii_is_split_as_one_with_accents(name: str) -> None:
    accented = str.maketrans("ABbs", "ÀÈès")  # the last `s` of `URLs` is special
    assert split_identifier(name.translate(accented)) == split_identifier(name).translate(accented)
