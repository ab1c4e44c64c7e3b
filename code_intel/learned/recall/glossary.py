"""Recognize synonyms of software terms in Japanese and English: サインイン, ログイン, sign in.

A small embedding model represents single loan words badly. The shipped glossary
(`constants/glossary.json`, which maps concepts to words) contains the common ones. The fit weighs
it like any other evidence.
"""

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from code_intel.chunking.words import STOP_WORDS, split_identifier, stem

_KATAKANA = "\u30a1-\u30fa\u30fc"
_KANJI = "\u3005\u4e00-\u9fff"
_SCRIPT = re.compile(r"[^\x00-\x7f]+|[\x00-\x7f]+")

_GENERIC = frozenset(
    """機能 処理 実装 仕組 仕方 動作 挙動 対応 全般 関連 周 修正 改修 改善 調査 調 直 見直
    変更 変 バグ 不具合
    リファクタリング 確 行 使 用 出 入 見 時 際 場合 方 中 後 前 今 毎回 私 人 何 上 下 間
    feature function functionality process processing handling handle logic fix bug issue debug
    refactor improve investigate change make let work""".split()  # noqa: SIM905 - easier to read
)
_GENERIC_STEMS = frozenset(map(stem, _GENERIC))
_SILENT = STOP_WORDS - {"code"}
_WORD = re.compile(f"[{_KANJI}]+|[{_KATAKANA}]+|[a-z0-9]+")
_PARTS = re.compile("[a-z]+|[0-9]+")
_STANDS_ALONE = re.compile(f"(?P<loan>[{_KATAKANA}]+)|[{_KANJI}]")
"""Loan words and single characters are whole words: ログ is not in ログイン, 表 not in 表示."""
_PIECES = re.compile(".{3}$|..(?!$)|.+")


class Reading(NamedTuple):
    """The concepts of a text, the text with its synonyms unified, and the words without concept."""

    concepts: frozenset[str]
    canonical: str
    unknown: tuple[str, ...]


class _Glossary(NamedTuple):
    firsts: re.Pattern[str]
    patterns: dict[str, str]
    japanese: dict[str, str]
    english: dict[tuple[str, ...], str]


@lru_cache(maxsize=4096)
def read(text: str) -> Reading:
    """Return the concepts of a text and its canonical form; longer words take precedence.

    Texts with the same canonical form differ only in synonyms, case, width and spaces.
    """
    parts = list(_parts(unicodedata.normalize("NFKC", text)))
    return Reading(
        frozenset(part for part, known in parts if known),
        "".join(f"<{part}>" if known else part for part, known in parts),
        tuple(part for part, known in parts if not known),
    )


@lru_cache(maxsize=1 << 14)
def content_words(text: str) -> frozenset[str]:
    """Return `content_of` a question or a term, cached because it is needed repeatedly."""
    return content_of(text)


def content_of(text: str) -> frozenset[str]:
    """Return what a text is about: glossary concepts as <concept>, other words as they stand.

    English is stemmed, kanji are cut in twos and threes, hiragana and generic words are left out.
    """
    reading = read(text)
    return frozenset(f"<{concept}>" for concept in reading.concepts).union(
        *(_rest(part) for part in reading.unknown)
    )


def _rest(part: str) -> Iterator[str]:
    for run in _WORD.findall(part.casefold()):
        if run.isascii():
            if run not in _SILENT and stem(run) not in _GENERIC_STEMS:
                yield stem(run)
        else:
            pieces = _PIECES.findall(run) if re.match(f"[{_KANJI}]", run) else [run]
            yield from (piece for piece in pieces if piece not in _GENERIC)


def _parts(text: str) -> Iterator[tuple[str, bool]]:
    """Yield (concept, True) and (other text, False) in order."""
    glossary = _glossary()
    at = 0
    for match in _japanese(text, glossary):
        yield from _english(text[at : match.start()], glossary)
        yield glossary.japanese[match.group().casefold()], True
        at = match.end()
    yield from _english(text[at:], glossary)


def _japanese(text: str, glossary: _Glossary) -> Iterator[re.Match[str]]:
    """Yield the Japanese words from left to right."""
    at = 0
    while first := glossary.firsts.search(text, at):
        place = first.start()
        word = _pattern(glossary.patterns[first.group().casefold()]).match(text, place)
        if word:
            yield word
        at = word.end() if word else place + 1


@cache
def _pattern(words: str) -> re.Pattern[str]:
    """Compile the words with one first character on first use, since a text has few of them."""
    return re.compile(words, re.IGNORECASE)


def _english(text: str, glossary: _Glossary) -> Iterator[tuple[str, bool]]:
    for run in _SCRIPT.findall(text):
        if not run.isascii():
            yield run.replace(" ", ""), False
            continue
        words = split_identifier(run).casefold().split()
        stems = [stem(word) for word in words]
        at = 0
        while at < len(words):
            size = next((n for n in (2, 1) if tuple(stems[at : at + n]) in glossary.english), 0)
            if size:
                yield glossary.english[tuple(stems[at : at + size])], True
            else:
                yield words[at], False
            at += size or 1


@lru_cache(maxsize=1)
def _glossary() -> _Glossary:
    file = Path(__file__).parent / "constants" / "glossary.json"
    japanese: dict[str, str] = {}
    english: dict[tuple[str, ...], str] = {}
    for concept, words in json.loads(file.read_text(encoding="utf-8")).items():
        for word in words:
            if word.isascii():
                english.setdefault(tuple(map(stem, _PARTS.findall(word.casefold()))), concept)
            else:
                japanese.setdefault(word.casefold(), concept)
    longest = sorted(japanese, key=len, reverse=True)
    by_first: dict[str, list[str]] = defaultdict(list)
    for word in longest:
        alone = _STANDS_ALONE.fullmatch(word)
        script = f"[{_KATAKANA if alone['loan'] else _KANJI}]" if alone else ""
        text = re.escape(word)
        by_first[word[0]].append(f"(?<!{script}){text}(?!{script})" if alone else text)
    firsts = re.compile(f"[{re.escape(''.join(by_first))}]", re.IGNORECASE)
    patterns = {first: "|".join(words) for first, words in by_first.items()}
    return _Glossary(firsts, patterns, japanese, english)
