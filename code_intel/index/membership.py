"""Say whether a file is in the index, and why not: by the walk that a sync uses."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from code_intel.chunking import decode_counting
from code_intel.config import IndexConfig
from code_intel.foundation.spelling import spelled
from code_intel.index import walk
from code_intel.index.corpus import OwnNames
from code_intel.index.safe_files import read_document, real_path
from code_intel.index.skipped import BINARY
from code_intel.index.store import Store

MAX_SIMILAR = 3
"""Documents of the same name that a reason lists."""


class Membership(NamedTuple):
    """Whether a file is in the index.

    Attributes:
        document: Its name in the index.
        indexed: Whether the index has it.
        reason: Why the index does not have it, or in which way it has another text; or empty.
    """

    document: str
    indexed: bool
    reason: str = ""


def membership(store: Store, config: IndexConfig, path: str) -> Membership:
    """Return whether a file is in the index, by its path or the end of its path.

    Args:
        store: The index.
        config: Its configuration.
        path: A path relative to the config's folder, or absolute; `cart.py` is enough if only one
            document ends so.
    """
    name, real = _located(config, path)
    if (row := store.document(name)) is not None:
        return Membership(name, indexed=True, reason=_difference(real, row.size, row.mtime_ns))
    is_inside = any(pattern.holds(real) for pattern in walk.patterns(config))
    if is_inside and os.path.lexists(real):
        return Membership(name, indexed=False, reason=next(_reasons(store, config, name, real)))
    similar = [row.path for row in store.documents() if f"/{row.path}".endswith(f"/{path}")]
    if len(similar) == 1:
        return membership(store, config, similar[0])
    if not (is_inside or similar):
        reason = f"It is in no folder of document_patterns in {config.path.name}."
        return Membership(name, indexed=False, reason=reason)
    names = f" The index has {', '.join(similar[:MAX_SIMILAR])}." if similar else ""
    return Membership(name, indexed=False, reason=f"There is no such file.{names}")


def _located(config: IndexConfig, path: str) -> tuple[str, Path]:
    """Return the document name and the real path of a file that need not exist."""
    folder = os.path.realpath(config.folder)
    real = Path(os.path.normpath(Path(folder) / path))
    with suppress(OSError, ValueError):  # a name that cannot be a file
        real = spelled(real_path(real))
    return walk.document_name(str(real), folder), real


def _difference(real: Path, size: int, mtime_ns: int) -> str:
    """Return how a file on disk differs from the indexed one, or an empty text."""
    try:
        info = real.stat()
    except OSError:
        return "The file no longer exists; the next sync removes it from the index."
    if (info.st_size, info.st_mtime_ns) == (size, mtime_ns):
        return ""
    return "The file has changed since it was indexed; the next sync reads it."


def _reasons(store: Store, config: IndexConfig, name: str, real: Path) -> Iterator[str]:
    """Yield the reasons why the index does not have a file that exists, the first one first."""
    if real.is_dir():
        yield "It is a folder."
    own = OwnNames(config)
    if own.is_own_file(name):
        yield "It is a file of code-intel itself, which searches leave out."
    if own.is_plan_file(name):
        yield "It is a file of a query plan, which searches leave out."
    if not walk.is_covered(config, real):
        patterns = ", ".join(config.patterns)
        yield f"It matches no pattern of document_patterns in {config.path.name}: {patterns}."
    scan = walk.scan(config)
    walk.apply_choices(scan, config, store.choices())
    if reason := scan.skipped.get(name):
        yield f"It is skipped: {reason}."
    if name not in scan.files:
        yield "It is ignored: by .gitignore, or because its folder holds generated files."
    try:
        if decode_counting(read_document(config.folder, name)) is None:
            yield f"It is skipped: {BINARY}."
    except OSError as error:
        yield f"It cannot be read: {error.strerror}."
    yield "It is not indexed yet; run `code-intel sync`."
