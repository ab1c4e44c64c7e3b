"""Push the index of a commit to the shared index: only what changed, and only once.

A push is of a commit. Files that git does not track never leave the machine, and neither do files
that differ from the commit: with such a change, there is no push. What the server has already is
not sent again, so a push that was stopped continues where it ended.
"""

import random
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from code_intel.config import IndexConfig
from code_intel.embedding.cache import VectorCache
from code_intel.embedding.engine import Embedder
from code_intel.errors import ConflictError, EmbeddingError, NotFoundError
from code_intel.foundation import git, revisions
from code_intel.foundation.text import counted
from code_intel.index.rows import ChunkRow, DocumentRow
from code_intel.index.store import Store
from code_intel.index.vectors import card_vectors
from code_intel.index.walk import is_covered
from code_intel.records import Definition, Symbol
from code_intel.shared.cards import card_digest, settings_digest
from code_intel.shared.client import MAX_PAUSE_S, TOO_LARGE, SharedClient, SharedIndexError
from code_intel.shared.fields import MAX_COMMITS, MAX_SYMBOLS, is_document, is_name
from code_intel.shared.layers import BaseFile, LayerPlan, generation_id, plan_layers, tree_digest
from code_intel.shared.records import Generation, SharedChunk, SharedFile
from code_intel.shared.routes import (
    MAX_CARDS,
    MAX_LISTED_FILES,
    PUSH_BEGIN,
    PUSH_CARDS,
    PUSH_FILES,
    PUSH_FINISH,
    PUSH_MISSING,
    AnswerT,
    BeginPush,
    FindCards,
    FinishPush,
    ListFiles,
    PushBase,
    QuestionT,
    Route,
    SendFiles,
)
from code_intel.shared.wire import pack, vector_text

T = TypeVar("T")

CALL_TIMEOUT_S = 60.0
RETRIES = 6
"""How often a request is sent again if the server does not answer."""
FIRST_WAIT_S, MAX_WAIT_S = 0.5, 30.0
BATCH_FILES = 100
BATCH_CHARS = 2 << 20
"""Maximum characters of one request, if it has more than one file."""
EMBED_CARDS = 64
"""Number of cards that are embedded at once."""
VECTOR_BYTES = 2048
"""About the bytes of a vector in a request."""
SHOWN_NAMES = 5
UNTRACKED = "not tracked by git, or marked to differ from it"
ODD_NAME = "has a name with control characters"
UNREADABLE = "could not be read"

Advance = Callable[[int, int], None]


class Commit(NamedTuple):
    """The commit to push.

    Attributes:
        id: The object name.
        branch: The branch that will point to it.
        files: The indexed files of the commit, by path.
        left_out: How many indexed files are left out, by reason.
    """

    id: str
    branch: str
    files: Mapping[str, DocumentRow]
    left_out: Mapping[str, int]


@dataclass
class PushReport:
    """What a push has sent, or would send.

    Attributes:
        generation: The id of the generation.
        base: The id of the generation it builds on; empty if everything is new.
        files: Number of files of the commit.
        changed: The files of the new layer.
        deleted: Number of files that the base has and the commit has not.
        sent: The files that were sent now; others had been sent before.
        chunks: Number of chunks in these files.
        embedded: Number of vectors that were computed or taken from this machine's cache.
        reused: Number of vectors that the server had.
        unusable: Number of cards for which the model gives no usable vector.
        sent_bytes: Bytes that were sent.
        received_bytes: Bytes that were received.
    """

    generation: str = ""
    base: str = ""
    files: int = 0
    changed: Sequence[str] = ()
    deleted: int = 0
    sent: list[str] = field(default_factory=list)
    chunks: int = 0
    embedded: int = 0
    reused: int = 0
    unusable: int = 0
    sent_bytes: int = 0
    received_bytes: int = 0


