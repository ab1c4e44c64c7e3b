"""What a text asks of the code, in any language: the symbols it names, and its words, the most telling first."""

import re

from code_intel.chunking.languages import language_of
from code_intel.chunking.lexicon import english, unread
from code_intel.chunking.words import LONGEST, STOP_WORDS, stem
from code_intel.forest.question import read
from code_intel.learned.english import ideas, rarity
from code_intel.session.router import Asked

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_SHORTEST = 3
"""Letters of a word; what is shorter is found everywhere. Of Japanese that no dictionary knows, two."""


def asked_of(text: str, *, symbol: str = "", slot: str = "") -> Asked:
    """Return what a text asks for; `symbol` is one that is named beside it, `slot` whose words these are."""
    rows = english(text)
    named = [
        name.spelled
        for name in read(text).names
        if len(name.spelled) <= LONGEST and (not rows or name.spelled.isascii())
    ]
    files = {name for name in named if language_of(name) != "text"}
    names = dict.fromkeys(name for name in (symbol.strip(), *named) if name and name not in files)
    said = {part.casefold() for name in (*names, *files) for part in _WORD.findall(name)}
    words = dict.fromkeys(
        tuple(map(_stemmed, row)) if not rows else row
        for row in rows or [(word,) for word in _WORD.findall(text)]
        if said.isdisjoint(part.casefold() for word in row for part in _WORD.findall(word))
        and all(
            _SHORTEST <= len(word) <= LONGEST and word.casefold() not in STOP_WORDS for word in row
        )
    )
    told = sorted(words, key=_rarity, reverse=True)
    strange = [(run,) for run in unread(text) if 1 < len(run) <= LONGEST] if rows else []
    return Asked(tuple(names), (*told, *strange), slot)


def _stemmed(word: str) -> str:
    """Return what all forms of an English word begin with: `passwords` is also `password`."""
    root = stem(word.casefold())
    return root if word.casefold().startswith(root) and len(root) >= _SHORTEST else word


def _rarity(spellings: tuple[str, ...]) -> float:
    found = ideas(spellings[0])
    return max(map(rarity, found), default=0.0)
