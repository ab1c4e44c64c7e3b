"""Decide which documents to delete from the index after a scan.

A file that the scan did not find is first looked up by name, because it may be unreadable.
Documents of a folder that is missing, or that is empty and now on another volume, are kept until
the folder is back or the configuration no longer names it. If at least ten documents, and more than
half of all, disappear at once, they are deleted only after a second scan misses the same ones
(docs/decisions/0011, 0017).
"""

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from code_intel.config import IndexConfig
from code_intel.foundation.text import counted
from code_intel.index import walk
from code_intel.index.store import Store

MIN_MASS_DELETION = 10


@dataclass(slots=True)
class Verdict:
    """What to do with the documents that a scan did not find.

    Attributes:
        to_delete: Documents whose file no longer exists, or is no longer covered by a pattern.
        held: Documents that are kept for now although their file seems deleted.
        failed: Files that could not be checked, with the reason, by name.
        warnings: Why documents are held.
    """

    to_delete: list[str] = field(default_factory=list)
    held: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def judge(store: Store, config: IndexConfig, scan: walk.Scan, known: Iterable[str]) -> Verdict:
    """Return what to do with the `known` documents that are not in `scan`."""
    verdict, gone, documents = Verdict(), [], list(known)
    for name in sorted(name for name in documents if name not in scan.files):
        state = _disk_state(config.folder / name)
        if state == "gone":
            gone.append(name)
        elif state == "present":
            verdict.to_delete.append(name)
        else:
            verdict.failed[name] = state
    folder = Path(os.path.realpath(config.folder))
    for base in [*scan.missing, *_unmounted(store, config, scan, gone)]:
        absent = [name for name in gone if (folder / name).is_relative_to(base)]
        if absent:
            gone = [name for name in gone if name not in set(absent)]
            verdict.held += absent
            verdict.warnings.append(
                f"{base} is missing or not mounted. {counted(len(absent), 'document')} from it stay"
                " in the index until it is back or document_patterns no longer names it."
            )
    if not _may_delete(store, gone, len(documents)):
        verdict.held += gone
        verdict.warnings.append(
            f"{counted(len(gone), 'document')} disappeared at once. They are kept until the next"
            " sync confirms it."
        )
        gone = []
    verdict.to_delete += gone
    return verdict


def _disk_state(path: Path) -> str:
    """Return `gone`, `present`, or the reason why this cannot be determined."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return "gone"
    except OSError as error:
        return f"unreadable: {error.strerror}"
    return "present"


def _unmounted(
    store: Store, config: IndexConfig, scan: walk.Scan, gone: Iterable[str]
) -> list[Path]:
    """Return the folders that lost all files and are on another volume than at the last scan."""
    known: dict[str, int] = json.loads(store.get_meta("volumes") or "{}")
    before = dict(known)
    folder = Path(os.path.realpath(config.folder))
    now, unmounted = dict(before), []
    for base in {pattern.base for pattern in walk.patterns(config)} - set(scan.missing):
        volume = base.stat().st_dev
        if before.setdefault(str(base), volume) == volume:
            now[str(base)] = volume
            continue
        has_files = any(Path(file.real).is_relative_to(base) for file in scan.files.values())
        if not has_files and any((folder / name).is_relative_to(base) for name in gone):
            unmounted.append(base)
        else:
            now[str(base)] = volume
    if now != known:
        store.set_meta("volumes", json.dumps(now, sort_keys=True))
    return unmounted


def _may_delete(store: Store, gone: list[str], total: int) -> bool:
    """Return whether `gone` can be deleted: it is small, or the last scan missed the same files."""
    is_mass = len(gone) >= MIN_MASS_DELETION and len(gone) * 2 > total
    key = hashlib.sha256("\0".join(gone).encode()).hexdigest() if is_mass else ""
    before = store.get_meta("vanished") or ""
    if before != key:
        store.set_meta("vanished", key)
    return before == key or not is_mass
