"""Push the index of a commit to the shared index: only what changed, and only once.

A push is of a commit. Files that git does not track never leave the machine, and neither do files
that differ from the commit: with such a change, there is no push. What the server has already is
not sent again, so a push that was stopped continues where it ended.
"""

import random
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from code_intel.embedding.cache import VectorCache
from code_intel.embedding.engine import Embedder
from code_intel.errors import EmbeddingError
from code_intel.foundation import revisions
from code_intel.foundation.text import counted
from code_intel.index.vectors import card_vectors
from code_intel.shared.cards import settings_digest
from code_intel.shared.client import MAX_PAUSE_S, TOO_LARGE, SharedClient, SharedIndexError
from code_intel.shared.fields import MAX_COMMITS
from code_intel.shared.layers import (
    BaseFile,
    LayerPlan,
    digest_of,
    generation_id,
    plan_layers,
    tree_digest,
)
from code_intel.shared.pushed_commit import PushedCommit
from code_intel.shared.pushed_files import PushedFiles, batches, parts
from code_intel.shared.records import Generation, SharedFile
from code_intel.shared.routes import (
    MAX_CARDS,
    MAX_LISTED_FILES,
    MAX_PAGE,
    PUSH_BASE,
    PUSH_BEGIN,
    PUSH_CARDS,
    PUSH_FILES,
    PUSH_FINISH,
    PUSH_MISSING,
    AnswerT,
    BeginPush,
    FindCards,
    FinishPush,
    ListBase,
    ListFiles,
    PushBase,
    QuestionT,
    Route,
    SendFiles,
)
from code_intel.shared.wire import pack, vector_text

CALL_TIMEOUT_S = 60.0
RETRIES = 6
"""How often a request is sent again if the server does not answer."""
FIRST_WAIT_S, MAX_WAIT_S = 0.5, 30.0
AGAIN = "The shared index: {reason}. Trying again in {pause:.1f} s; {left} left."
EMBED_CARDS = 64
"""Number of cards that are embedded at once."""
VECTOR_BYTES = 2048
"""About the bytes of a vector in a request."""

Advance = Callable[[int, int], None]


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
        notice: Called with a sentence when a request will be sent again.
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
    notice: Callable[[str], None] = lambda text: None  # noqa: ARG005 - says nothing by default

    def push(self, commit: PushedCommit, *, dry_run: bool = False) -> PushReport:
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
        self, commit: PushedCommit, settings: str, digests: Mapping[str, str]
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
        base = self._with_all_files(self._call(PUSH_BEGIN, question))
        if self.whole:
            base = PushBase(exists=False, generation=None, files=())
        below = {path: BaseFile(digest, layer) for path, digest, layer in base.files}
        return base, plan_layers(self.repository, settings, digests, base.generation, below)

    def _with_all_files(self, base: PushBase) -> PushBase:
        """Return the base with the files that did not fit into the first answer."""
        files = page = base.files
        while base.generation and len(page) == MAX_PAGE:
            question = ListBase(self.repository, base.generation.id, page[-1][0])
            page = self._call(PUSH_BASE, question)
            files += page
        return base._replace(files=files)

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
        for names in parts(plan.files, MAX_LISTED_FILES):
            listed = tuple((name, digests[name]) for name in names)
            missing = self._call(PUSH_MISSING, ListFiles(self.repository, plan.new, listed))
            wanted = [name for name in missing if name in digests]
            done += len(names) - len(wanted)
            for files, cards in batches(self.store, wanted, model):
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
        unknown = [card for part in parts([*cards], MAX_CARDS) for card in self._unknown(part)]
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
            if not (absent := self.send(body)):
                return
            if absent - cards.keys() or absent & {*body.vectors, *body.without}:
                raise SharedIndexError("the server does not keep vectors", is_temporary=False)
            report.reused -= len(absent)

    def send(self, body: SendFiles) -> set[str]:
        """Send files, in parts if they are too large for one request.

        Returns:
            The cards whose vectors are still to be sent; their files were not written.
        """
        try:
            return {*self._call(PUSH_FILES, body)}
        except SharedIndexError as error:
            parts = _parts_of(body) if error.status == TOO_LARGE else ()
            if not parts:
                raise
        absent: set[str] = set()
        for part in parts:
            absent |= self.send(part)
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
        for texts in parts(sorted(by_text, key=len), EMBED_CARDS):
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

    def _finish(self, commit: PushedCommit, plan: LayerPlan, settings: str, model: str) -> None:
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
                pause = min(max(pause, error.retry_after_s), MAX_PAUSE_S)
                left = counted(RETRIES - attempt, "attempt")
                self.notice(AGAIN.format(reason=error.reason, pause=pause, left=left))
                self.wait(pause)
        return self.client.call(route, question, CALL_TIMEOUT_S)


def _parts_of(body: SendFiles) -> tuple[SendFiles, ...]:
    """Return requests that together send the same; nothing if there is only one chunk.

    The vectors of one file are sent with a part of its chunks. Such a part has another digest, so
    the server misses the file until the last request, which needs no vectors any more.
    """
    half = len(body.files) // 2
    if half:
        return _with_files(body, body.files[:half]), _with_files(body, body.files[half:])
    (file,) = body.files
    half = len(file.chunks) // 2
    if not half or not body.vectors:
        return ()
    part = file._replace(digest=digest_of("part", file.digest), symbols=(), imports=())
    chunks = (file.chunks[:half], file.chunks[half:])
    parts = (_with_files(body, (part._replace(chunks=some),)) for some in chunks)
    return (*parts, body._replace(vectors={}))


def _with_files(body: SendFiles, files: tuple[SharedFile, ...]) -> SendFiles:
    """Return the same request with some of its files, and their vectors."""
    cards = {chunk.card for file in files for chunk in file.chunks}
    vectors = {card: body.vectors[card] for card in cards & body.vectors.keys()}
    return body._replace(files=files, vectors=vectors)
