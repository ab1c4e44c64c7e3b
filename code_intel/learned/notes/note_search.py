"""Find the notes that a question concerns, by words and vectors (docs/decisions/0083).

The score is the probability that a reader calls the note relevant. A note never answers a question
in place of an agreement, so its score stays below `VERIFICATION_SCORE`.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from code_intel.chunking.lexicon import ALTERNATIVES, english
from code_intel.chunking.words import query_words, words
from code_intel.learned.notes.entries import NoteEntry
from code_intel.records import VERIFICATION_SCORE, Note

if TYPE_CHECKING:  # numpy costs a handshake 0.1 s
    import numpy as np
    from numpy.typing import NDArray

SHOWN_PROBABILITY = 0.2
"""Notes that are less likely to be relevant are not shown."""
TITLE_PROBABILITY = 0.9
"""The probability of a note whose title has all words of the question."""
MAX_SCORE = VERIFICATION_SCORE - 0.01
MAX_QUERY_WORDS = 64
BEST_LINES = 3
"""Number of lines of a note that an answer shows."""

_K1, _B = 1.2, 0.75
_OTHER_NOTES = 20
"""Notes without any of the words that are assumed beside those of the project. With few notes, a
word is rare because there are few, not because it says much."""
_USUAL_COSINE, _USUAL_SPREAD = 0.80, 0.02
"""Mean and spread of the cosines between a question and unrelated notes."""
_CONSTANT, _PER_WEIGHT, _PER_SPREAD = -7.86, 0.388, 1.596
_CONSTANT_WORDS, _PER_WEIGHT_WORDS = -6.72, 0.501
"""Logistic regressions on blind questions, with vectors and without (`benchmarks/note_search`)."""
_WRAPPED = re.compile(r"(?<=\S)\n(?=[^\W\d_`*(（「])")
"""The end of a line that the next line continues; an item or a row of a table begins otherwise."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=\S)|(?<=[。！？])|\n")


class NoteMatch(NamedTuple):
    """A note, its probability of being relevant, and the cosine of its best chunk or 0."""

    entry: NoteEntry
    probability: float
    cosine: float

    @property
    def score(self) -> float:
        """The score as hits of the map have it."""
        return round(min(self.probability, MAX_SCORE), 4)


@dataclass(frozen=True, slots=True, eq=False)
class NoteIndex:
    """The notes of a project, prepared for questions.

    Attributes:
        entries: The notes.
        counts: The words of each note.
        matrix: The vectors of their chunks.
        owners: The number of the note for each row of `matrix`.
    """

    entries: tuple[NoteEntry, ...]
    counts: tuple[Mapping[str, int], ...]
    matrix: "NDArray[np.float32]"
    owners: "NDArray[np.int64]"

    def search(self, query: str, vector: "NDArray[np.float32] | None") -> list[NoteMatch]:
        """Return the notes that the question concerns, best first."""
        wanted = searched_words(query)
        weights = self.weights(wanted)
        cosines = self.cosines(vector)
        own = frozenset(query_words(query))
        found = [
            NoteMatch(
                entry,
                TITLE_PROBABILITY
                if own and own <= _title_words(entry.note.title)
                else _probability(weights[at], cosines, at),
                cosines.get(at, 0.0),
            )
            for at, entry in enumerate(self.entries)
        ]
        shown = [match for match in found if match.probability >= SHOWN_PROBABILITY]
        return sorted(shown, key=lambda match: -match.probability)

    def weights(self, wanted: Sequence[str]) -> list[float]:
        """Return the BM25 weight of the words in each note."""
        having = {word: sum(word in counted for counted in self.counts) for word in wanted}
        total = len(self.counts) + _OTHER_NOTES
        rarity = {word: math.log(total / (number + 0.5)) for word, number in having.items()}
        lengths = [sum(counted.values()) for counted in self.counts]
        usual = sum(lengths) / len(lengths) if lengths else 1.0
        return [
            sum(
                rarity[word] * times * (_K1 + 1) / (times + _K1 * (1 - _B + _B * length / usual))
                for word in wanted
                if (times := counted.get(word, 0))
            )
            for counted, length in zip(self.counts, lengths, strict=True)
        ]

    def cosines(self, vector: "NDArray[np.float32] | None") -> dict[int, float]:
        """Return the cosine of the best chunk of each note that has vectors."""
        import numpy as np

        if vector is None or not len(self.owners):
            return {}
        best = np.full(len(self.entries), -1.0, np.float32)
        np.maximum.at(best, self.owners, self.matrix @ vector.astype(np.float32))
        return {at: float(cosine) for at, cosine in enumerate(best) if cosine > -1}