def commit_of(
    store: Store, config: IndexConfig, branch: str, unreadable: Mapping[str, str]
) -> Commit:
    """Return the commit that is checked out, with its indexed files.

    Args:
        store: The index, up to date with the disk.
        config: Which files it covers.
        branch: The branch to push.
        unreadable: Files that the last sync could not read.

    Raises:
        NotFoundError: There is no commit.
        ConflictError: Files that git tracks and the index covers differ from the commit.
    """
    folder = config.folder
    head, tracked, dirty = git.head(folder), revisions.tracked(folder), git.dirty_files(folder)
    if not head or tracked is None or dirty is None:
        raise NotFoundError(
            "There is no commit to push.", hint="Run it in a git repository with a commit."
        )
    changed = [name for name, known in dirty.items() if known and is_covered(config, folder / name)]
    if changed:
        shown = ", ".join(changed[:SHOWN_NAMES])
        more = len(changed) - SHOWN_NAMES
        raise ConflictError(
            f"{counted(len(changed), 'file')} of the commit changed on the disk: {shown}"
            f"{f' and {more} more' if more > 0 else ''}.",
            hint="Commit or undo the changes, then push again. A push is the index of a commit.",
        )
    files: dict[str, DocumentRow] = {}
    left_out: dict[str, int] = {}
    for row in store.documents():
        why = UNTRACKED if row.path not in tracked else ""
        why = why or ("" if is_document(row.path) else ODD_NAME)
        why = why or (UNREADABLE if row.path in unreadable else "")
        if why:
            left_out[why] = left_out.get(why, 0) + 1
        else:
            files[row.path] = row
    return Commit(head, branch, files, left_out)


class PushedFiles(Protocol):
    """What a push needs of an index; see `index.store.Store`."""

    def document(self, path: str) -> DocumentRow | None:
        """Return the row of a file."""

    def chunks_of(self, paths: Iterable[str]) -> list[ChunkRow]:
        """Return the chunks of files, ordered by path and position."""

    def defined_in(self, paths: Iterable[str]) -> list[Definition]:
        """Return the symbols of files."""

    def imports(self, paths: Iterable[str] | None = None) -> list[tuple[str, str]]:
        """Return (path, import target as written)."""


