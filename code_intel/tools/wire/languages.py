"""A language as a caller names it: `python`, `py` or `.py`."""

from code_intel.chunking.languages import LANGUAGES, PLAIN, Language, row_of
from code_intel.errors import UsageError

_NAMES = {row.name: row for row in LANGUAGES}
READ = tuple(row.name for row in LANGUAGES if row.grammar or row.reader)
"""Languages whose symbols are read."""


def language_named(language: str, field: str = "language") -> str:
    """Return how the index calls a language; empty for the empty string.

    Raises:
        UsageError: There is no such language; names those whose symbols are read.
    """
    return row_named(language, field).name if language.strip() else ""


def row_named(language: str, field: str = "language") -> Language:
    """Return the row of a language; errors as in `language_named`."""
    row = _row(language)
    if row is PLAIN:
        raise UsageError(
            f"{field}: no language is called {language[:80]!r}.",
            hint=f"Use one of {', '.join(READ)}, or an extension such as py.",
            details={"field": field, "languages": list(READ)},
        )
    return row


def type_named(language: str) -> str:
    """Return what ripgrep calls a language; a name that is none of ours stays: ripgrep knows more of them."""
    row = _row(language)
    return row.name if row.name in READ else language


def _row(language: str) -> Language:
    asked = language.strip().lower().removeprefix(".")
    return _NAMES.get(asked) or row_of(f"x.{asked}")
