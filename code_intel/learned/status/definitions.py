"""What the local index knows of the symbol that an agreement names (docs/decisions/0026)."""

from pathlib import Path

from code_intel.chunking.languages import row_of
from code_intel.errors import CodeIntelError
from code_intel.foundation.text import hidden_character
from code_intel.index.facade import Index
from code_intel.learned.status.validity import NO_SYMBOL_FACTS, SymbolFacts, lookup_name
from code_intel.records import Agreement

DEFINITIONS = 50
"""Definitions of one name that are looked at."""
MAX_SAME_TEXT_DEFINITIONS = 4
"""Definitions with the agreed text that are looked at: one is proof, and of more some are named."""


def facts_of(forest: Index, agreement: Agreement) -> SymbolFacts:
    """Return what a complete index knows; nothing where it could not read the symbol's file."""
    try:
        store = forest.store
        found = store.definitions(lookup_name(agreement.symbol), exact=True, limit=DEFINITIONS)
        if found:
            return SymbolFacts(complete=True, definitions=tuple(found))
        if _is_unread(forest, agreement):
            return NO_SYMBOL_FACTS
        heirs = store.of_body(agreement.body, MAX_SAME_TEXT_DEFINITIONS) if agreement.body else []
    except CodeIntelError:
        return NO_SYMBOL_FACTS
    if any(hidden_character(heir.qualified) for heir in heirs):  # an unreadable name does not count
        heirs = []
    return SymbolFacts(complete=True, heirs=tuple(heirs))


def _is_unread(forest: Index, agreement: Agreement) -> bool:
    """Whether the symbol may be in a file whose symbols the index does not know.

    The file has a language that it cannot read, or is not parsed (a syntax error, too long), or is
    there and not indexed.
    """
    paths = [file.path for file in agreement.files]
    if paths and not any(row_of(path).complete for path in paths):
        return True
    for path in paths:
        known = forest.store.document(path)
        if known.problem if known else _is_file(forest.config.folder, path):
            return True
    return False


def _is_file(folder: Path, path: str) -> bool:
    try:
        return row_of(path).complete and (folder / path).is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False
