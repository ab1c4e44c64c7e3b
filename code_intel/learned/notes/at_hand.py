"""Find the conventions and warnings that concern the files and symbols of a change."""

from collections.abc import Sequence

from code_intel.errors import CodeIntelError
from code_intel.index.facade import Index
from code_intel.learned.notes.entries import NoteEntry
from code_intel.learned.notes.note_status import SERVED_NOTES, NoteStatus, note_statuses
from code_intel.learned.notes.scope import concerns
from code_intel.learned.status.definitions import MAX_DEFINITIONS
from code_intel.learned.status.snapshot import Snapshot
from code_intel.learned.status.validity import lookup_name

MAX_AT_HAND = 3
"""Limit of the notes that accompany a permission to write."""
_ORDER = {"warning": 0, "convention": 1}
"""The kinds that concern files, the most urgent first."""


def notes_at_hand(
    forest: Index, found: Snapshot, files: Sequence[str], symbols: Sequence[str]
) -> list[NoteStatus]:
    """Return the warnings and conventions that concern a change, confirmed ones first.

    Args:
        forest: The index of the project's source.
        found: A snapshot of the map.
        files: The files that may be written, relative to the project.
        symbols: The symbols that the change rests on.
    """
    entries = [
        entry
        for entry in found.notes
        if entry.note.kind in _ORDER
        and (concerns(entry.note, files, symbols) or _defined_in(forest, entry, files))
    ]
    statuses = [s for s in note_statuses(forest, found, entries) if s.validity in SERVED_NOTES]
    statuses.sort(key=lambda s: (not s.confirmed, _ORDER[s.note.kind], s.note.title))
    return statuses[:MAX_AT_HAND]


def _defined_in(forest: Index, entry: NoteEntry, files: Sequence[str]) -> bool:
    """Return whether one of the files defines a symbol that the note names."""
    try:
        return any(
            definition.file in files
            for symbol in entry.note.symbols
            for definition in forest.store.definitions(
                lookup_name(symbol), exact=True, limit=MAX_DEFINITIONS
            )
        )
    except CodeIntelError:
        return False
