"""Load the vectors of a snapshot for what is the same here (docs/decisions/0094).

A file that no sync has parsed yet, and whose content has the digest of the snapshot, gets its
chunks with their vectors at once: the texts come from the file on disk, cut where the snapshot
says. The next sync parses it as any other and keeps each vector whose card has the same digest. A
file that is in the index gets the vectors that its cards lack.

So a snapshot decides only where a file is cut until it is parsed, and which vectors its cards
have. Texts, lines, symbols and words always come from this machine's files.
"""

import hashlib
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from code_intel.chunking import decode, language_of
from code_intel.chunking.spans import Lines
from code_intel.errors import EmbeddingError, NotFoundError
from code_intel.index import walk
from code_intel.index.corpus import MAX_FILE_BYTES, is_page, priority
from code_intel.index.facade import Index
from code_intel.index.lease import IndexerLease
from code_intel.index.rows import UNPARSED, DocumentRow, Generation
from code_intel.index.safe_files import read_resolved
from code_intel.index.snapshot.format import SnapshotFile
from code_intel.index.snapshot.reading import Snapshot
from code_intel.index.store import Store
from code_intel.records import Chunk, ParsedFile

CHANGED = "have another content here"
ABSENT = "are not in this project"
KNOWN = "have all of their vectors already"
UNREADABLE = "cannot be read"
_NAME = re.compile(r"[\w./@+-]{1,100}")

Progress = Callable[[int, int], None]


@dataclass(slots=True)
class Loaded:
    """What was used of a snapshot.

    Attributes:
        files: Number of files in the snapshot.
        used: Number of files that got vectors.
        vectors: Number of vectors that were stored.
        unused: The other files, by reason.
        new: Number of files here that the snapshot does not have.
    """

    files: int = 0
    used: int = 0
    vectors: int = 0
    unused: dict[str, list[str]] = field(default_factory=dict)
    new: int = 0

    def use(self, vectors: int) -> None:
        """Count a file that got vectors."""
        self.used += 1
        self.vectors += vectors

    def leave(self, path: str, reason: str) -> None:
        """Note why a file was not used."""
        self.unused.setdefault(reason, []).append(path)


class _Document(NamedTuple):
    """A file of the snapshot, and what to make of it.

    Attributes:
        file: The file.
        new: The document to add, if the index has none and the file on disk is the same.
        reason: Why nothing of it can be used, or empty.
    """

    file: SnapshotFile
    new: tuple[DocumentRow, ParsedFile] | None = None
    reason: str = ""

    @property
    def vectors(self) -> dict[str, bytes]:
        """The vectors by digest of the card."""
        pairs = zip(self.file.chunks, self.file.vectors, strict=True)
        return {chunk.card: vector for chunk, vector in pairs}


def load(
    index: Index,
    snapshot: Snapshot,
    *,
    dry_run: bool = False,
    progress: Progress = lambda done, total: None,  # noqa: ARG005 - says nothing by default
) -> Loaded:
    """Load the vectors of a snapshot; each group of files is one transaction.

    Other processes may use and update the index meanwhile. A process that is killed leaves a usable
    index, and loading again loads the rest.

    Args:
        index: The forest's index, with its embedder.
        snapshot: The snapshot.
        dry_run: Only return what would be loaded.
        progress: Called with (files done, files).

    Raises:
        EmbeddingError: The snapshot has vectors of another model than this project uses.
        StorageError: The snapshot is damaged, or the index cannot be written.
        BusyError: Another process kept the write lock for more than five seconds.
    """
    _check_model(index, snapshot)
    store = _store(index)
    scan = walk.scan(index.config)
    walk.apply_choices(scan, index.config, store.choices() if store else {})
    known = {row.path for row in store.documents()} if store else set()
    report = Loaded(snapshot.files, new=len(scan.files))
    lease = IndexerLease(index.config.db_path)
    done = 0
    try:
        if not dry_run:
            lease.acquire()
        for group in _prepared(snapshot, scan, known):
            report.new -= sum(each.file.path in scan.files for each in group)
            if store is None or dry_run:
                _preview(store, snapshot.identity, group, report)
            else:
                _put(store, snapshot, group, report)
            done += len(group)
            progress(done, snapshot.files)
            lease.heartbeat()
        if store is not None and not dry_run and (found := store.generations.of(snapshot.identity)):
            store.generations.finish(found)
    finally:
        lease.release()
    return report


