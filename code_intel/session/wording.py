"""When two texts say the same: folding, content words, and whether a quote covers a value.

Japanese and English mix within one sentence, so a text is cut into runs of one script, and each
script has its own idea of a word. Rules and examples: docs/decisions/0008.
"""


def fold(text: str) -> str:
    """Return `text` in one spelling: NFKC, case, white space, quotes and dashes folded."""


def compact(text: str) -> str:
    """Return the folded letters and digits of `text` without anything between them."""


def is_cjk(text: str) -> bool:
    """Whether `text` has Han, kana or Hangul in it."""


def hidden_character(text: str) -> str:
    """Return the first control, format or surrogate character of `text`, or the empty string."""


def content_words(text: str) -> frozenset[str]:
    """Return the folded words of `text` that carry meaning, stems for Latin ones."""


def covers(quote: str, value: str) -> bool | None:
    """Whether `quote` says all that `value` says.

    Returns:
        True when the value is a stretch of whole words of the quote, False when it only rephrases
        it with the same content words, None when it says something else or more.
    """
