"""Group the files that are never indexed by the reason, and keep the groups in the index."""

import json
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from code_intel.foundation.text import counted, visible
from code_intel.index.store import Store

MAX_NAMES = 5
"""Files that a group names."""
BINARY = "binary, or not in a known encoding"
"""Reason to skip a file that only its content shows."""
SKIPPED = "skipped_files"
"""Key of the groups in `meta`."""


class SkippedFiles(NamedTuple):
    """The files that were skipped for one reason, and the first of their names."""

    reason: str
    files: int
    names: tuple[str, ...]

    def sentence(self) -> str:
        """Return the reason, the number and the first names, without a full stop."""
        more = ", …" if self.files > len(self.names) else ""
        names = ", ".join(map(visible, self.names))
        return f"Skipped {counted(self.files, 'file')} ({self.reason}): {names}{more}"


def grouped(skipped: Mapping[str, str]) -> tuple[SkippedFiles, ...]:
    """Return the groups of skipped files (their reasons by name), the largest first."""
    names: dict[str, list[str]] = {}
    for name, reason in skipped.items():
        names.setdefault(reason, []).append(name)
    groups = (
        SkippedFiles(reason, len(of), tuple(sorted(of)[:MAX_NAMES])) for reason, of in names.items()
    )
    return tuple(sorted(groups, key=lambda group: (-group.files, group.reason)))


def keep(store: Store, skipped: Mapping[str, str]) -> None:
    """Store the groups of the last sync, if they changed."""
    text = json.dumps(grouped(skipped), ensure_ascii=False)
    if text != (store.get_meta(SKIPPED) or "[]"):
        store.set_meta(SKIPPED, text)


def kept(store: Store) -> tuple[SkippedFiles, ...]:
    """Return the groups of the last sync."""
    return tuple(_groups(json.loads(store.get_meta(SKIPPED) or "[]")))


def _groups(rows: list[tuple[str, int, list[str]]]) -> Iterator[SkippedFiles]:
    for reason, files, names in rows:
        yield SkippedFiles(reason, files, tuple(names))