def _check_model(index: Index, snapshot: Snapshot) -> None:
    """Require that the snapshot's vectors are those that this project would compute."""
    used = index.embedder.identity if index.embedder else ""
    if snapshot.identity == used and snapshot.dimensions == index.config.dimensions:
        return
    # The name is untrusted text.
    other = snapshot.identity if _NAME.fullmatch(snapshot.identity) else "an unknown model"
    raise EmbeddingError(
        f"The snapshot has vectors of {other} with {snapshot.dimensions} numbers; this"
        f" project uses {used or 'no model'} with {index.config.dimensions}. Nothing was loaded.",
        hint=f"Run `{index.command}` to compute the vectors here, or write the snapshot with the"
        " same model.",
    )


def _store(index: Index) -> Store | None:
    """Return the store; None if the index is read-only and does not exist."""
    try:
        return index.store
    except NotFoundError:
        return None


def _prepared(snapshot: Snapshot, scan: walk.Scan, known: set[str]) -> Iterator[list[_Document]]:
    """Yield the groups of a snapshot; read the files of the next one while one is used."""

    def read(group: list[SnapshotFile]) -> list[_Document]:
        return [_read(file, scan.files.get(file.path), file.path in known) for file in group]

    with ThreadPoolExecutor(1, thread_name_prefix="snapshot") as pool:
        waiting = None
        for group in snapshot.parts():
            following = pool.submit(read, group)
            if waiting is not None:
                yield waiting.result()
            waiting = following
        if waiting is not None:
            yield waiting.result()


def _read(file: SnapshotFile, found: walk.FoundFile | None, known: bool) -> _Document:  # noqa: FBT001
    if found is None or is_page(file.path):
        return _Document(file, reason=ABSENT)
    if known:
        return _Document(file)
    try:
        data, _ = read_resolved(found.real)
    except OSError:
        return _Document(file, reason=UNREADABLE)
    text = decode(data) if len(data) <= MAX_FILE_BYTES else None
    if text is None or hashlib.sha256(data).hexdigest() != file.digest:
        return _Document(file, reason=CHANGED)
    return _Document(file, _unparsed(file, text))


def _unparsed(file: SnapshotFile, text: str) -> tuple[DocumentRow, ParsedFile]:
    """Return a document that the next sync will parse: no digest says that it is up to date."""
    lines = Lines(text)
    language = language_of(file.path)
    row = DocumentRow(
        path=file.path,
        digest="",
        language=language,
        lines=len(lines),
        indexed_at=datetime.now(UTC).isoformat(timespec="seconds"),
        priority=priority(file.path),
    )
    chunks = [
        Chunk(
            position,
            text[start:end],
            lines.number(start),
            lines.number(min(end, len(text)) - 1),
            card=f"{UNPARSED}{card}",
        )
        for position, (start, end, card) in enumerate(file.chunks)
        if start < len(text)
    ]
    return row, ParsedFile(language, tuple(chunks))


def _put(store: Store, snapshot: Snapshot, group: list[_Document], report: Loaded) -> None:
    """Store the vectors of some files in one transaction."""
    with store.batch():
        generation = store.generations.begin(snapshot.identity, snapshot.dimensions)
        for each in group:
            if each.reason:
                report.leave(each.file.path, each.reason)
            elif each.new and store.document(each.file.path) is None:
                store.put_document(*each.new, {generation.id: each.vectors})
                report.use(len(each.new[1].chunks))
            else:
                _fill(store, generation, each, report, write=True)


def _preview(store: Store | None, identity: str, group: list[_Document], report: Loaded) -> None:
    """Count what `_put` would store."""
    generation = store.generations.of(identity) if store else None
    for each in group:
        if each.reason:
            report.leave(each.file.path, each.reason)
        elif each.new or store is None:
            report.use(len(each.file.chunks))
        else:
            _fill(store, generation, each, report, write=False)


def _fill(
    store: Store, generation: Generation | None, each: _Document, report: Loaded, *, write: bool
) -> None:
    """Give the chunks of a document the vectors that their cards lack."""
    path, vectors = each.file.path, each.vectors
    missing = store.generations.without_vector(generation, path)
    found = [(chunk, card) for chunk, card in missing if card in vectors]
    if write and generation and found:
        store.generations.set_vectors(generation.id, found, vectors)
    if found:
        report.use(len(found))
    else:
        report.leave(path, CHANGED if missing else KNOWN)