def note_index(
    entries: Iterable[NoteEntry],
    documents: Mapping[Path, str],
    vectors: "tuple[Sequence[str], NDArray[np.float32]]",
) -> NoteIndex:
    """Return the index of notes.

    Args:
        entries: The notes.
        documents: The name of each note's file in the index of the map.
        vectors: The document of each vector, and the vectors.
    """
    import numpy as np

    kept = tuple(entries)
    number = {documents[entry.path]: at for at, entry in enumerate(kept)}
    rows = [row for row, document in enumerate(vectors[0]) if document in number]
    owners = [number[vectors[0][row]] for row in rows]
    return NoteIndex(
        kept,
        tuple(_counted(entry.note) for entry in kept),
        vectors[1][rows] if rows else np.zeros((0, 0), np.float32),
        np.array(owners, np.int64),
    )


def searched_words(query: str) -> list[str]:
    """Return the words by which a question finds notes, with the English ones of Japanese terms."""
    translated = " ".join(word for row in english(query) for word in row[:ALTERNATIVES])
    return list(dict.fromkeys(query_words(f"{query} {translated}")))[:MAX_QUERY_WORDS]


def best_lines(note: Note, query: str) -> tuple[str, ...]:
    """Return the sentences of a note that share most with a question, in their order.

    If none shares a word with it, return the first one.
    """
    wanted = set(searched_words(query))
    texts = (note.text, note.context, note.consequences, *note.evidence)
    lines = [
        line.strip() for text in texts for line in _SENTENCE_END.split(_WRAPPED.sub(" ", text))
    ]
    lines = [line for line in dict.fromkeys(lines) if any(map(str.isalnum, line))]
    shared = {line: len(wanted.intersection(words(line))) for line in lines}
    best = [line for line in sorted(lines, key=lambda line: -shared[line]) if shared[line]]
    chosen = set(best[:BEST_LINES] or lines[:1])
    return tuple(line for line in lines if line in chosen)


def text_of(note: Note) -> str:
    """Return all text of a note that questions are compared with."""
    parts = (note.title, note.title, note.text, note.context, note.consequences)
    return "\n".join((*parts, *note.evidence, *note.symbols, *note.files))


@lru_cache(maxsize=4096)
def _title_words(title: str) -> frozenset[str]:
    return frozenset(words(title))


@lru_cache(maxsize=4096)
def _counted(note: Note) -> Mapping[str, int]:
    return Counter(words(text_of(note)))


def _probability(weight: float, cosines: Mapping[int, float], at: int) -> float:
    """Return the probability that a note is relevant; without a vector, by its words alone."""
    if at not in cosines:
        logit = _CONSTANT_WORDS + _PER_WEIGHT_WORDS * weight
    else:
        logit = _CONSTANT + _PER_WEIGHT * weight + _PER_SPREAD * spread_of(cosines, at)
    return 1 / (1 + math.exp(-logit))


def spread_of(cosines: Mapping[int, float], at: int) -> float:
    """Return how far a note's cosine is above the usual one, in standard deviations."""
    number = len(cosines) + _OTHER_NOTES
    mean = (sum(cosines.values()) + _OTHER_NOTES * _USUAL_COSINE) / number
    squares = sum((value - mean) ** 2 for value in cosines.values())
    spread = math.sqrt((squares + _OTHER_NOTES * _USUAL_SPREAD**2) / number)
    return (cosines[at] - mean) / spread
