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
from functools import cached_property, lru_cache
from typing import Any

from code_intel.planning.records import Mode, Result

LIKE = 0.6
"""Likeness from which a keyword is there by its meaning; below, whatever the engine, it is a guess."""
EDITED = 5
"""Letters from which on a word may be misspelled: shorter ones are other words."""

_PARTS = re.compile(r"\0|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_LONG_VOWEL = re.compile("(?<=[ァ-ヺ]{2})ー(?![ァ-ヺー])")
_LATIN = re.compile("[a-z\u00df-\u024f]+")
_WORDS = re.compile("[a-z\u00df-\u024f]{%d,}" % (EDITED - 1))  # noqa: UP031 - braces are the expression's
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
    def parts(self) -> str:
        """The words that identifiers are made of, a space around each."""
        return _parts(self.spelled)

    @cached_property
    def words(self) -> bytes:
        """Each word long enough to be misspelled once, whole and as part of identifiers, a line a word."""
        found = {*_WORDS.findall(self.folded), *_WORDS.findall(self.parts)}
        return "\n".join(("", *sorted(found), "")).encode()


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
    said = folded(keyword)
    if said in page.folded:
        return True
    parts = _parts(keyword)
    if parts.count(" ") > 2 and parts in page.parts:  # noqa: PLR2004 - one before, one between, one behind
        return True
    misspelled = _one_edit(said) if len(said) >= EDITED and _LATIN.fullmatch(said) else None
    return misspelled is not None and misspelled.search(page.words) is not None


@lru_cache(maxsize=256)
def folded(text: str) -> str:
    """Return a text with one spelling for what differs in case, width, white space or a final long vowel alone."""
    if not text.isascii():
        text = _LONG_VOWEL.sub("", unicodedata.normalize("NFKC", text))
    return " ".join(text.casefold().split())


def _parts(text: str) -> str:
    """Return the words of identifiers and prose, folded: `exportDefault` is ` export default `."""
    found = _PARTS.findall(text if text.isascii() else unicodedata.normalize("NFKC", text))
    return f" {' '.join(found).casefold()} " if found else ""


@lru_cache(maxsize=256)
def _one_edit(word: str) -> Any:
    """Return an expression for the lines that are one letter away from a word of small letters.

    One letter more, less or another: a regular language, so that RE2 finds it in a pass over the words.
    """
    import re2

    changed = (f"{word[:at]}[^\\n]?{word[at + 1 :]}" for at in range(len(word)))
    longer = (f"{word[:at]}[^\\n]{word[at:]}" for at in range(len(word) + 1))
    return re2.compile(f"\\n(?:{'|'.join((*changed, *longer))})\\n".encode())
