"""Words that mean the same in software, in Japanese and English: サインイン, ログイン, sign in.

A small embedding model knows bare loan words badly; a shipped glossary (`constants/glossary.json`,
concept: its words) knows the common ones exactly. It is evidence like any other, weighed by the fit.
"""

import json
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from importlib import resources
from typing import NamedTuple

from code_intel.chunking.words import split_identifier, stem

_KATAKANA = "\u30a1-\u30fa\u30fc"
_KANJI = "\u3005\u4e00-\u9fff"
_RUN = re.compile(r"[^\x00-\x7f]+|[\x00-\x7f]+")


class Reading(NamedTuple):
    """What the glossary sees in a text: its concepts, and the text with synonyms made one."""

    concepts: frozenset[str]
    canonical: str


class _Glossary(NamedTuple):
    pattern: re.Pattern[str]
    japanese: dict[str, str]
    english: dict[tuple[str, ...], str]


@lru_cache(maxsize=4096)
def read(text: str) -> Reading:
    """Return the concepts of a text and its canonical form; longer words win.

    Texts with one canonical form differ in nothing but synonyms, case, width and spaces.
    """
    parts = list(_parts(unicodedata.normalize("NFKC", text)))
    return Reading(
        frozenset(part for part, known in parts if known),
        "".join(f"<{part}>" if known else part for part, known in parts),
    )


def _parts(text: str) -> Iterator[tuple[str, bool]]:
    """Yield (concept, True) and (other text, False) in order."""
    glossary = _glossary()
    at = 0
    for match in glossary.pattern.finditer(text):
        yield from _english(text[at : match.start()], glossary)
        yield glossary.japanese[match.group().casefold()], True
        at = match.end()
    yield from _english(text[at:], glossary)


def _english(text: str, glossary: _Glossary) -> Iterator[tuple[str, bool]]:
    for run in _RUN.findall(text):
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
    file = resources.files("code_intel.learned") / "constants" / "glossary.json"
    japanese: dict[str, str] = {}
    english: dict[tuple[str, ...], str] = {}
    for concept, words in json.loads(file.read_text(encoding="utf-8")).items():
        for word in words:
            if word.isascii():
                stems = (stem(part) for part in split_identifier(word).casefold().split())
                english.setdefault(tuple(stems), concept)
            else:
                japanese.setdefault(word.casefold(), concept)
    longest = sorted(japanese, key=len, reverse=True)
    pattern = re.compile("|".join(map(_bounded, longest)), re.IGNORECASE)
    return _Glossary(pattern, japanese, english)


def _bounded(word: str) -> str:
    """Keep ログ out of ログイン and 表 out of 表示: loan words and single characters stand alone."""
    for script, short in ((_KATAKANA, 99), (_KANJI, 1)):
        if len(word) <= short and re.fullmatch(f"[{script}]+", word):
            return f"(?<![{script}]){re.escape(word)}(?![{script}])"
    return re.escape(word)
