"""What a question asks for: words, names, and the kinds of file that are usually in the way."""

import re
import unicodedata
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from code_intel.chunking.lexicon import ALTERNATIVES, english
from code_intel.chunking.words import query_words

if TYPE_CHECKING:  # numpy costs a handshake 0.1 s
    import numpy as np
    from numpy.typing import NDArray

    from code_intel.embedding.engine import Embedder

_WHOLE_NAME = re.compile(r"[^\W\d][\w$]*(?:(?:\.|::|->|#)[^\W\d][\w$]*)*")
# In a sentence ASCII alone: nothing separates `AuthServiceの`, and Japanese words are not symbols.
_LETTER = re.compile("[A-Za-z]")
_NAME = re.compile(_WHOLE_NAME.pattern, re.ASCII)
_SEPARATOR = re.compile(r"\.|::|->|#")

TOPICS = {
    "tests": "test tests testing tested spec specs fixture fixtures mock mocks テスト 試験",
    "examples": "example examples sample samples demo demos tutorial tutorials benchmark benchmarks "
    "例 サンプル チュートリアル ベンチマーク",
    "docs": "doc docs documentation readme guide changelog history license ドキュメント 文書 説明書",
    "legacy": "legacy compat compatibility deprecated deprecation old backward backwards 互換 非推奨",
    "built": "dist build built bundle bundled minified generated vendored ビルド 生成物",
    "stubs": "declaration declarations typings stub stubs 型定義",
    "settings": "config configuration setting settings json yaml toml lock manifest workflow "
    "設定ファイル",
}
"""Words by which a question asks for files that are otherwise put behind the others."""

# An exception is no example, and a contest no test.
_LOOKALIKES = re.compile("例外|例え|凡例|比例|慣例|(?:コン|プロ|ア)テスト")
_TOPIC_WORDS = {topic: frozenset(text.split()) for topic, text in TOPICS.items()}


LONGEST = 4000
"""Characters of a question that are read; a pasted stack trace has its say."""
MOST = 64
"""Words, and names, that are looked up."""
SHORTEST_NAME = 4
"""Letters below which what looks like code in a sentence is `e.g` or `pH`."""


@dataclass(frozen=True, slots=True)
class Name:
    """A symbol that a question names; `share` is 1 when it is the whole question, else less."""

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
class Question:
    """A question, read once.

    Attributes:
        terms: Index tokens, stop words left out; of a Japanese question, the English ones first.
        names: Symbols it names.
        topics: The rows of TOPICS that it asks for.
    """

    terms: tuple[str, ...]
    names: tuple[Name, ...]
    topics: frozenset[str]


def read(query: str) -> Question:
    """Read a question in any language; an empty one has no terms, an endless one is cut."""
    query = query[:LONGEST]
    folded = unicodedata.normalize("NFKC", query).casefold()
    plain = set(re.findall(r"[a-z]+", folded))
    japanese = _LOOKALIKES.sub(" ", folded)
    topics = {
        topic
        for topic, asked in _TOPIC_WORDS.items()
        if any(word in plain if word.isascii() else word in japanese for word in asked)
    }
    said = query_words(" ".join(_english(query, ALTERNATIVES)))
    terms = dict.fromkeys((*said, *query_words(query)))
    return Question(tuple(terms)[:MOST], _names(query)[:MOST], frozenset(topics))


def embedded(embedder: "Embedder", query: str) -> "NDArray[np.float32]":
    """Return the vector of a question; of a Japanese one, the middle between it and its English words.

    Raises:
        EmbeddingError: There is no model.
        UsageError: There is nothing in it to embed.
    """
    query = query[:LONGEST]
    said = " ".join(_english(query, 1))
    vectors = embedder.queries([query, said] if said else [query])
    middle: NDArray[np.float32] = vectors.sum(axis=0)
    middle /= float(middle @ middle) ** 0.5
    return middle


def _english(query: str, alternatives: int) -> list[str]:
    """Return the English words of a Japanese question; none for any other."""
    return [word for words in english(query) for word in words[:alternatives]]


def _names(query: str) -> tuple[Name, ...]:
    """Return the identifiers of a question: all of a one-word one, else what looks like code."""
    text = unicodedata.normalize("NFKC", query).strip()
    whole = text.strip("`'\"()[];: ")
    if _WHOLE_NAME.fullmatch(whole) and (whole.isascii() or not _LETTER.search(whole)):
        return (Name(whole, 1.0),)
    found = dict.fromkeys(name for name in _NAME.findall(text) if _looks_like_code(name))
    return tuple(Name(name, 0.5) for name in found)


def _looks_like_code(name: str) -> bool:
    """Tell `getUser`, `get_user`, `Foo.bar` and `HTTPAdapter` from words, acronyms and `e.g.`."""
    if len(name) < SHORTEST_NAME or name.isupper():
        return False
    inner_capital = any(b.isupper() and not a.isupper() for a, b in pairwise(name))
    acronym_first = name[:2].isupper() and any(map(str.islower, name))
    return inner_capital or acronym_first or "_" in name or bool(_SEPARATOR.search(name))
