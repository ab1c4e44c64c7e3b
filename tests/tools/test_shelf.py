"""A question is compared with vectors of its own space only.

The answer reports if there are none.
"""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from code_intel.config import Settings
from code_intel.embedding.lazy import EngineSpec, LazyEmbedder
from code_intel.index.facade import Index
from code_intel.index.vectors import embed_pending
from code_intel.records import SearchAnswer
from code_intel.tools.context.corpus_service import CorpusService
from doubles import HashEmbedder
from served import make_shop, settings_of

FOUR_BIT = HashEmbedder(identity="multilingual-e5-small/q4/one")
EIGHT_BIT = HashEmbedder(identity="multilingual-e5-small/int8/two")
OTHER = HashEmbedder(identity="another")
QUESTION = "how is the shipping fee computed"
AGREEMENT = """---
nl_term: 送料計算
symbol: shipping_fee
---
It returns the fee.
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_shop(tmp_path_factory.mktemp("service") / "shop")


@pytest.fixture
def settings(shop: Path, tmp_path: Path) -> Settings:
    found = settings_of(Path(shutil.copytree(shop, tmp_path / "shop")))
    (found.agreements / "fee.md").write_text(AGREEMENT, encoding="utf-8")
    with Index(found.map) as index:
        index.complete(words_only=True)
    return found


def embed(settings: Settings, corpus: str, embedder: HashEmbedder, steps: int = 999) -> None:
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


def ask(settings: Settings, corpus: str, embedder: HashEmbedder) -> SearchAnswer:
    engine = EngineSpec(
        "a double",
        lambda: True,
        lambda _model: embedder.identity,
        lambda _model, _threads: embedder,
    )
    model = LazyEmbedder(replace(settings, embedding="auto"), [engine])
    with Index(settings.forest) as forest, Index(settings.map) as agreements:
        index = agreements if corpus == "map" else forest
        return CorpusService(settings, index, forest, model).search(QUESTION, 5)


def by_vectors(answer: SearchAnswer) -> bool:
    return any(hit.similarity > 0 for hit in answer.hits)


def test_vectors_of_another_precision_answer_while_those_of_this_one_are_made(
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
        (said,) = answer.index.degraded
        counted = re.search(r"([\d,]+) of ([\d,]+) vectors of the new model are made", said)
        assert counted is not None
        made, total = (int(number.replace(",", "")) for number in counted.groups())
        assert (made > 0) is (steps > 0)
        assert made < total
    embed(settings, "forest", OTHER)
    answer = ask(settings, "forest", OTHER)
    assert by_vectors(answer)
    assert answer.index.degraded == ()


def test_the_map_whose_scores_are_fitted_for_one_engine_takes_its_vectors_alone(
    settings: Settings,
) -> None:
    embed(settings, "map", FOUR_BIT)
    answer = ask(settings, "map", EIGHT_BIT)
    assert answer.hits
    assert not by_vectors(answer)
    assert "0 of 1 vectors" in answer.index.degraded[0]
