"""Push the agreements of a commit: those that are merged, confirmed and valid there.

Only the tip of the trunk is pushed, so an agreement on an unmerged branch never answers others.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from code_intel.chunking.agreement import card
from code_intel.config import Settings
from code_intel.embedding.cache import VectorCache
from code_intel.embedding.engine import Embedder
from code_intel.foundation import git, revisions
from code_intel.index.facade import Index
from code_intel.index.rows import ChunkRow, DocumentRow
from code_intel.learned.status.agreement_status import AgreementStatus, standings
from code_intel.records import Definition
from code_intel.shared.agreements.candidates import MAP_BRANCH
from code_intel.shared.agreements.texts import agreement_from, shared_text
from code_intel.shared.agreements.wire import MAP_PREFIX
from code_intel.shared.connection import Connection
from code_intel.shared.fields import is_document
from code_intel.shared.pushed_commit import PushedCommit
from code_intel.shared.pushing import Pusher

NOT_COMMITTED = "not committed"
NOT_LEGIBLE = "a name that cannot be read exactly, or too long"
OUTSIDE = "outside the repository"
BRANCH_ONLY = "the commit is not the tip of the trunk"


class MapPush(NamedTuple):
    """What a push did with the agreements.

    Attributes:
        skipped: Why none were pushed, or empty.
        agreements: The number of agreements of the commit that are shared.
        sent: The files that were sent.
        left_out: How many agreements are not shared, by reason.
    """

    skipped: str = ""
    agreements: int = 0
    sent: Sequence[str] = ()
    left_out: Mapping[str, int] = {}


class SharedMap(NamedTuple):
    """The agreements to push, as files, and the commit, as a push needs it."""

    source: "AgreementSource"
    commit: PushedCommit


class AgreementSource:
    """Gives a push the agreements as if they were files of an index, each with one chunk."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.documents = {
            path: DocumentRow(
                path,
                hashlib.sha256(text.encode()).hexdigest(),
                language="markdown",
                lines=text.count("\n"),
                priority=1,
            )
            for path, text in texts.items()
        }
        self._texts = texts

    def document(self, path: str) -> DocumentRow | None:
        """Return the row of a file."""
        return self.documents.get(path)

    def chunks_of(self, paths: Iterable[str]) -> list[ChunkRow]:
        """Return the only chunk of each file."""
        return [_chunk(path, self._texts[path]) for path in sorted(paths) if path in self._texts]

    def defined_in(self, paths: Iterable[str]) -> list[Definition]:  # noqa: ARG002 - see below
        """Return nothing: an agreement defines no symbol."""
        return []

    def imports(self, paths: Iterable[str] | None = None) -> list[tuple[str, str]]:  # noqa: ARG002
        """Return nothing: an agreement imports nothing."""
        return []


def _chunk(path: str, text: str) -> ChunkRow:
    agreement = agreement_from(text)
    assert agreement is not None  # noqa: S101 - `shared_text` wrote it
    lines = max(text.count("\n"), 1)
    symbols = (agreement.symbol,)
    return ChunkRow(0, 0, path, 0, 1, lines, text, symbols, "markdown", card(agreement))


def push_map(
    settings: Settings,
    forest: Index,
    connection: Connection,
    embedder: Embedder | None,
    *,
    dry_run: bool,
    whole: bool = False,
    notice: Callable[[str], None] = lambda text: None,  # noqa: ARG005 - says nothing by default
) -> MapPush:
    """Push the agreements of the commit that is checked out.

    Args:
        settings: The project.
        forest: The index of the source, up to date with the commit.
        connection: The connection to the server.
        embedder: The model of the map; None for a push of words only.
        dry_run: Whether to find out only what would be sent.
        whole: Whether to write all agreements again, as one layer.
        notice: Called with a sentence when a request will be sent again.

    Raises:
        SharedIndexError: The server does not answer, or refuses.
        EmbeddingError: The model does not work.
    """
    found = map_to_push(settings, forest)
    if isinstance(found, str):
        return MapPush(found)
    pusher = Pusher(
        connection.client,
        connection.repository,
        found.source,
        settings.forest.folder,
        chunk_size=0,
        embedder=embedder,
        cache=VectorCache(settings.cache_dir),
        prefix=MAP_PREFIX,
        whole=whole,
        notice=notice,
    )
    report = pusher.push(found.commit, dry_run=dry_run)
    return MapPush("", report.files, tuple(report.sent), found.commit.left_out)


def map_to_push(settings: Settings, forest: Index) -> SharedMap | str:
    """Return the agreements to push, or why none are pushed.

    Args:
        settings: The project.
        forest: The index of the source, up to date with the commit.
    """
    folder = settings.forest.folder
    head = git.head(folder)
    if not head or head not in git.trunk(folder, settings.trunk):
        return BRANCH_ONLY
    texts: dict[str, str] = {}
    left_out: dict[str, int] = {}
    committed = _committed(settings)
    for standing in standings(settings, forest):
        path = _path_in(settings, standing)
        text = _text_of(standing)
        why = "" if standing.confirmed else "unconfirmed"
        why = why or ("" if standing.listed_status == "valid" else standing.listed_status)
        why = why or ("" if is_document(path) else OUTSIDE)
        why = why or ("" if path in committed else NOT_COMMITTED)
        why = why or ("" if text else NOT_LEGIBLE)
        if why:
            left_out[why] = left_out.get(why, 0) + 1
        else:
            texts[path] = text
    source = AgreementSource(texts)
    return SharedMap(source, PushedCommit(head, MAP_BRANCH, source.documents, left_out))


def _committed(settings: Settings) -> frozenset[str]:
    """Return the files that are as in the commit, relative to the project."""
    folder = settings.forest.folder
    tracked, dirty = revisions.tracked(folder), git.dirty_files(folder)
    return frozenset() if tracked is None or dirty is None else tracked - dirty.keys()


def _path_in(settings: Settings, standing: AgreementStatus) -> str:
    """Return the path of an agreement in the project; empty if several files say the same."""
    path, folder = standing.entry.path, settings.forest.folder
    if standing.entry.other_paths or not path.is_relative_to(folder):
        return ""
    return path.relative_to(folder).as_posix()


def _text_of(standing: AgreementStatus) -> str:
    return shared_text(standing.entry.agreement) if standing.entry.agreement else ""
