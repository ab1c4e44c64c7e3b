"""Select the agreements that may answer a question, as cards for `recall`.

In a small map, all cards are candidates. In a large map, the candidates are the cards whose term or
alias is the question, the best keyword matches, and the nearest vectors (docs/decisions/0028).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from code_intel.chunking.agreement import card as card_text
from code_intel.errors import EmbeddingError
from code_intel.index.facade import Index
from code_intel.learned.files.agreements import AgreementEntry
from code_intel.learned.files.merge_agreements import when
from code_intel.learned.history.experience import NO_OBJECTIONS
from code_intel.learned.notes.note_search import NoteIndex, note_index
from code_intel.learned.recall.calibration import Calibration, Space
from code_intel.learned.recall.recall import Card, fold
from code_intel.learned.status.snapshot import Snapshot, SnapshotCache
from code_intel.records import Agreement

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

MAX_CANDIDATES = 60
"""Limit of the cards that are compared, 0.1 ms each; cards with the exact words do not count."""
BY_WORDS = 20
"""Number of candidates by keywords if there is a model; without one, all are found by keywords."""
MAX_EMBEDDED_NOW = 4
"""Limit of the cards that are embedded during a question, 60 ms each."""
MAX_LOOKED_UP = 200
"""Limit of the cards outside the index that are looked up in the vector cache, newest first."""


class CardRow(NamedTuple):
    """A card's entry and agreement, its document in the index, and the chunk if it is current."""

    entry: AgreementEntry
    agreement: Agreement
    document: str
    chunk: int | None


@dataclass(frozen=True, slots=True, eq=False)
class CardIndex:
    """The cards of a map, in the order of their documents.

    Attributes:
        rows: The source of each card.
        cards: The cards, in the order of `rows`.
        documents: Names of all agreements' files, including unreadable ones.
        space: The space in which the score compares vectors; None if the engine has no constants.
        matrix: The vectors of the cards that have one, in that space.
        card_numbers: The number of the card for each row of `matrix`.
        by_words: Card numbers by folded term and alias.
        by_document: Card numbers by document.
        is_complete: Whether all cards have a vector, or can have none.
    """

    rows: tuple[CardRow, ...]
    cards: tuple[Card, ...]
    documents: frozenset[str]
    space: Space | None
    matrix: "NDArray[np.float32]"
    card_numbers: "NDArray[np.int64]"
    by_words: Mapping[str, Sequence[int]]
    by_document: Mapping[str, int]
    is_complete: bool

    def candidates(
        self, query: str, vector: "Vector | None", documents: Iterable[str]
    ) -> list[int]:
        """Return the numbers of the cards that may answer a question, in ascending order.

        Args:
            query: The question.
            vector: The embedding of the question, if there is one.
            documents: The documents found by keywords, best first.
        """
        if len(self.cards) <= MAX_CANDIDATES:
            return list(range(len(self.cards)))
        found = set(self.by_words.get(fold(query), ()))
        names = (name for name in dict.fromkeys(documents) if name in self.by_document)
        known = [self.by_document[name] for name in names]
        found.update(known[: MAX_CANDIDATES if vector is None else BY_WORDS])
        if vector is not None and len(self.card_numbers):
            found.update(self._nearest(vector, MAX_CANDIDATES - BY_WORDS))
        return sorted(found)

    def _nearest(self, vector: "Vector", limit: int) -> list[int]:
        import numpy as np

        query = self.space.queries(vector.reshape(1, -1))[0] if self.space else vector
        cosines = self.matrix @ query.astype(np.float32)
        if len(cosines) <= limit:
            return list(map(int, self.card_numbers))
        return list(map(int, self.card_numbers[np.argpartition(-cosines, limit)[:limit]]))


class MapCache(SnapshotCache):
    """A cache of the last snapshot of a project's map and of its cards."""

    def __init__(self) -> None:
        super().__init__()
        self._cards: tuple[object, CardIndex] | None = None
        self._notes: tuple[object, NoteIndex] | None = None

    def cards(
        self, index: Index, snapshot: Snapshot, identity: str, constants: Calibration | None
    ) -> CardIndex:
        """Return the cards of a map with an engine's vectors; rebuild them after a change.

        Args:
            index: The index of the map; the same in every call.
            snapshot: A snapshot of the agreements.
            identity: The identity of the engine that embeds questions.
            constants: The constants of that engine, if it is calibrated.
        """
        with self._lock:
            state = index.store.version_token()
            basis, cached = (state, snapshot.revision, identity, constants), self._cards
            if cached and state is not None and cached[0] == basis and cached[1].is_complete:
                return cached[1]
            cards = card_index(index, snapshot, identity, constants)
            self._cards = basis, cards
            return cards

    def notes(self, index: Index, snapshot: Snapshot, identity: str) -> NoteIndex:
        """Return the notes of a map with an engine's vectors; rebuild them after a change."""
        import numpy as np

        if not snapshot.notes:
            return NoteIndex((), (), np.zeros((0, 0), np.float32), np.zeros(0, np.int64))
        with self._lock:
            state = index.store.version_token()
            basis, cached = (state, snapshot.notes, identity), self._notes
            if cached and state is not None and cached[0] == basis:
                return cached[1]
            documents = {entry.path: document_of(index, entry.path) for entry in snapshot.notes}
            with index.store.snapshot():
                ids, matrix = index.store.generations.all_vectors(identity)
                rows = index.store.chunk_rows(ids.tolist())
            of_row = [rows[chunk].path if chunk in rows else "" for chunk in ids.tolist()]
            notes = note_index(snapshot.notes, documents, (of_row, matrix))
            self._notes = basis, notes
            return notes


