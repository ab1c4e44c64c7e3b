"""Parse a question: its words, the symbols it names, and the kinds of file it asks for."""

import re
import unicodedata
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from code_intel.chunking.lexicon import ALTERNATIVES, english
from code_intel.chunking.words import query_words

if TYPE_CHECKING:  # importing numpy would add 0.1 s to a handshake
    import numpy as np
    from numpy.typing import NDArray

    from code_intel.embedding.engine import Embedder

_WHOLE_NAME = re.compile(r"[^\W\d][\w$]*(?:(?:\.|::|->|#)[^\W\d][\w$]*)*")
# ASCII only, because no space separates `AuthServiceの`, and Japanese words are not symbols.
_LETTER = re.compile("[A-Za-z]")
_NAME = re.compile(_WHOLE_NAME.pattern, re.ASCII)
_SEPARATOR = re.compile(r"\.|::|->|#")

TOPICS = {
    "tests": "test tests testing tested spec specs fixture fixtures mock mocks テスト 試験",
    "examples": "example examples sample samples demo demos tutorial tutorials benchmark "
    "benchmarks 例 サンプル チュートリアル ベンチマーク",
    "docs": "doc docs documentation readme guide changelog history license "
    "ドキュメント 文書 説明書",
    "legacy": "legacy compat compatibility deprecated deprecation old backward backwards "
    "互換 非推奨",
    "built": "dist build built bundle bundled minified generated vendored ビルド 生成物",
    "stubs": "declaration declarations typings stub stubs 型定義",
    "settings": "config configuration setting settings json yaml toml lock manifest workflow "
    "設定ファイル",
}
"""Words by which a question asks for kinds of files that otherwise rank lower."""

# 例外 (exception) contains 例 (example), コンテスト (contest) contains テスト (test).
_LOOKALIKES = re.compile("例外|例え|凡例|比例|慣例|(?:コン|プロ|ア)テスト")
_SENTENCE_END = re.compile(r"(?<=[.;!?])\s|[\n。！？]")
_TOPIC_WORDS = {topic: frozenset(text.split()) for topic, text in TOPICS.items()}


MAX_QUERY_CHARS = 4000
MAX_TERMS = 64
"""Maximum number of words that are looked up, and of names."""
MIN_NAME_CHARS = 4
"""Minimum length of an identifier in a sentence; shorter ones are `e.g` or `pH`."""


@dataclass(frozen=True, slots=True)
class Name:
    """A symbol in a question; `share` is 1 if it is the whole question, otherwise less."""

    spelled: str
    share: float

    @property
    def bare(self) -> str:
        """The name without its scopes."""
        return _SEPARATOR.split(self.spelled)[-1]

    @property
    def qualified(self) -> str:
        """The name as the index spells it, with dots."""
        return _SEPARATOR.sub(".", self.spelled)


@dataclass(frozen=True, slots=True)
class RankedQuestion:
    """A parsed question.

    Attributes:
        terms: Index tokens without stop words; for a Japanese question, the English ones first.
        names: The symbols in the question.
        topics: The rows of TOPICS that its first sentence asks for. The message of a commit ends
            with "added a test", "updated the changelog".
    """

    terms: tuple[str, ...]
    names: tuple[Name, ...]
    topics: frozenset[str]


def read(query: str) -> RankedQuestion:
    """Parse a question in any language; read at most `MAX_QUERY_CHARS` of it."""
    query = query[:MAX_QUERY_CHARS]
    folded = unicodedata.normalize("NFKC", query).casefold()
    first = _SENTENCE_END.split(folded.strip(), maxsplit=1)[0]
    latin_words = set(re.findall(r"[a-z]+", first))
    searchable = _LOOKALIKES.sub(" ", first)
    topics = {
        topic
        for topic, topic_words in _TOPIC_WORDS.items()
        if any(
            word in latin_words if word.isascii() else word in searchable for word in topic_words
        )
    }
    translated = query_words(" ".join(_english(query, ALTERNATIVES)))
    terms = dict.fromkeys((*translated, *query_words(query)))
    return RankedQuestion(tuple(terms)[:MAX_TERMS], _names(query)[:MAX_TERMS], frozenset(topics))


def embedded(embedder: "Embedder", query: str) -> "NDArray[np.float32]":
    """Return the vector of a question; for Japanese, the mean with the vector of the English words.

    Raises:
        EmbeddingError: There is no model.
        UsageError: The question is empty.
    """
    query = query[:MAX_QUERY_CHARS]
    translated = " ".join(_english(query, 1))
    vectors = embedder.queries([query, translated] if translated else [query])
    mean: NDArray[np.float32] = vectors.sum(axis=0)
    mean /= float(mean @ mean) ** 0.5
    return mean


def _english(query: str, alternatives: int) -> list[str]:
    """Return the English words of a Japanese question; none for other languages."""
    return [word for words in english(query) for word in words[:alternatives]]


def _names(query: str) -> tuple[Name, ...]:
    """Return the question if it is an identifier, else those of its words that look like code."""
    text = unicodedata.normalize("NFKC", query).strip()
    whole = text.strip("`'\"()[];: ")
    if _WHOLE_NAME.fullmatch(whole) and (whole.isascii() or not _LETTER.search(whole)):
        return (Name(whole, 1.0),)
    found = dict.fromkeys(name for name in _NAME.findall(text) if _looks_like_code(name))
    return tuple(Name(name, 0.5) for name in found)


def _looks_like_code(name: str) -> bool:
    """Return whether a word looks like `getUser`, `get_user`, `Foo.bar` or `HTTPAdapter`."""
    if len(name) < MIN_NAME_CHARS or name.isupper():
        return False
    inner_capital = any(b.isupper() and not a.isupper() for a, b in pairwise(name))
    acronym_first = name[:2].isupper() and any(map(str.islower, name))
    return inner_capital or acronym_first or "_" in name or bool(_SEPARATOR.search(name))
