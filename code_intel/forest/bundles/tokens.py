"""The terms of a goal: phrases, path segments and keywords (seed 002 on tokenising).

`page-agent` is one thing and not two; that is what the strategies differ in:

| strategy | `page-agent` |
|---|---|
| phrase-aware | page-agent |
| legacy | page, agent |
| hybrid | page-agent, page, agent |

English words below three letters say nothing; Chinese, Japanese and Korean ones are told by overlapping
pairs of characters, and a whole run of them is a phrase (docs/decisions/0023).
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from code_intel.config import TokenizationStrategy

MAX_KEYWORDS = 12
MAX_PHRASES = 12
MAX_BUNDLE_GOAL_CHARS = 4000
"""Characters of a goal that are read."""
MIN_WORD_LETTERS = 3
"""Letters of an ASCII word that counts; two characters of any other."""

STOP_WORDS = frozenset(
    """the and for with from into that this these those when where what which how why does not are
    was can has have should would fix bug error fail failing fails issue problem test tests add
    implement update use using get テスト バグ エラー 不具合 問題 失敗 修正 追加 実装""".split()  # noqa: SIM905 - a text is easier to read and edit
)

_QUOTED = re.compile(r'"([^"\n]+)"|(?<!\w)\'([^\'\n]+)\'(?!\w)|「([^」\n]+)」|『([^』\n]+)』')
# Only where a word begins: tried at each letter of a long one, these would take its length squared.
_PATH = re.compile(r"(?<![\w.-])[\w.-]+(?:[/\\][\w.-]+)+")
_COMPOUND = re.compile(r"(?<![^\W_])[^\W_]+(?:[-_]+[^\W_]+)+")
_WORD = re.compile(r"[\w-]+")
_HIRAGANA = "\u3041-\u3096"
_CONTENT = "\u3005-\u3007\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_CJK = re.compile(f"[{_CONTENT}{_HIRAGANA}]+")
# What a Japanese word is about stands in kanji or katakana; a lone kanji needs its ending.
_RUN = re.compile(f"[{_CONTENT}]{{2,}}|[{_CONTENT}][{_HIRAGANA}]")
_ENDING = re.compile(f"[{_HIRAGANA}]$")


class Terms(NamedTuple):
    """What to look for, folded; each term once, in the order of the goal.

    Attributes:
        phrases: To be found as they are: quoted, compound, or a run of Japanese.
        segments: Parts of paths that the goal names.
        keywords: Single words.
    """

    phrases: tuple[str, ...] = ()
    segments: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()


def tokenise(goal: str, strategy: TokenizationStrategy = "phrase-aware") -> Terms:
    """Return the terms of a goal; none for one of stop words and punctuation."""
    text = fold(goal[:MAX_BUNDLE_GOAL_CHARS])
    quoted = [" ".join(next(filter(None, found)).split()) for found in _QUOTED.findall(text)]
    text = _QUOTED.sub(" ", text)
    segments = [part for path in _PATH.findall(text) for part in re.split(r"[/\\]", path)]
    runs = [run for part in _CJK.findall(text) for run in _RUN.findall(part)]
    asian = [run for run in runs if run not in STOP_WORDS]
    words = _CJK.sub(" ", text)
    compounds = [] if strategy == "legacy" else _compounds(words)
    whole = (run for run in asian if not _ENDING.search(run))
    phrases = _once([*quoted, *compounds, *whole], MAX_PHRASES)
    keywords = [
        *_words(words, strategy, compounds),
        *(pair for run in asian for pair in _pairs(run)),
    ]
    return Terms(
        phrases,
        _once((part.strip(".-") for part in segments), MAX_KEYWORDS),
        _once((word for word in keywords if word not in phrases), MAX_KEYWORDS),
    )


def fold(text: str) -> str:
    """Return a text as terms are looked for in it: compatibility forms and case folded."""
    return unicodedata.normalize("NFKC", text).casefold()


def _compounds(text: str) -> list[str]:
    return [found for found in _COMPOUND.findall(text) if len(found) >= MIN_WORD_LETTERS]


def _words(text: str, strategy: TokenizationStrategy, compounds: Iterable[str]) -> Iterator[str]:
    """Yield plain words; of a compound its parts, where the strategy wants them."""
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


def _once(terms: Iterable[str], most: int) -> tuple[str, ...]:
    """Return the terms that say something, each once."""
    said = (term for term in terms if _says_something(term))
    return tuple(dict.fromkeys(said))[:most]


def _says_something(term: str) -> bool:
    shortest = MIN_WORD_LETTERS if term.isascii() else 2
    return len(term) >= shortest and term not in STOP_WORDS
