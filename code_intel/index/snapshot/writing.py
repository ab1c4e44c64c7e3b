"""Write the vectors of an index to the bytes of a snapshot (docs/decisions/0094)."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from code_intel.chunking import decode
from code_intel.errors import NotFoundError
from code_intel.foundation.redaction import masked
from code_intel.index import walk
from code_intel.index.corpus import is_page
from code_intel.index.facade import Index
from code_intel.index.rows import DocumentRow, Generation
from code_intel.index.safe_files import read_resolved
from code_intel.index.snapshot.format import (
    MAX_PATH_CHARS,
    SnapshotChunk,
    SnapshotFile,
    dump,
    max_chunks,
)
from code_intel.index.store import Store

CHANGED = "changed since it was indexed"
LOCAL = "not part of the repository"
SECRET_NAME = "has a name that may hold a secret"  # noqa: S105 - a reason
UNREADABLE = "cannot be read"
TOO_LARGE = "has too many chunks"
NO_VECTORS = "has no vectors"
Progress = Callable[[int, int], None]


@dataclass(slots=True)
class Written:
    """What a snapshot contains, and what it leaves out.

    Attributes:
        data: The bytes of the file.
        identity: The engine that computed the vectors.
        files: Number of files.
        vectors: Number of vectors.
        pending: Number of chunks of the index that have no vector yet.
        left_out: The documents that are left out, by reason.
    """

    data: bytes = b""
    identity: str = ""
    files: int = 0
    vectors: int = 0
    pending: int = 0
    left_out: dict[str, list[str]] = field(default_factory=dict)


def snapshot_of(
    index: Index,
    progress: Progress = lambda done, total: None,  # noqa: ARG005 - says nothing by default
) -> Written:
    """Return a snapshot of the documents that are on disk as they were indexed.

    Documents that only this machine has are left out: pages of query plans, files outside the
    project, and files that the user added by name.

    Raises:
        NotFoundError: The index does not exist, or has no vectors.
        StorageError: The index or the project cannot be read.
    """
    store = index.store
    written = Written()
    with store.snapshot():
        active = store.generations.active()
        written.identity = active.identity
        written.pending = store.pending_count()
        if active.dimensions:
            files = _files(index, active, written, progress)
            written.data = dump(active.identity, active.dimensions, files)
    if not written.vectors:
        raise NotFoundError(
            f"The index at {store.path} has no vectors of files that are as they were indexed.",
            hint=f"Run `{index.command}`.",
        )
    return written


def _files(
    index: Index, active: Generation, written: Written, progress: Progress
) -> Iterator[SnapshotFile]:
    store = index.store
    found = walk.scan(index.config).files
    # Source first: in a large repository, it has vectors while the rest is loaded.
    documents = sorted(store.documents(), key=lambda row: (row.priority, row.path))
    for done, row in enumerate(documents):
        progress(done, len(documents))
        file = _file(store, active, row, found.get(row.path))
        if isinstance(file, str):
            written.left_out.setdefault(file, []).append(row.path)
            continue
        written.files += 1
        written.vectors += len(file.chunks)
        yield file
    progress(len(documents), len(documents))


def _file(
    store: Store, active: Generation, row: DocumentRow, found: walk.FoundFile | None
) -> SnapshotFile | str:
    """Return a document's part of the snapshot, or the reason to leave it out."""
    if found is None or is_page(row.path) or row.path.startswith("/"):
        return LOCAL
    if masked(row.path) != row.path:
        return SECRET_NAME
    try:
        data, _ = read_resolved(found.real)
    except OSError:
        return UNREADABLE
    text = decode(data)
    if text is None or hashlib.sha256(data).hexdigest() != row.digest:
        return CHANGED
    chunks, vectors, end = [], [], 0
    for chunk, card, vector in store.generations.chunks_of(active, row.path):
        start = text.find(chunk, end)
        end = max(end, start + len(chunk))
        if vector is not None and chunk and start >= 0:
            chunks.append(SnapshotChunk(start, end, card))
            vectors.append(vector)
    if len(chunks) > max_chunks(active.dimensions) or len(row.path) > MAX_PATH_CHARS:
        return TOO_LARGE
    return SnapshotFile(row.path, row.digest, chunks, vectors) if chunks else NO_VECTORS