def card_index(
    index: Index, snapshot: Snapshot, identity: str, constants: Calibration | None
) -> CardIndex:
    """Return the cards of a map.

    If the index does not contain the current content of a card's file, the vector comes from the
    vector cache or, for a few cards, from the model.
    """
    import numpy as np

    with index.store.snapshot():
        indexed = {path: (chunk, digest) for chunk, path, digest in index.store.cards()}
        ids, matrix = index.store.generations.all_vectors(identity)
    row_of = {chunk: row for row, chunk in enumerate(ids.tolist())}
    rows, documents = _rows(index, snapshot, indexed)
    have = {at: row_of[row.chunk] for at, row in enumerate(rows) if row.chunk in row_of}
    late = sorted(have.keys() ^ set(range(len(rows))), key=lambda at: _newest_first(rows[at]))
    late = late[:MAX_LOOKED_UP]
    extra, is_complete = _embedded(index, identity, [rows[at].agreement for at in late])
    vectors = [matrix[[*have.values()]]] if have else []
    vectors += [vector.reshape(1, -1) for vector in extra.values()]
    stacked = np.concatenate(vectors) if vectors else np.zeros((0, 0), np.float32)
    card_numbers = [*have, *(late[at] for at in extra)]
    vector_at = {number: stacked[row] for row, number in enumerate(card_numbers)}
    cards = tuple(_card(snapshot, row, vector_at.get(at)) for at, row in enumerate(rows))
    space = constants.space if constants else None
    if space is not None and len(stacked):
        stacked = space.passages(stacked).astype(np.float32)
    return CardIndex(
        rows=tuple(rows),
        cards=cards,
        documents=frozenset(documents),
        space=space,
        matrix=stacked,
        card_numbers=np.array(card_numbers, np.int64),
        by_words=_by_words(cards),
        by_document={row.document: at for at, row in enumerate(rows)},
        is_complete=is_complete,
    )


def document_of(index: Index, path: Path) -> str:
    """Return the name of an agreement's file in the index."""
    folder = index.config.folder
    name, prefix = path.as_posix(), f"{folder.as_posix()}/"
    if name.startswith(prefix):
        return name[len(prefix) :]
    real = path.resolve()
    return real.relative_to(folder).as_posix() if real.is_relative_to(folder) else str(real)


def _rows(
    index: Index, snapshot: Snapshot, indexed: Mapping[str, tuple[int, str]]
) -> tuple[list[CardRow], list[str]]:
    """Return the sources of the cards, by document, and the documents of all agreements."""
    rows, documents = [], []
    for entry in snapshot.known.entries:
        documents += [document_of(index, path) for path in (entry.path, *entry.other_paths)]
        if entry.agreement is None:
            continue
        document = document_of(index, entry.path)
        chunk, digest = indexed.get(document, (None, ""))
        current = chunk if digest == entry.raw_digest else None
        rows.append(CardRow(entry, entry.agreement, document, current))
    return sorted(rows, key=lambda row: row.document), documents


def _newest_first(row: CardRow) -> float:
    learned = when(row.agreement.learned_at)
    return -learned.timestamp() if learned.year > 1 else 0.0


def _embedded(
    index: Index, identity: str, agreements: Sequence[Agreement]
) -> "tuple[dict[int, Vector], bool]":
    """Return vectors by position in `agreements`, and whether no vector is missing."""
    if not agreements or index.embedder is None or index.embedder.identity != identity:
        return {}, True
    texts = [card_text(agreement) for agreement in agreements]
    known = index.cache.get(identity, texts) if index.cache is not None else {}
    missing = [text for text in dict.fromkeys(texts) if text not in known]
    try:
        now = missing[:MAX_EMBEDDED_NOW]
        fresh = dict(zip(now, index.embedder.passages(now), strict=True)) if now else {}
    except EmbeddingError:  # the question's own embedding reports it
        fresh = {}
    if fresh and index.cache is not None:
        index.cache.put(identity, fresh)
    known |= fresh
    found = {at: known[text] for at, text in enumerate(texts) if text in known}
    return found, len(missing) == len(fresh)


def _card(snapshot: Snapshot, row: CardRow, vector: "Vector | None") -> Card:
    key = row.entry.key
    against = snapshot.objections.get(key, NO_OBJECTIONS) if key else NO_OBJECTIONS
    return Card(row.agreement, vector, snapshot.certain_aliases(row.entry), against.wordings)


def _by_words(cards: Sequence[Card]) -> Mapping[str, Sequence[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for at, card in enumerate(cards):
        for text in {fold(card.agreement.nl_term), *map(fold, card.agreement.aliases)}:
            found[text].append(at)
    return dict(found)
