"""Resolve a language that a caller names: `python`, `py` or `.py`."""

from code_intel.chunking.languages import LANGUAGES, PLAIN, Language, row_of
from code_intel.errors import UsageError

_NAMES = {row.name: row for row in LANGUAGES}
PARSED_LANGUAGES = tuple(row.name for row in LANGUAGES if row.grammar or row.reader)
"""Languages whose symbols are recognized."""


def language_named(language: str, field: str = "language") -> str:
    """Return the name of a language in the index; empty for an empty text.

    Raises:
        UsageError: The language is unknown; the error lists those whose symbols are recognized.
    """
    return row_named(language, field).name if language.strip() else ""


def row_named(language: str, field: str = "language") -> Language:
    """Return the row of a language; raises the same error as `language_named`."""
    row = _row(language)
    if row is PLAIN:
        raise UsageError(
            f"{field}: unknown language {language[:80]!r}.",
            hint=f"Use one of {', '.join(PARSED_LANGUAGES)}, or an extension such as py.",
            details={"field": field, "languages": list(PARSED_LANGUAGES)},
        )
    return row


def type_named(language: str) -> str:
    """Return ripgrep's name of a language; unknown names are kept for ripgrep to check."""
    row = _row(language)
    return row.name if row.name in PARSED_LANGUAGES else language


def _row(language: str) -> Language:
    name = language.strip().lower().removeprefix(".")
    return _NAMES.get(name) or row_of(f"x.{name}")
