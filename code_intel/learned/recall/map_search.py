"""Search the map: agreements and notes with their current status, then other documents.

A hit's `score` is calibrated and limited by `validity.SCORE_CAP`. Its `similarity` is
(1 + cosine) / 2, as in devrag. Broken, conflicting and invalid agreements are left out.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from code_intel.chunking.agreement import render
from code_intel.chunking.words import query_words
from code_intel.config import Settings
from code_intel.index.facade import Index
from code_intel.index.rows import ChunkRow
from code_intel.learned.files.agreements import AgreementEntry
from code_intel.learned.notes.note_search import NoteMatch, best_lines
from code_intel.learned.notes.note_status import SERVED_NOTES, NoteStatus, note_statuses
from code_intel.learned.recall import calibration
from code_intel.learned.recall.calibration import Calibration
from code_intel.learned.recall.candidates import (
    MAX_CANDIDATES,
    CardRow,
    MapCache,
    document_of,
)
from code_intel.learned.recall.recall import WORDS_ONLY, RecallMatch, recall
from code_intel.learned.status.agreement_status import AgreementStatus, judging
from code_intel.learned.status.snapshot import NOW, Snapshot
from code_intel.learned.status.validity import SCORE_CAP, SERVED
from code_intel.records import (
    MAX_HIT_EVIDENCE,
    VERIFICATION_SCORE,
    AgreementHit,
    Hit,
    Language,
    NoteHit,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MIN_SHOWN_SCORE = 0.03
"""Agreements with a lower score are left out."""
MAX_NOTES = 3
"""Limit of the notes that a search returns."""
OTHER_DOCUMENT_CHUNKS = 20
"""Limit of the keyword hits that are searched for documents other than agreements."""


class MapResult(NamedTuple):
    """Hits, best first, and the number of agreements with an unresolved merge conflict."""

    hits: list[Hit]
    conflicts: int


class WordHits(NamedTuple):
    """The result of a keyword search: (chunk, weight) best first, and the chunks by id."""

    hits: Sequence[tuple[int, float]]
    chunks: Mapping[int, ChunkRow]

    @property
    def documents(self) -> list[str]:
        """Names of the documents, best first."""
        return [self.chunks[chunk].path for chunk, _ in self.hits if chunk in self.chunks]


def search(
    settings: Settings,
    index: Index,
    forest: Index,
    query: str,
    vector: "NDArray[np.float32] | None",
    identity: str,
    *,
    top_k: int,
    cache: MapCache | None = None,
) -> MapResult:
    """Return agreements that answer the query, best first, then other documents of the map.

    Args:
        settings: The project.
        index: The index of the map.
        forest: The index of the source, which shows whether agreements still hold.
        query: The query.
        vector: The embedding of the query. Without one, keywords are compared, and no score reaches
            VERIFICATION_SCORE.
        identity: The engine of `vector`; ignored without one.
        top_k: Maximum number of hits.
        cache: A cache of the map's agreements, for servers.
    """
    cache = cache or MapCache()
    found = compared_cards(settings, index, forest, query, vector, identity, cache)
    hits = _best(index, found, top_k, settings.language)
    notes = cache.notes(index, found.snapshot, identity)
    of_notes = _note_hits(index, forest, found.snapshot, notes.search(query, vector), query)
    hits = sorted([*hits[: max(top_k - len(of_notes), 1)], *of_notes], key=_by_score)
    note_files = {document_of(index, entry.path) for entry in found.snapshot.notes}
    others = _other_documents(found.words, found.documents | note_files)
    return MapResult([*hits, *others][:top_k], found.snapshot.known.conflicts)


class ComparedCards(NamedTuple):
    """The cards that were compared with a question.

    Attributes:
        snapshot: The agreements and notes at that time.
        documents: Names of all agreements' files.
        words: What the keywords of the question found.
        ranked: The source of each card with its match, best first.
        judge: Returns the status of an agreement.
        constants: The constants of the score, if there are any.
    """

    snapshot: Snapshot
    documents: frozenset[str]
    words: WordHits
    ranked: tuple[tuple[CardRow, RecallMatch], ...]
    judge: Callable[[AgreementEntry], AgreementStatus]
    constants: Calibration | None


def compared_cards(
    settings: Settings,
    index: Index,
    forest: Index,
    query: str,
    vector: "NDArray[np.float32] | None",
    identity: str,
    cache: MapCache,
    since: float = NOW,
) -> ComparedCards:
    """Compare the candidates with a question.

    See `search` for the arguments, and `SnapshotCache.snapshot` for `since`.
    """
    now = datetime.now(UTC)
    words = _word_hits(index, query)
    found = cache.snapshot(settings, now=now, since=since)
    constants = calibration.of_project(settings, identity)
    known = cache.cards(index, found, identity, constants)
    numbers = known.candidates(query, vector, words.documents)
    cards = [known.cards[number] for number in numbers]
    recalled = recall(query, vector, cards, constants) if cards else []
    ranked = tuple((known.rows[numbers[item.card]], item) for item in recalled)
    judge = judging(settings, forest, found, now)
    return ComparedCards(found, known.documents, words, ranked, judge, constants)


def _word_hits(index: Index, query: str) -> WordHits:
    hits = index.store.word_hits(query_words(query), "body", MAX_CANDIDATES)
    return WordHits(hits, index.store.chunk_rows([chunk for chunk, _ in hits]))


def _best(index: Index, found: ComparedCards, top_k: int, language: Language) -> list[Hit]:
    """Return the best hits by limited score, judging as few agreements as possible."""
    hits: list[Hit] = []
    unconfirmed: set[int] = set()
    for row, item in found.ranked:
        if item.score < MIN_SHOWN_SCORE or _is_full(hits, top_k, item.score):
            break
        standing = found.judge(row.entry)
        if standing.validity in SERVED:
            hits.append(_hit(index, row, standing, item, language))
            unconfirmed |= set() if standing.confirmed else {id(hits[-1])}
    hits.sort(key=lambda hit: rank(hit, is_confirmed=id(hit) not in unconfirmed))
    return hits[:top_k]


def rank(hit: Hit, *, is_confirmed: bool) -> tuple[bool, bool, float]:
    """Return the sort key of a hit: of those that may answer, confirmed agreements come first."""
    score = hit.score or 0.0
    answers = score >= VERIFICATION_SCORE
    return not answers, answers and not is_confirmed, -score


def _note_hits(
    index: Index, forest: Index, found: Snapshot, matches: Sequence[NoteMatch], query: str
) -> list[Hit]:
    """Return the hits of the best notes that searches return."""
    best = matches[: 2 * MAX_NOTES]
    entries = [match.entry for match in best]
    statuses = {status.entry.path: status for status in note_statuses(forest, found, entries)}
    served = [match for match in best if statuses[match.entry.path].validity in SERVED_NOTES]
    return [
        note_hit(document_of(index, match.entry.path), match, statuses[match.entry.path], query)
        for match in served[:MAX_NOTES]
    ]


def note_hit(document: str, match: NoteMatch, status: NoteStatus, query: str) -> Hit:
    """Return a note as a hit, with the lines that match the question best."""
    note = status.note
    lines = best_lines(note, query)
    return Hit(
        document=document,
        chunk="\n".join((note.title, *lines)),
        position=0,
        similarity=(1 + match.cosine) / 2 if match.cosine else 0.0,
        score=match.score,
        why=("note",),
        note=NoteHit(
            note.kind, note.title, status.validity, lines, status.reasons, note.files, note.symbols
        ),
    )


def _by_score(hit: Hit) -> tuple[bool, float]:
    """Return the key that sorts notes between agreements that do not answer, and keeps the rest."""
    answers = (hit.score or 0.0) >= VERIFICATION_SCORE
    return not answers, 0.0 if answers else -(hit.score or 0.0)


def _is_full(hits: Sequence[Hit], top_k: int, score: float) -> bool:
    """Return whether no hit with this or a lower score can be among the best."""
    if score >= VERIFICATION_SCORE:  # a confirmed agreement may follow
        return False
    return sum((hit.score or 0.0) >= score for hit in hits) >= top_k


def _hit(
    index: Index,
    row: CardRow,
    standing: AgreementStatus,
    found: RecallMatch,
    language: Language,
) -> Hit:
    agreement = row.agreement
    text, position, start, end = _text(index, row, language)
    return Hit(
        document=row.document,
        chunk=text,
        position=position,
        similarity=(1 + found.cosine) / 2 if found.cosine else 0.0,
        score=min(found.score, SCORE_CAP[standing.validity]),
        symbol=agreement.symbol,
        start_line=start,
        end_line=end,
        why=found.reasons,
        agreement=AgreementHit(
            agreement.nl_term,
            agreement.symbol,
            standing.validity,
            agreement.files,
            standing.reasons,
            agreement.learned_at,
            standing.heir.qualified if standing.heir else "",
            agreement.evidence[-MAX_HIT_EVIDENCE:],
            agreement.role,
            agreement.digest,
        ),
    )


def _text(index: Index, row: CardRow, language: Language) -> tuple[str, int, int, int]:
    """Return the text of an agreement, its position, and its first and last line.

    Render the agreement if its file is newer than the index, or contains a git conflict between two
    lists of aliases, which are read as one list.
    """
    known = index.store.chunk_rows([row.chunk]) if row.chunk is not None else {}
    for chunk in known.values():
        if "\n<<<<<<<" not in chunk.text:
            return chunk.text, chunk.position, chunk.start_line, chunk.end_line
    text = render(row.agreement, language=language)
    return text, 0, 1, text.count("\n")


def _other_documents(words: WordHits, known: Collection[str]) -> list[Hit]:
    """Return keyword hits in other documents, with scores below every band."""
    hits = words.hits[:OTHER_DOCUMENT_CHUNKS]
    best = hits[0][1] if hits else 1.0
    return [
        Hit(
            document=row.path,
            chunk=row.text,
            position=row.position,
            similarity=0.0,
            score=round(WORDS_ONLY / 2 * value / best, 4) if best > 0 else 0.0,
            start_line=row.start_line,
            end_line=row.end_line,
            why=("words",),
        )
        for chunk, value in hits
        if (row := words.chunks.get(chunk)) is not None and row.path not in known
    ]
