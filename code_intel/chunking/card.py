"""Build the card of a chunk: a short text that is embedded instead of the chunk.

Cards rank better than whole texts and take a third of the time (docs/decisions/0010). A card
depends only on its file: with weights from the whole corpus, every edit would change all cards, and
so all cached vectors.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from functools import lru_cache
from pathlib import PurePosixPath

from code_intel.chunking.words import STOP_WORDS, split_identifier
from code_intel.records import Symbol

MAX_CARD_TOKENS = 96
"""Approximate number of the model's tokens."""
MAX_IDENTIFIERS = 10
"""Number of identifiers in a card, besides its symbols."""
MAX_PATH_PARTS = 3
MAX_CARD_SYMBOLS = 6

_IDENTIFIER = re.compile(r"[^\W\d]\w{2,47}")
_ASCII_IDENTIFIER = re.compile(r"[A-Za-z_]\w{2,47}", re.ASCII)  # faster
_COMMON_WORDS = frozenset(  # never chosen
    """abstract and any args array assert async await bool boolean break byte case catch chan char
    class const continue def default defer delete dict elif else enum err error except export
    extends fallthrough false final finally float for from func function global goto got
    implements import instanceof int interface isinstance kwargs lambda len let list map match
    module namespace never new nil none nonlocal not null number object optional override package
    param params pass private property protected public raise range readonly require return
    returns select self set static str string struct super switch symbol then this throw true try
    tuple type typeof typing
    undefined union unknown use value var void while with yield""".split()  # noqa: SIM905
)
_EXCLUDED = _COMMON_WORDS | STOP_WORDS


def code_card(
    path: str, text: str, symbols: Sequence[Symbol], *, inside: str = "", about: str = ""
) -> str:
    """Return the card of a piece of code.

    Args:
        path: The file's path relative to the project.
        text: The chunk.
        symbols: The symbols that begin in it.
        inside: The symbol that contains it, if none begins in it.
        about: The first sentence of the file's documentation, for its first chunk.
    """
    names = [symbol.qualified for symbol in symbols[:MAX_CARD_SYMBOLS]] or [inside]
    doc = next((symbol.doc for symbol in symbols if symbol.doc), "")
    known = {name.lower() for symbol in symbols for name in (symbol.name, symbol.qualified)}
    parts = [
        path_words(path),
        ", ".join(split_identifier(name) for name in names if name),
        about,
        symbols[0].signature if symbols else "",
        doc,
        " ".join(split_identifier(name) for name in salient_identifiers(text, known)),
    ]
    return _cut(". ".join(part.rstrip(".") for part in parts if part))


def text_card(headings: str, text: str) -> str:
    """Return the card of a piece of prose: the headings above it, and its beginning."""
    return _cut(". ".join(part for part in (headings, " ".join(text.split())) if part))


@lru_cache(maxsize=64)  # the chunks of a file are consecutive
def path_words(path: str) -> str:
    """Return the last parts of a path as words: `src/user_store.py` gives `src user store`."""
    parts = PurePosixPath(path.replace("\\", "/")).parts[-MAX_PATH_PARTS:]
    return (
        " ".join(split_identifier(part) for part in [*parts[:-1], PurePosixPath(parts[-1]).stem])
        if parts
        else ""
    )


def salient_identifiers(text: str, known: Collection[str]) -> list[str]:
    """Return the most frequent identifiers of a chunk; compound ones count one and a half times."""
    pattern = _ASCII_IDENTIFIER if text.isascii() else _IDENTIFIER
    scores = {
        name: uses * weight
        for name, uses in Counter(pattern.findall(text)).items()
        if (weight := _weight(name)) and name.lower() not in known
    }
    return sorted(scores, key=scores.__getitem__, reverse=True)[:MAX_IDENTIFIERS]


@lru_cache(maxsize=1 << 16)
def _weight(name: str) -> float:
    """Return by how much the uses of an identifier count."""
    if name.lower() in _EXCLUDED:
        return 0.0
    rest = name[1:]
    is_compound = "_" in name.strip("_") or (not name.isupper() and rest != rest.lower())
    return 1.5 if is_compound else 1.0


def _cut(card: str) -> str:
    """Cut a card to about `MAX_CARD_TOKENS`; a token is four ASCII letters or two other ones."""
    words = card.split()
    cost = 0.0
    for position, word in enumerate(words):
        length = len(word)
        if not word.isascii():
            length = 2 * length - sum(map(str.isascii, word))
        cost += max(1.0, 0.25 * length)
        if cost > MAX_CARD_TOKENS:
            # In a script without spaces one word may be the whole text.
            words = words[:position] or [word[: 2 * MAX_CARD_TOKENS]]
            break
    return " ".join(words)
