"""Does a keyword occur in a result: in its text, its symbol or its path? (docs/decisions/0040).

| mode | occurs |
|---|---|
| `strict` | exactly as it is spelled, case included |
| `fuzzy` | case and width aside; several words also as one identifier (`export default`, `exportDefault`, `export_default`); from five letters on within one edit of a word |
| `semantic` | as `fuzzy`, or by a calibrated likeness from `LIKE` on |

Japanese has no word boundaries: its keywords are looked for as they are, half width or full, with or
without the long vowel at the end of a loan word (サーバ, サーバー).
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

from code_intel.planning.records import Mode, Result

LIKE = 0.6
"""Likeness from which a keyword is there by its meaning; below, whatever the engine, it is a guess."""
EDITED = 5
"""Letters from which on a word may be misspelled: shorter ones are other words."""

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_CAMEL = re.compile("[A-Z]+(?![a-z])|[A-Z]?[a-z\u00df-\u00ff]+")
_LONG_VOWEL = re.compile("(?<=[ァ-ヺー]{2})ー(?![ァ-ヺー])")
_LATIN = "A-Za-z\u00c0-\u024f"
_WORD = re.compile(f"[{_LATIN}]+")
_LONG_WORDS = re.compile(f"[{_LATIN}]{{{EDITED - 1},}}")
_APART = " \0 "
"""Between path, symbol and text, so that no keyword reaches from one into the next."""


class Page:
    """A result as keywords are looked for in it, each reading made when it is first needed."""

    def __init__(self, result: Result) -> None:
        self.spelled = _APART.join((result.document, result.symbol, result.text))

    @cached_property
    def folded(self) -> str:
        """Case, width and white space aside."""
        return folded(self.spelled)

    @cached_property
    def encoded(self) -> bytes:
        """Width aside, as RE2 reads it."""
        return _unified(self.spelled).encode("utf-8", "replace")

    @cached_property
    def words(self) -> bytes:
        """Each word long enough to be misspelled once, whole and as part of identifiers, a line a word."""
        found = set(_LONG_WORDS.findall(_unified(self.spelled)))
        mixed = [part for word in found if not word.islower() for part in _CAMEL.findall(word)]
        return "\n".join(("", *{word.casefold() for word in (*found, *mixed)}, "")).encode()


def occurs(keyword: str, result: Result, mode: Mode, likeness: float = 0.0) -> bool:
    """Whether a keyword occurs in a result; `likeness` counts in semantic mode alone. An empty one never does."""
    return on_page(keyword, Page(result), mode, likeness)


def on_page(keyword: str, page: Page, mode: Mode, likeness: float = 0.0) -> bool:
    """Do as `occurs`, for a result that many keywords are looked for in."""
    if not keyword.strip():
        return False
    if mode == "strict":
        return keyword in page.spelled
    if mode == "semantic" and likeness >= LIKE:
        return True
    said, parts, near = _read(keyword)
    if said in page.folded:
        return True
    if parts is not None and parts.search(page.encoded):
        return True
    return near is not None and near.search(page.words) is not None


def folded(text: str) -> str:
    """Return a text with one spelling for what differs in case, width, white space or a final long vowel alone."""
    text = _unified(text)
    text = text if text.isascii() else _LONG_VOWEL.sub("", text)
    return " ".join(text.casefold().split())


def _unified(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


@lru_cache(maxsize=256)
def _read(keyword: str) -> tuple[str, Any, Any]:
    """Return a keyword folded, and what finds it as one identifier and misspelled; None where it cannot be."""
    import re2

    parts = _PARTS.findall(_unified(keyword))
    word = folded(keyword)
    misspelled = len(word) >= EDITED and _WORD.fullmatch(word)
    return (
        word,
        re2.compile(_in_a_row(parts)) if len(parts) > 1 else None,
        re2.compile(_one_edit(word)) if misspelled else None,
    )


def _in_a_row(parts: Sequence[str]) -> str:
    """Return an expression for words with anything but letters and digits between them, or each capitalised."""
    first, *others = parts
    followed = (rf"(?:[^\pL\pN\x00]+(?i:{part})|{part.capitalize()}|{part.upper()})" for part in others)
    return f"(?i:{first}){''.join(followed)}"


def _one_edit(word: str) -> str:
    """Return an expression for the lines that are one letter more, less or another than `word`.

    That is a regular language, so that RE2 finds it in one pass over the words.
    """
    changed = (f"{word[:at]}[^\n]?{word[at + 1 :]}" for at in range(len(word)))
    longer = (f"{word[:at]}[^\n]{word[at:]}" for at in range(len(word) + 1))
    return f"\n(?:{'|'.join((*changed, *longer))})\n"
