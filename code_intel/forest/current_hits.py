"""Search the forest again if a file of the answer has changed since it was indexed.

A scan finds a change some seconds after it was made. An answer must not show earlier lines until
then (docs/decisions/0105), so the few files that it shows are compared with the disk.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

from code_intel.errors import CodeIntelError
from code_intel.foundation.text import counted
from code_intel.index.facade import Index
from code_intel.index.store import Store
from code_intel.index.sync import sync_document
from code_intel.records import Freshness, Hit

MAX_TURNS = 3
"""How often to search at most; files that a program writes all the time never come to rest."""
CHANGED = "of the answer changed after it was indexed"


class FoundHits(NamedTuple):
    """Hits, and the sizes and times that the index had of their files in the same snapshot."""

    hits: list[Hit]
    files: Mapping[str, tuple[int, int]]


def found_in(store: Store, hits: list[Hit]) -> FoundHits:
    """Return hits with the files that they come from; call it in the snapshot of the search."""
    files = {}
    for name in dict.fromkeys(hit.document for hit in hits if not hit.foreign):
        known = store.document(name)
        if known is not None:  # a page of a query plan is not a file of the index
            files[name] = known.size, known.mtime_ns
    return FoundHits(hits, files)


def current(
    index: Index, found: FoundHits, ask_again: Callable[[], FoundHits]
) -> tuple[list[Hit], tuple[str, ...]]:
    """Return hits as their files are now, and a note if some are not."""
    for _ in range(1, MAX_TURNS):
        changed = _changed(index, found)
        if not changed or not _refresh(index, changed):
            break
        found = ask_again()
    changed = _changed(index, found)
    note = f"index: {counted(len(changed), 'file')} {CHANGED}"
    return found.hits, (note,) if changed else ()


def is_behind(found: Freshness) -> bool:
    """Return whether a hit is not as its file is now."""
    return found.state == "fresh" and any(note.endswith(CHANGED) for note in found.degraded)


def _changed(index: Index, found: FoundHits) -> list[str]:
    """Return the documents whose size or time is not that of the index."""
    changed = []
    for name, indexed in found.files.items():
        try:
            facts = (index.config.folder / name).stat()
            same = indexed == (facts.st_size, facts.st_mtime_ns)
        except OSError:
            same = False
        if not same:
            changed.append(name)
    return changed


def _refresh(index: Index, names: Iterable[str]) -> bool:
    """Index the words of documents; return whether any could be."""
    done = 0
    for name in names if not index.readonly else ():
        with suppress(CodeIntelError):
            sync_document(index.store, index.config, index.config.folder / name)
            done += 1
    return done > 0
