"""Words answer while vectors are computed. Vectors join once they help more than they mislead."""

from dataclasses import replace
from pathlib import Path

import pytest

from code_intel.config import Settings
from code_intel.embedding.lazy import EngineSpec, LazyEmbedder
from code_intel.index.facade import Index
from code_intel.index.vectors import embed_chunks
from code_intel.records import SearchAnswer
from code_intel.tools.context.corpus_service import MIN_COVERAGE, TOO_FEW, CorpusService
from doubles import HashEmbedder
from served import make_shop, settings_of

MODEL = HashEmbedder(identity="multilingual-e5-small/int8/one")
ENGLISH = "how is the shipping fee computed"
JAPANESE = "送料の計算はどこ"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    found = settings_of(make_shop(tmp_path / "shop"))
    with Index(found.forest) as index:
        index.complete(words_only=True)
    return replace(found, embedding="auto")


def embed(settings: Settings, share: float) -> list[str]:
    """Give that share of the source its vectors, in the order in which they are computed.

    Return their cards.
    """
    with Index(settings.forest) as index:
        generation = index.store.generations.begin(MODEL.identity, MODEL.dimensions)
        waiting = index.store.generations.pending(generation, 9999)
        of_source = [row for row in waiting if _priority(index, row[0]) == 0]
        chosen = of_source[: int(share * len(of_source))]
        embed_chunks(index.store, generation, MODEL, None, chosen)
        return [card for _, card in chosen]


def _priority(index: Index, chunk: int) -> int:
    row = index.store.document(index.store.chunk_rows([chunk])[chunk].path)
    assert row is not None
    return row.priority


def ask(settings: Settings, query: str) -> SearchAnswer:
    engine = EngineSpec("a double", lambda: True, lambda _: MODEL.identity, lambda *_: MODEL)
    with Index(settings.forest) as forest:
        return CorpusService(settings, forest, forest, LazyEmbedder(settings, [engine])).search(
            query, 5
        )


def by_vectors(answer: SearchAnswer) -> bool:
    return any(hit.similarity > 0 for hit in answer.hits)


def test_a_question_is_answered_by_words_before_there_is_any_vector(settings: Settings) -> None:
    answer = ask(settings, ENGLISH)
    assert answer.hits
    assert not by_vectors(answer)
    assert answer.index.pending > 0


def test_too_few_vectors_are_not_asked_and_the_answer_says_so(settings: Settings) -> None:
    embed(settings, MIN_COVERAGE / 2)
    answer = ask(settings, ENGLISH)
    assert answer.hits == ask_without_model(settings)
    assert answer.index.degraded == (TOO_FEW,)
    assert answer.index.pending > 0


def ask_without_model(settings: Settings) -> tuple[object, ...]:
    with Index(settings.forest) as forest:
        return (
            CorpusService(settings, forest, forest, LazyEmbedder(settings, []))
            .search(ENGLISH, 5)
            .hits
        )


def test_enough_vectors_join_in_while_the_rest_is_made(settings: Settings) -> None:
    embed(settings, (1 + MIN_COVERAGE) / 2)
    answer = ask(settings, ENGLISH)
    assert by_vectors(answer)
    assert answer.index.degraded == ()
    assert answer.index.pending > 0


def test_a_japanese_question_has_words_and_waits_for_vectors_as_an_english_one(
    settings: Settings,
) -> None:
    embed(settings, MIN_COVERAGE / 2)
    answer = ask(settings, JAPANESE)
    assert answer.hits
    assert not by_vectors(answer)
    assert answer.index.degraded == (TOO_FEW,)


def test_a_question_that_has_no_words_of_ours_takes_the_vectors_there_are(
    settings: Settings,
) -> None:
    card = embed(settings, MIN_COVERAGE / 2)[0]
    answer = ask(settings, f"어디 {card}")
    assert by_vectors(answer)
    assert answer.index.degraded == ()
