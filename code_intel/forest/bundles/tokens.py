"""Split a goal into phrases, path segments and keywords (seed 002).

The strategies differ in compounds such as `page-agent`:

| strategy | `page-agent` |
|---|---|
| phrase-aware | page-agent |
| legacy | page, agent |
| hybrid | page-agent, page, agent |

English words of fewer than three letters are ignored. Chinese, Japanese and Korean text is split
into overlapping pairs of characters; each whole run is also a phrase (docs/decisions/0023).
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from code_intel.config import TokenizationStrategy

MAX_KEYWORDS = 12
MAX_PHRASES = 12
MAX_GOAL_CHARS = 4000
MIN_WORD_CHARS = 3
"""Minimum length of an ASCII word; other words need two characters."""

STOP_WORDS = frozenset(
    """the and for with from into that this these those when where what which how why does not are
    was can has have should would fix bug error fail failing fails issue problem test tests add
    implement update use using get テスト バグ エラー 不具合 問題 失敗
    修正 追加 実装""".split()  # noqa: SIM905 - easier to edit
)

_QUOTED = re.compile(r'"([^"\n]+)"|(?<!\w)\'([^\'\n]+)\'(?!\w)|「([^」\n]+)」|『([^』\n]+)』')
# Anchored at the start of a word, since trying each letter of a long word takes quadratic time.
_PATH = re.compile(r"(?<![\w.-])[\w.-]+(?:[/\\][\w.-]+)+")
_COMPOUND = re.compile(r"(?<![^\W_])[^\W_]+(?:[-_]+[^\W_]+)+")
_WORD = re.compile(r"[\w-]+")
_HIRAGANA = "\u3041-\u3096"
_CONTENT = (
    "\u3005-\u3007\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_CJK = re.compile(f"[{_CONTENT}{_HIRAGANA}]+")
# Content words are kanji or katakana; a single kanji needs its hiragana ending.
_RUN = re.compile(f"[{_CONTENT}]{{2,}}|[{_CONTENT}][{_HIRAGANA}]")
_ENDING = re.compile(f"[{_HIRAGANA}]$")


class Terms(NamedTuple):
    """The folded terms of a goal, each once, in order.

    Attributes:
        phrases: Quoted texts, compounds, and runs of Chinese, Japanese or Korean.
        segments: Parts of paths in the goal.
        keywords: Single words.
    """

    phrases: tuple[str, ...] = ()
    segments: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()


def tokenise(goal: str, strategy: TokenizationStrategy = "phrase-aware") -> Terms:
    """Return the terms of a goal, without stop words."""
    text = fold(goal[:MAX_GOAL_CHARS])
    quoted = [" ".join(next(filter(None, found)).split()) for found in _QUOTED.findall(text)]
    text = _QUOTED.sub(" ", text)
    segments = [part for path in _PATH.findall(text) for part in re.split(r"[/\\]", path)]
    runs = [run for part in _CJK.findall(text) for run in _RUN.findall(part)]
    asian = [run for run in runs if run not in STOP_WORDS]
    words = _CJK.sub(" ", text)
    compounds = [] if strategy == "legacy" else _compounds(words)
    whole = (run for run in asian if not _ENDING.search(run))
    phrases = _unique([*quoted, *compounds, *whole], MAX_PHRASES)
    keywords = [
        *_words(words, strategy, compounds),
        *(pair for run in asian for pair in _pairs(run)),
    ]
    return Terms(
        phrases,
        _unique((part.strip(".-") for part in segments), MAX_KEYWORDS),
        _unique((word for word in keywords if word not in phrases), MAX_KEYWORDS),
    )


def fold(text: str) -> str:
    """Return a text without differences of case and of compatibility characters."""
    return unicodedata.normalize("NFKC", text).casefold()


def _compounds(text: str) -> list[str]:
    return [found for found in _COMPOUND.findall(text) if len(found) >= MIN_WORD_CHARS]


def _words(text: str, strategy: TokenizationStrategy, compounds: Iterable[str]) -> Iterator[str]:
    """Yield words, and the parts of compounds if the strategy splits them."""
    whole = frozenset(compounds)
    for word in _WORD.findall(text):
        bare = word.strip("-_")
        if strategy == "legacy":
            yield from bare.split("-")
        elif bare not in whole:
            yield bare
        elif strategy == "hybrid":
            yield from re.split(r"[-_]+", bare)


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)]


def _unique(terms: Iterable[str], limit: int) -> tuple[str, ...]:
    """Return the significant terms, each once."""
    significant = (term for term in terms if _is_significant(term))
    return tuple(dict.fromkeys(significant))[:limit]


def _is_significant(term: str) -> bool:
    minimum = MIN_WORD_CHARS if term.isascii() else 2
    return len(term) >= minimum and term not in STOP_WORDS
