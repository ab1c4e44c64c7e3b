"""Look up the symbol of an agreement in the index of the source (docs/decisions/0026)."""

from pathlib import Path

from code_intel.chunking.languages import row_of
from code_intel.errors import CodeIntelError
from code_intel.foundation.text import hidden_character
from code_intel.index.facade import Index
from code_intel.learned.status.validity import NO_SYMBOL_FACTS, SymbolFacts, lookup_name
from code_intel.records import Agreement

MAX_DEFINITIONS = 50
"""Limit of the definitions of a name that are read."""
MAX_SAME_BODY_DEFINITIONS = 4
"""Limit of the definitions with the agreed body that are read. Only one alone proves a rename."""


def facts_of(forest: Index, agreement: Agreement) -> SymbolFacts:
    """Return the facts about an agreement's symbol; none if its file could not be parsed."""
    try:
        store = forest.store
        found = store.definitions(lookup_name(agreement.symbol), exact=True, limit=MAX_DEFINITIONS)
        if found:
            return SymbolFacts(complete=True, definitions=tuple(found))
        if _is_unread(forest, agreement):
            return NO_SYMBOL_FACTS
        heirs = store.of_body(agreement.body, MAX_SAME_BODY_DEFINITIONS) if agreement.body else []
    except CodeIntelError:
        return NO_SYMBOL_FACTS
    if any(hidden_character(heir.qualified) for heir in heirs):  # an unreadable name does not count
        heirs = []
    return SymbolFacts(complete=True, heirs=tuple(heirs))


def _is_unread(forest: Index, agreement: Agreement) -> bool:
    """Return whether the symbol may be in a file whose symbols are not indexed.

    The language of the file is not supported, or the file is not parsed (because of a syntax error
    or its size) or not indexed.
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
