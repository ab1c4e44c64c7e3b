"""The cards of a map, stacked: made once, dealt to every question until an agreement or the index is another.

A large map is asked in two steps: which cards may speak to the question at all, by one product of its vector
with all of theirs, by words, and by name; then the whole evidence, for those alone. Of other cards a score looks
at the closest one of a different symbol (docs/decisions/0009), which is dealt, too: it is what it would be among all.
"""

import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from code_intel.chunking.agreement import card as card_text
from code_intel.errors import EmbeddingError
from code_intel.index.facade import Index
from code_intel.index.store import Store
from code_intel.learned.files.agreements import AgreementEntry
from code_intel.learned.files.merge_agreements import when
from code_intel.learned.history.experience import NONE
from code_intel.learned.recall import calibration
from code_intel.learned.recall.calibration import Space
from code_intel.learned.recall.recall import Card, fold
from code_intel.learned.status.snapshot import AgreementSnapshot, certain_aliases
from code_intel.records import Agreement

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

DEALT = 60
"""Most cards whose whole evidence is measured, save those that bear the question's very words: .1 ms each."""
BY_WORDS = 20
"""Of them, those that words find best; without a model all are theirs."""
EMBEDDED_AT_ONCE = 4
"""Cards that are embedded while somebody waits, because the index has not seen their file yet: 60 ms each."""
LOOKED_UP = 200
"""Cards that are looked up in the cache because the index has no vector of them, the newest first."""


class IndexRow(NamedTuple):
    """Where a card comes from: its file, what the index calls that, its chunk there if it is up to date."""

    entry: AgreementEntry
    agreement: Agreement
    document: str
    chunk: int | None


@dataclass(frozen=True, slots=True, eq=False)
class AgreementIndex:
    """Cards in the order of their documents.

    Attributes:
        rows: Where each comes from.
        cards: The same as recall sees them.
        documents: Names of all agreements' files, of those that cannot be read, too.
        space: Where the score compares vectors, if that is known of their engine.
        matrix: Vectors of those that have one, a row each, in that space.
        places: Which card each row of `matrix` is.
        named: Places by folded term and alias.
        at: Places by document.
        is_whole: Whether all have the vectors they can have.
    """

    rows: tuple[IndexRow, ...]
    cards: tuple[Card, ...]
    documents: frozenset[str]
    space: Space | None
    matrix: "NDArray[np.float32]"
    places: "NDArray[np.int64]"
    named: Mapping[str, Sequence[int]]
    at: Mapping[str, int]
    is_whole: bool

    def dealt(self, query: str, vector: "Vector | None", documents: Iterable[str]) -> list[int]:
        """Return the places of the cards that may speak to a question, in order; of a small map, all.

        Args:
            query: The question.
            vector: Its embedding, if there is one.
            documents: What words find, best first.
        """
        if len(self.cards) <= DEALT:
            return list(range(len(self.cards)))
        found = set(self.named.get(fold(query), ()))
        spoken = [self.at[name] for name in dict.fromkeys(documents) if name in self.at]
        found.update(spoken[: DEALT if vector is None else BY_WORDS])
        if vector is not None and len(self.places):
            found.update(self._nearest(vector, DEALT - BY_WORDS))
        return sorted(found)

    def _nearest(self, vector: "Vector", limit: int) -> list[int]:
        import numpy as np

        asked = self.space.queries(vector.reshape(1, -1))[0] if self.space else vector
        cosines = self.matrix @ asked.astype(np.float32)
        if len(cosines) <= limit:
            return list(map(int, self.places))
        return list(map(int, self.places[np.argpartition(-cosines, limit)[:limit]]))


class _Kept(NamedTuple):
    state: tuple[int, ...] | None
    revision: int
    identity: str
    deck: AgreementIndex


_DECKS: "WeakKeyDictionary[Store, _Kept]" = WeakKeyDictionary()
_MAKING = threading.Lock()


def deck_of(
    index: Index, found: AgreementSnapshot, identity: str, *, with_model: bool = True
) -> AgreementIndex:
    """Return the deck of a map for an engine's vectors; the one dealt last while nothing has changed.

    What the index does not know as it is on disk gets its vector from the cache, or, a few at once and
    only `with_model`, from the model.
    """
    store = index.store
    with _MAKING:  # who comes second waits for what the first one makes
        state = store.state()
        kept = _DECKS.get(store)
        known = (state, found.revision, identity)
        if kept is not None and state is not None and kept[:3] == known and kept.deck.is_whole:
            return kept.deck
        deck = _made(index, found, identity, kept.deck if kept else None, with_model=with_model)
        _DECKS[store] = _Kept(*known, deck)
        return deck