@dataclass
class Pusher:
    """Pushes one commit.

    Attributes:
        client: The connection to the server.
        repository: The name of the repository there.
        store: Has the files, such as the index, up to date with the commit.
        folder: The folder that document names are relative to.
        chunk_size: The length of Markdown chunks.
        embedder: Computes vectors; None for a push of words only.
        cache: The vectors of this machine.
        advance: Called with (files sent, files to send).
        prefix: The beginning of the paths of the requests.
        whole: Whether to write all files again, as one layer.
        wait: Waits so many seconds before a request is sent again.
    """

    client: SharedClient
    repository: str
    store: PushedFiles
    folder: Path
    chunk_size: int
    embedder: Embedder | None = None
    cache: VectorCache | None = None
    advance: Advance = lambda done, total: None  # noqa: ARG005 - says nothing by default
    prefix: str = ""
    whole: bool = False
    wait: Callable[[float], object] = threading.Event().wait

    def push(self, commit: Commit, *, dry_run: bool = False) -> PushReport:
        """Push a commit, or find out what would be sent.

        Raises:
            SharedIndexError: The server does not answer, or refuses; what was sent stays there.
            EmbeddingError: The model does not work.
        """
        model = self.embedder.identity if self.embedder else ""
        settings = settings_digest(model, self.chunk_size)
        digests = {path: row.digest for path, row in commit.files.items()}
        base, plan = self._plan(commit, settings, digests)
        report = PushReport(
            plan.generation,
            base.generation.id if base.generation else "",
            len(digests),
            plan.files,
            sum(path not in digests for path, *_ in base.files),
        )
        if plan.new and not base.exists:
            self._send(plan, digests, model, report, dry_run=dry_run)
        if not dry_run:
            self._finish(commit, plan, settings, model)
        report.sent_bytes += self.client.sent_bytes
        report.received_bytes = self.client.received_bytes
        return report

    def _plan(
        self, commit: Commit, settings: str, digests: Mapping[str, str]
    ) -> tuple[PushBase, LayerPlan]:
        """Return the base, and what to write on it."""
        generation = generation_id(self.repository, settings, tree_digest(digests.items()))
        commits = revisions.ancestors(self.folder, MAX_COMMITS)
        default = revisions.default_branch(self.folder)
        question = BeginPush(
            self.repository,
            tuple(commits),
            tuple(dict.fromkeys(filter(None, (commit.branch, default)))),
            settings,
            generation,
        )
        base = self._call(PUSH_BEGIN, question)
        if self.whole:
            base = PushBase(exists=False, generation=None, files=())
        below = {path: BaseFile(digest, layer) for path, digest, layer in base.files}
        return base, plan_layers(self.repository, settings, digests, base.generation, below)

    def _send(
        self,
        plan: LayerPlan,
        digests: Mapping[str, str],
        model: str,
        report: PushReport,
        *,
        dry_run: bool,
    ) -> None:
        """Send the files of the new layer that the server does not have."""
        total, done = len(plan.files), 0
        for names in _parts(plan.files, MAX_LISTED_FILES):
            listed = tuple((name, digests[name]) for name in names)
            missing = self._call(PUSH_MISSING, ListFiles(self.repository, plan.new, listed))
            wanted = [name for name in missing if name in digests]
            done += len(names) - len(wanted)
            for files, cards in self._batches(wanted, model):
                self._send_batch(plan.new, files, cards, model, report, dry_run=dry_run)
                done += len(files)
                self.advance(done, total)

    def _send_batch(
        self,
        layer: str,
        files: Sequence[SharedFile],
        cards: Mapping[str, str],
        model: str,
        report: PushReport,
        *,
        dry_run: bool,
    ) -> None:
        """Send some files, with the vectors that the server does not have.

        It may lose a vector between two requests, as when a repository is deleted. It then says so
        instead of writing the files, and the vector is computed.
        """
        unknown = [card for part in _parts([*cards], MAX_CARDS) for card in self._unknown(part)]
        report.sent += [file.path for file in files]
        report.chunks += sum(len(file.chunks) for file in files)
        report.reused += len(cards) - len(unknown)
        body = SendFiles(self.repository, layer, tuple(files), {})
        if dry_run:
            report.embedded += len(unknown)
            report.sent_bytes += len(pack(body)) + VECTOR_BYTES * len(unknown)
            return
        absent = {*unknown}
        while True:
            new = self._vectors({card: cards[card] for card in absent}, model)
            without = absent - new.keys()
            report.embedded += len(new)
            report.unusable += len(without)
            body = body._replace(
                vectors=body.vectors | new, without=(*body.without, *sorted(without))
            )
            if not (absent := self._write(body)):
                return
            if absent - cards.keys() or absent & {*body.vectors, *body.without}:
                raise SharedIndexError("the server does not keep vectors", is_temporary=False)
            report.reused -= len(absent)

    def _write(self, body: SendFiles) -> set[str]:
        """Send files, in two halves if they are too large for one request.

        Returns:
            The cards whose vectors are still to be sent; their files were not written.
        """
        try:
            return {*self._call(PUSH_FILES, body)}
        except SharedIndexError as error:
            half = len(body.files) // 2
            if error.status != TOO_LARGE or not half:
                raise
        absent: set[str] = set()
        for files in (body.files[:half], body.files[half:]):
            cards = {chunk.card for file in files for chunk in file.chunks}
            vectors = {card: body.vectors[card] for card in cards & body.vectors.keys()}
            absent |= self._write(body._replace(files=files, vectors=vectors))
        return absent

    def _unknown(self, cards: Sequence[str]) -> list[str]:
        """Return the cards for which the server has no vector."""
        found = self._call(PUSH_CARDS, FindCards(self.repository, tuple(cards)))
        return [card for card in found if card in set(cards)]

    def _vectors(self, cards: Mapping[str, str], model: str) -> dict[str, str]:
        """Return the vectors of cards as they are sent; cards without a usable one are left out.

        Raises:
            EmbeddingError: The model does not work, or another one is used than at the beginning.
        """
        import numpy as np

        if self.embedder is None or not cards:
            return {}
        by_text = {text: card for card, text in cards.items()}
        found: dict[str, str] = {}
        for texts in _parts(sorted(by_text, key=len), EMBED_CARDS):
            vectors = card_vectors(
                self.embedder, self.cache, model, self.embedder.dimensions, texts
            )
            if vectors is None:
                raise EmbeddingError(
                    "The embedding engine changed during the push.",
                    hint="Push again: what was sent is kept.",
                )
            for text, vector in vectors.items():
                data = np.ascontiguousarray(vector, "<f4").tobytes()
                found[by_text[text]] = vector_text(data)
        return found

    def _finish(self, commit: Commit, plan: LayerPlan, settings: str, model: str) -> None:
        generation = Generation(
            plan.generation,
            self.repository,
            commit.id,
            plan.tree,
            settings,
            model,
            plan.layers,
            len(commit.files),
            0,  # the index counts them
            datetime.now(UTC).isoformat(timespec="seconds"),
        )
        self._call(PUSH_FINISH, FinishPush(generation, commit.branch, self.whole))

    def _batches(
        self, paths: Sequence[str], model: str
    ) -> Iterator[tuple[list[SharedFile], dict[str, str]]]:
        """Yield files with the texts of their cards by digest, a few megabytes at a time."""
        files: list[SharedFile] = []
        cards: dict[str, str] = {}
        size = 0
        for names in _parts(paths, BATCH_FILES):
            for file, own in self._files(names, model):
                length = sum(len(chunk.text) for chunk in file.chunks)
                if files and (size + length > BATCH_CHARS or len(files) >= BATCH_FILES):
                    yield files, cards
                    files, cards, size = [], {}, 0
                files.append(file)
                cards |= own
                size += length
        if files:
            yield files, cards

    def _files(
        self, paths: Sequence[str], model: str
    ) -> Iterator[tuple[SharedFile, dict[str, str]]]:
        """Yield files as they are pushed, each with the texts of its cards by digest."""
        chunks: dict[str, list[ChunkRow]] = {}
        symbols: dict[str, list[Symbol]] = {}
        imports: dict[str, list[str]] = {}
        for row in self.store.chunks_of(paths):
            chunks.setdefault(row.path, []).append(row)
        for definition in self.store.defined_in(paths):
            if is_name(definition.qualified):
                symbols.setdefault(definition.file, []).append(_symbol(definition))
        for path, target in self.store.imports(paths):
            if is_name(target):
                imports.setdefault(path, []).append(target)
        for path in paths:
            document = self.store.document(path)
            if document is None:
                continue
            cards = {card_digest(model, chunk.card): chunk.card for chunk in chunks.get(path, ())}
            file = SharedFile(
                path,
                document.digest,
                document.language,
                document.lines,
                document.priority,
                tuple(_chunk(chunk, model) for chunk in chunks.get(path, ())),
                tuple(symbols.get(path, ())),
                tuple(imports.get(path, ())),
            )
            cards.pop("", None)
            yield file, cards

    def _call(self, route: Route[QuestionT, AnswerT], question: QuestionT) -> AnswerT:
        """Make a call; after a temporary failure make it again, each time later.

        Raises:
            SharedIndexError: The server refuses, or does not answer after all attempts.
        """
        route = route.below(self.prefix)
        for attempt in range(RETRIES):
            try:
                return self.client.call(route, question, CALL_TIMEOUT_S)
            except SharedIndexError as error:
                if not error.is_temporary:
                    raise
                pause = min(FIRST_WAIT_S * 2**attempt, MAX_WAIT_S) * random.uniform(0.8, 1.2)
                self.wait(min(max(pause, error.retry_after_s), MAX_PAUSE_S))
        return self.client.call(route, question, CALL_TIMEOUT_S)


def _chunk(row: ChunkRow, model: str) -> SharedChunk:
    """Return a chunk as it is pushed."""
    return SharedChunk(
        row.position,
        row.start_line,
        row.end_line,
        row.text,
        tuple(filter(is_name, row.symbols))[:MAX_SYMBOLS],
        card_digest(model, row.card),
    )


def _symbol(d: Definition) -> Symbol:
    return Symbol(
        name=d.name,
        qualified=d.qualified,
        kind=d.kind,
        start_line=d.line,
        end_line=d.end_line,
        signature=d.signature,
        digest=d.digest,
        body=d.body,
    )


def _parts(items: Sequence[T], size: int) -> Iterator[list[T]]:
    """Yield the items in lists of at most `size`."""
    rest = iter(items)
    while part := list(islice(rest, size)):
        yield part
