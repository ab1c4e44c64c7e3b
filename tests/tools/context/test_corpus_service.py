"""A question is compared with vectors of its own model only, once there are enough of them.

Words answer meanwhile, and the answer says so.
"""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from code_intel.config import Settings
from code_intel.embedding.lazy import EngineSpec, LazyEmbedder
from code_intel.index.facade import Index
from code_intel.index.vectors import embed_chunks, embed_pending
from code_intel.records import SearchAnswer
from code_intel.tools.context.corpus_service import MIN_COVERAGE, TOO_FEW, CorpusService
from doubles import HashEmbedder
from served import settings_of

FOUR_BIT = HashEmbedder(identity="multilingual-e5-small/q4/one")
EIGHT_BIT = HashEmbedder(identity="multilingual-e5-small/int8/two")
OTHER = HashEmbedder(identity="another")
ENGLISH = "how is the shipping fee computed"
JAPANESE = "送料の計算はどこ"
AGREEMENT = """---
nl_term: 送料計算
symbol: shipping_fee
---
It returns the fee.
"""


@pytest.fixture
def settings(indexed_shop: Path, tmp_path: Path) -> Settings:
    root = Path(shutil.copytree(indexed_shop, tmp_path / "shop", symlinks=True))
    return replace(settings_of(root), embedding="auto")


def embed(settings: Settings, corpus: str, embedder: HashEmbedder, steps: int = 999) -> None:
    """Embed a corpus, or only the first batches of it."""
    done: list[int] = []
    with Index(settings.map if corpus == "map" else settings.forest) as index:
        embed_pending(
            index.store,
            embedder,
            None,
            progress=done.append,
            stop=lambda: len(done) >= steps,
            batch=2,
        )


def embed_share(settings: Settings, share: float) -> list[str]:
    """Embed that share of the source in the usual order; return the embedded texts."""
    with Index(settings.forest) as index:
        store, generations = index.store, index.store.generations
        generation = generations.begin(EIGHT_BIT.identity, EIGHT_BIT.dimensions)
        priorities = {document.path: document.priority for document in store.documents()}
        waiting = generations.pending(generation, 9999)
        paths = {
            chunk: row.path for chunk, row in store.chunk_rows([c for c, _ in waiting]).items()
        }
        of_source = [row for row in waiting if priorities[paths[row[0]]] == 0]
        chosen = of_source[: int(share * len(of_source))]
        embed_chunks(store, generation, EIGHT_BIT, None, chosen)
        return [text for _, text in chosen]


def ask(
    settings: Settings, corpus: str, embedder: HashEmbedder | None, query: str = ENGLISH
) -> SearchAnswer:
    engines = []
    if embedder is not None:
        identity = embedder.identity
        engines = [EngineSpec("a double", lambda: True, lambda _: identity, lambda *_: embedder)]
    with Index(settings.forest) as forest, Index(settings.map) as agreements:
        index = agreements if corpus == "map" else forest
        model = LazyEmbedder(settings, engines)
        return CorpusService(settings, index, forest, model).search(query, 5)


def by_vectors(answer: SearchAnswer) -> bool:
    return any(hit.similarity > 0 for hit in answer.hits)


def test_vectors_of_another_precision_answer_until_the_new_ones_are_complete(
    settings: Settings,
) -> None:
    embed(settings, "forest", FOUR_BIT)
    for steps in (0, 2):
        embed(settings, "forest", EIGHT_BIT, steps)
        answer = ask(settings, "forest", EIGHT_BIT)
        assert by_vectors(answer)
        assert answer.index.degraded == ()
        assert answer.index.pending > 0


def test_with_vectors_of_another_model_words_answer_and_the_new_ones_are_counted(
    settings: Settings,
) -> None:
    embed(settings, "forest", FOUR_BIT)
    for steps in (0, 2):
        embed(settings, "forest", OTHER, steps)
        answer = ask(settings, "forest", OTHER)
        assert answer.hits
        assert not by_vectors(answer)
        (note,) = answer.index.degraded
        counted = re.search(r"([\d,]+) of ([\d,]+) vectors of the new model are ready", note)
        assert counted is not None
        made, total = (int(number.replace(",", "")) for number in counted.groups())
        assert (made > 0) is (steps > 0)
        assert made < total
    embed(settings, "forest", OTHER)
    answer = ask(settings, "forest", OTHER)
    assert by_vectors(answer)
    assert answer.index.degraded == ()


def test_the_map_uses_only_vectors_of_the_model_its_scores_are_fitted_for(
    settings: Settings,
) -> None:
    (settings.agreements / "fee.md").write_text(AGREEMENT, encoding="utf-8")
    with Index(settings.map) as index:
        index.complete(words_only=True)
    embed(settings, "map", FOUR_BIT)
    answer = ask(settings, "map", EIGHT_BIT)
    assert answer.hits
    assert not by_vectors(answer)
    assert "0 of 1 vectors" in answer.index.degraded[0]


@pytest.mark.parametrize("query", [ENGLISH, JAPANESE])
def test_too_few_vectors_are_not_used_and_the_answer_says_so(
    settings: Settings, query: str
) -> None:
    assert ask(settings, "forest", EIGHT_BIT, query).index.pending > 0
    embed_share(settings, MIN_COVERAGE / 2)
    answer = ask(settings, "forest", EIGHT_BIT, query)
    assert answer.hits == ask(settings, "forest", None, query).hits != ()
    assert answer.index.degraded == (TOO_FEW,)
    assert answer.index.pending > 0


def test_enough_vectors_are_used_while_the_rest_is_computed(settings: Settings) -> None:
    embed_share(settings, (1 + MIN_COVERAGE) / 2)
    answer = ask(settings, "forest", EIGHT_BIT)
    assert by_vectors(answer)
    assert answer.index.degraded == ()
    assert answer.index.pending > 0


def test_a_question_without_words_of_the_index_uses_the_vectors_there_are(
    settings: Settings,
) -> None:
    text = embed_share(settings, MIN_COVERAGE / 2)[0]
    answer = ask(settings, "forest", EIGHT_BIT, f"어디 {text}")
    assert by_vectors(answer)
    assert answer.index.degraded == ()
