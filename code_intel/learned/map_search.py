"""Search of the map: agreements first, each once, with what it is worth now; other documents after.

A hit's `score` is calibrated and capped by validity (`validity.SCORE_CAP`); `similarity` stays devrag's
(1 + cosine) / 2. What is not served (broken, conflict, invalid) is left out here and listed elsewhere.
"""

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from code_intel.chunking.words import query_words
from code_intel.config import Settings
from code_intel.index.facade import Index
from code_intel.learned.recall import WORDS_ONLY, Card, Recalled, recall
from code_intel.learned.standings import Standing, standings
from code_intel.learned.validity import SCORE_CAP, SERVED
from code_intel.records import AgreementHit, Hit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FEWEST_SCORE = 0.05
"""Agreements below this say nothing about the question and are left out."""


def search(
    settings: Settings,
    index: Index,
    forest: Index,
    query: str,
    vector: "NDArray[np.float32] | None",
    identity: str,
    *,
    top_k: int,
) -> list[Hit]:
    """Return agreements that speak to the query, best first, then other documents of the map.

    Args:
        settings: The project.
        index: The map.
        forest: The project's source, for validity; an incomplete one proves nothing.
        query: The session's own words, or any other.
        vector: The query's embedding; None: words only, and no score reaches 0.7.
        identity: Of the model that `vector` comes from; any text without one.
        top_k: Most hits.
    """
    known = {
        _document(index, standing): standing
        for standing in standings(settings, forest, repair=not index.readonly)
    }
    served = {
        document: standing
        for document, standing in known.items()
        if standing.validity in SERVED and standing.entry.agreement is not None
    }
    rows = [row for row in index.store.cards(identity) if row[1] in served]
    cards = [_card(served[row[1]], row[3]) for row in rows]
    found = recall(query, vector, cards, identity) if cards else []
    hits = [
        _hit(index, rows[item.card][:2], served[rows[item.card][1]], item)
        for item in found
        if item.score >= FEWEST_SCORE
    ]
    hits.sort(key=lambda hit: -(hit.score or 0.0))
    return [*hits, *_other_documents(index, query, known)][:top_k]


def _document(index: Index, standing: Standing) -> str:
    """Return the name under which the index knows an agreement's file."""
    path, folder = standing.entry.path, index.config.folder
    if path.is_relative_to(folder):
        return path.relative_to(folder).as_posix()
    real = Path(path).resolve()
    return real.relative_to(folder).as_posix() if real.is_relative_to(folder) else str(real)


def _card(standing: Standing, vector: "NDArray[np.float32] | None") -> Card:
    agreement = standing.entry.agreement
    assert agreement is not None  # noqa: S101 - only readable ones are served
    return Card(agreement, vector, standing.certain_aliases, standing.objections.wordings)


def _hit(index: Index, row: tuple[int, str], standing: Standing, found: Recalled) -> Hit:
    agreement = standing.entry.agreement
    assert agreement is not None  # noqa: S101 - only readable ones are served
    chunk = index.store.chunk_rows([row[0]])[row[0]]
    return Hit(
        document=row[1],
        chunk=chunk.text,
        position=chunk.position,
        similarity=(1 + found.cosine) / 2 if found.cosine else 0.0,
        score=min(found.score, SCORE_CAP[standing.validity]),
        symbol=agreement.symbol,
        start_line=chunk.start_line,
        end_line=chunk.end_line,
        why=found.reasons,
        agreement=AgreementHit(
            agreement.nl_term,
            agreement.symbol,
            standing.validity,
            agreement.files,
            standing.reasons,
            agreement.learned_at,
            standing.heir.qualified if standing.heir else "",
        ),
    )


def _other_documents(index: Index, query: str, known: Collection[str]) -> list[Hit]:
    """Return documents that are no agreements, served or not, by words; they stay below every band."""
    hits = index.store.word_hits(query_words(query), "body", 20)
    rows = index.store.chunk_rows([chunk for chunk, _ in hits])
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
        if (row := rows.get(chunk)) is not None and row.path not in known
    ]
