"""Which documents are really gone? Unreadable is not deleted, and an unmounted disk deletes nothing.

Before a document is forgotten the disk is asked about it by name. What was indexed from a folder that
is missing, or empty on another volume than it was on, is kept until the folder is back or leaves the
config. And when more than half of at least ten documents vanish at once, nothing is forgotten until a
second scan misses the same ones (docs/decisions/0011, 0017).
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

MANY = 10


@dataclass(slots=True)
class Verdict:
    """What is to become of the documents that a scan did not find.

    Attributes:
        doomed: To be forgotten: gone, or there and meant by nothing any more.
        held: Seem gone, and are kept.
        failed: Name to reason: it cannot be known.
        warnings: Why something is kept, a sentence each.
    """

    doomed: list[str] = field(default_factory=list)
    held: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def judge(store: Store, config: IndexConfig, scan: walk.Scan, known: Iterable[str]) -> Verdict:
    """Return the verdict about the `known` documents that `scan` has not."""
    verdict, gone, everything = Verdict(), [], list(known)
    for name in sorted(name for name in everything if name not in scan.files):
        fate = _fate(config.folder / name)
        if fate == "gone":
            gone.append(name)
        elif fate == "there":
            verdict.doomed.append(name)
        else:
            verdict.failed[name] = fate
    folder = Path(os.path.realpath(config.folder))
    for base in [*scan.missing, *_unmounted(store, config, scan, gone)]:
        away = [name for name in gone if (folder / name).is_relative_to(base)]
        if away:
            gone = [name for name in gone if name not in set(away)]
            verdict.held += away
            verdict.warnings.append(
                f"{base} is missing or not mounted; {counted(len(away), 'document')} of it stay until it is back "
                f"or leaves document_patterns."
            )
    if not _believable(store, gone, len(everything)):
        verdict.held += gone
        verdict.warnings.append(
            f"{counted(len(gone), 'document')} are gone at once; they are kept until the next sync agrees."
        )
        gone = []
    verdict.doomed += gone
    return verdict


def _fate(path: Path) -> str:
    """Say whether a file is `gone`, `there` (nobody means it now), or why that cannot be known."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return "gone"
    except OSError as error:
        return f"unreadable: {error.strerror}"
    return "there"


def _unmounted(
    store: Store, config: IndexConfig, scan: walk.Scan, gone: Iterable[str]
) -> list[Path]:
    """Return folders that have lost all their documents together with the volume they were on."""
    known: dict[str, int] = json.loads(store.get_meta("volumes") or "{}")
    before = dict(known)
    folder = Path(os.path.realpath(config.folder))
    now, unmounted = dict(before), []
    for base in {pattern.base for pattern in walk.patterns(config)} - set(scan.missing):
        volume = base.stat().st_dev
        if before.setdefault(str(base), volume) == volume:
            now[str(base)] = volume
            continue
        has_any = any(Path(file.real).is_relative_to(base) for file in scan.files.values())
        if not has_any and any((folder / name).is_relative_to(base) for name in gone):
            unmounted.append(base)
        else:
            now[str(base)] = volume
    if now != known:
        store.set_meta("volumes", json.dumps(now, sort_keys=True))
    return unmounted


def _believable(store: Store, gone: list[str], total: int) -> bool:
    """Whether to forget `gone`: at once as a rule, else when the last scan missed the same."""
    incredible = len(gone) >= MANY and len(gone) * 2 > total
    key = hashlib.sha256("\0".join(gone).encode()).hexdigest() if incredible else ""
    before = store.get_meta("vanished") or ""
    if before != key:
        store.set_meta("vanished", key)
    return before == key or not incredible