def _made(
    index: Index,
    found: AgreementSnapshot,
    identity: str,
    before: AgreementIndex | None,
    *,
    with_model: bool,
) -> AgreementIndex:
    import numpy as np

    with index.store.snapshot():
        indexed = {path: (chunk, digest) for chunk, path, digest in index.store.cards()}
        ids, matrix = index.store.generations.all_vectors(identity)
    row_of = {chunk: row for row, chunk in enumerate(ids.tolist())}
    rows, documents = _rows(index, found, indexed)
    have = {at: row_of[row.chunk] for at, row in enumerate(rows) if row.chunk in row_of}
    late = sorted(have.keys() ^ set(range(len(rows))), key=lambda at: _newest_first(rows[at]))
    late = late[:LOOKED_UP]
    most = EMBEDDED_AT_ONCE if with_model else 0
    extra, is_whole = _embedded(index, identity, [rows[at].agreement for at in late], most)
    vectors = [matrix[[*have.values()]]] if have else []
    vectors += [vector.reshape(1, -1) for vector in extra.values()]
    stacked = np.concatenate(vectors) if vectors else np.zeros((0, 0), np.float32)
    places = [*have, *(late[at] for at in extra)]
    vector_at = {place: stacked[row] for row, place in enumerate(places)}
    known = dict(zip(before.at, before.cards, strict=True)) if before else {}
    cards = tuple(
        _card(found, row, vector_at.get(at)).prepared_as(known.get(row.document))
        for at, row in enumerate(rows)
    )
    constants = calibration.fitted(identity)
    space = constants.space if constants else None
    if space is not None and len(stacked):
        stacked = space.passages(stacked).astype(np.float32)
    return AgreementIndex(
        rows=tuple(rows),
        cards=cards,
        documents=frozenset(documents),
        space=space,
        matrix=stacked,
        places=np.array(places, np.int64),
        named=_named(cards),
        at={row.document: at for at, row in enumerate(rows)},
        is_whole=is_whole,
    )


def _rows(
    index: Index, found: AgreementSnapshot, indexed: Mapping[str, tuple[int, str]]
) -> tuple[list[IndexRow], list[str]]:
    """Return where the cards come from, by document, and the names of all agreements' files."""
    rows, documents = [], []
    for entry in found.known.entries:
        documents += [document_of(index, path) for path in (entry.path, *entry.also)]
        if entry.agreement is None:
            continue
        document = document_of(index, entry.path)
        chunk, digest = indexed.get(document, (None, ""))
        current = chunk if digest == entry.raw else None
        rows.append(IndexRow(entry, entry.agreement, document, current))
    return sorted(rows, key=lambda row: row.document), documents


def _newest_first(row: IndexRow) -> float:
    learned = when(row.agreement.learned_at)
    return -learned.timestamp() if learned.year > 1 else 0.0


def document_of(index: Index, path: Path) -> str:
    """Return the name under which the index knows an agreement's file."""
    folder = index.config.folder
    if path.is_relative_to(folder):
        return path.relative_to(folder).as_posix()
    real = path.resolve()
    return real.relative_to(folder).as_posix() if real.is_relative_to(folder) else str(real)


def _embedded(
    index: Index, identity: str, agreements: Sequence[Agreement], most: int
) -> "tuple[dict[int, Vector], bool]":
    """Return vectors by place of what the index has not embedded, and whether those are all.

    As far as the cache has them, and `most` more; the background makes the rest.
    """
    if not agreements or index.embedder is None or index.embedder.identity != identity:
        return {}, True
    texts = [card_text(agreement) for agreement in agreements]
    known = index.cache.get(identity, texts) if index.cache is not None else {}
    missing = [text for text in dict.fromkeys(texts) if text not in known]
    try:
        now = missing[:most]
        fresh = dict(zip(now, index.embedder.passages(now), strict=True)) if now else {}
    except EmbeddingError:  # said where the question is embedded
        fresh = {}
    if fresh and index.cache is not None:
        index.cache.put(identity, fresh)
    known |= fresh
    found = {at: known[text] for at, text in enumerate(texts) if text in known}
    return found, len(missing) == len(fresh)


def _card(found: AgreementSnapshot, row: IndexRow, vector: "Vector | None") -> Card:
    key = row.entry.key
    against = found.objections.get(key, NONE) if key else NONE
    return Card(row.agreement, vector, certain_aliases(found, row.entry), against.wordings)


def _named(cards: Sequence[Card]) -> Mapping[str, Sequence[int]]:
    named: dict[str, list[int]] = defaultdict(list)
    for at, card in enumerate(cards):
        for text in {fold(card.agreement.nl_term), *map(fold, card.agreement.aliases)}:
            named[text].append(at)
    return dict(named)
