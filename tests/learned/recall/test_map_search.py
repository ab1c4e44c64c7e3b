"""Search the map: which agreements are answered, with which score, and which are only listed."""

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from code_intel.config import Settings
from code_intel.embedding.cache import VectorCache
from code_intel.embedding.engine import Embedder
from code_intel.embedding.lazy import EngineSpec, LazyEmbedder
from code_intel.errors import EmbeddingError
from code_intel.index.facade import Index
from code_intel.learned.learn import learn
from code_intel.learned.status.agreement_status import AgreementStatus, standings
from code_intel.records import (
    READY_SCORE,
    VERIFICATION_SCORE,
    Agreement,
    FileReference,
    SearchAnswer,
)
from code_intel.tools.context.corpus_service import UNCALIBRATED, CorpusService
from doubles import HashEmbedder
from served import settings_of

TERM = "送料計算"
CONFLICT = "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\n"


@pytest.fixture
def settings(indexed_shop: Path, tmp_path: Path) -> Settings:
    return settings_of(Path(shutil.copytree(indexed_shop, tmp_path / "shop")))


def services(
    settings: Settings, embedder: LazyEmbedder | None = None
) -> tuple[CorpusService, CorpusService]:
    embedder = embedder or LazyEmbedder(settings)
    cache = VectorCache(settings.cache_dir)
    forest = Index(settings.forest, embedder=embedder, cache=cache)
    index = Index(settings.map, embedder=embedder, cache=cache)
    return CorpusService(settings, index, forest, embedder), CorpusService(
        settings, forest, forest, embedder
    )


def agree(settings: Settings, symbol: str = "shipping_fee", term: str = TERM) -> Path:
    """Learn an agreement about a symbol as it is defined now, confirmed."""
    with Index(settings.forest) as forest:
        definitions = forest.store.definitions(symbol, exact=True, limit=1)
    agreement = Agreement(
        term,
        symbol,
        evidence=("It returns the fee.",),
        files=tuple(FileReference(d.file, d.line) for d in definitions),
        digest=definitions[0].digest if definitions else "",
    )
    return learn(settings, agreement, confirmed=True).agreement_file


def ask(settings: Settings, query: str, embedder: LazyEmbedder | None = None) -> SearchAnswer:
    map_service, forest_service = services(settings, embedder)
    try:
        map_service.index.complete()
        forest_service.index.complete(words_only=True)
        return map_service.search(query, 10)
    finally:
        map_service.index.close()
        forest_service.index.close()


def statuses(settings: Settings) -> dict[str, AgreementStatus]:
    with Index(settings.forest) as forest:
        forest.complete(words_only=True)
        return {standing.entry.path.name: standing for standing in standings(settings, forest)}


def terms(answer: SearchAnswer) -> list[str]:
    return [hit.agreement.nl_term for hit in answer.hits if hit.agreement]


def with_model(
    settings: Settings, load: Callable[[], Embedder] = HashEmbedder, identity: str = "hashed-words"
) -> LazyEmbedder:
    engine = EngineSpec(
        "a double", lambda: True, lambda _model: identity, lambda _model, _threads: load()
    )
    return LazyEmbedder(replace(settings, embedding="auto"), [engine])


def test_confirmed_agreement_is_found_by_its_term(settings: Settings) -> None:
    file = agree(settings)
    assert statuses(settings)[file.name].validity == "valid"
    hit = ask(settings, TERM).hits[0]
    assert hit.agreement is not None
    assert (hit.agreement.symbol, hit.agreement.status) == ("shipping_fee", "valid")
    assert hit.document == f".code-intel/agreements/{file.name}"
    assert hit.agreement.files[0].path == "src/cart/shipping.py"


def test_list_under_an_unknown_key_does_not_stop_the_map(settings: Settings) -> None:
    path = agree(settings)
    page = path.read_text(encoding="utf-8")
    listed = page.replace("---\n", "---\nowners:\n  - sales\n  - web\n", 1)
    path.write_text(listed, encoding="utf-8")
    assert terms(ask(settings, TERM)) == [TERM]


@pytest.mark.parametrize(
    ("spoil", "status"),
    [
        (lambda text: CONFLICT + text, "conflict"),
        (lambda _: "---\nnl_term: 送料計算\n---\n", "invalid"),
        (lambda _: "---\n- a\n", "invalid"),
        (lambda text: text.replace("shipping_fee", "no_such_fee"), "broken"),
    ],
    ids=["conflict", "no symbol", "not closed", "symbol gone"],
)
def test_unusable_agreement_is_listed_with_a_reason_and_not_answered(
    settings: Settings, spoil: Callable[[str], str], status: str
) -> None:
    bad = agree(settings)
    agree(settings, "ShoppingCart", "買い物かご")
    ask(settings, TERM)
    bad.write_text(spoil(bad.read_text("utf-8")), encoding="utf-8")
    standing = statuses(settings)[bad.name]
    assert standing.validity == status
    assert all(standing.reasons)
    assert standing.reasons
    answer = ask(settings, TERM)
    assert all(hit.agreement is None or hit.agreement.nl_term != TERM for hit in answer.hits)
    assert terms(ask(settings, "買い物かご"))[:1] == ["買い物かご"]


def test_changed_symbol_scores_below_ready(settings: Settings) -> None:
    agree(settings)
    source = settings.root / "src" / "cart" / "shipping.py"
    source.write_text(
        source.read_text("utf-8").replace("return Decimal(0)", "return Decimal(1)"),
        encoding="utf-8",
    )
    for embedder in (None, with_model(settings)):
        hit = ask(settings, TERM, embedder).hits[0]
        assert hit.agreement is not None
        assert hit.agreement.status == "changed"
        assert hit.score is not None
        assert hit.score < READY_SCORE
        assert "shipping.py" in hit.agreement.reasons[0]


def test_change_elsewhere_in_the_file_has_no_effect(settings: Settings) -> None:
    agree(settings)
    source = settings.root / "src" / "cart" / "shipping.py"
    source.write_text(f"# moved down\n\n{source.read_text('utf-8')}", encoding="utf-8")
    hit = ask(settings, TERM).hits[0]
    assert hit.agreement is not None
    assert hit.agreement.status == "valid"


def test_missing_index_of_the_source_proves_nothing(settings: Settings) -> None:
    agree(settings, "no_such_symbol", "何か")
    agree(settings)
    settings.forest.db_path.unlink()
    with Index(settings.forest, readonly=True) as forest:
        found = standings(settings, forest)
    assert [standing.validity for standing in found] == ["unchecked", "unchecked"]
    assert not settings.forest.db_path.exists()


def test_link_is_not_an_agreement(settings: Settings, tmp_path: Path) -> None:
    file = agree(settings)
    outside = tmp_path / "outside.md"
    outside.write_bytes(file.read_bytes())
    file.unlink()
    file.symlink_to(outside)
    (file.parent / "loop.md").symlink_to("loop.md")
    (file.parent / "folder").symlink_to(tmp_path)
    os.mkfifo(file.parent / "pipe.md")
    found = statuses(settings)
    assert {standing.validity for standing in found.values()} == {"invalid"}
    assert terms(ask(settings, TERM)) == []


def test_unloadable_model_leaves_word_search(settings: Settings) -> None:
    def fail() -> HashEmbedder:
        raise EmbeddingError("the weights are damaged")

    agree(settings)
    broken = with_model(settings, fail)
    answer = ask(settings, TERM, broken)
    assert terms(answer) == [TERM]
    assert (answer.hits[0].score or 1) < VERIFICATION_SCORE
    assert "the weights are damaged" in answer.index.degraded[0]
    forest = services(settings, broken)[1]
    found = forest.search("shipping fee", 3)
    assert found.hits[0].document == "src/cart/shipping.py"
    assert "the weights are damaged" in found.index.degraded[0]
    forest.index.close()


def test_missing_engine_leaves_word_search_below_every_threshold(settings: Settings) -> None:
    agree(settings)
    answer = ask(settings, TERM, LazyEmbedder(replace(settings, embedding="auto"), []))
    assert terms(answer) == [TERM]
    assert 0 < (answer.hits[0].score or 0) < 0.7
    assert "no embedding engine" in answer.index.degraded[0].casefold()


def test_vectors_of_another_model_are_not_compared(settings: Settings) -> None:
    agree(settings)
    assert ask(settings, TERM, with_model(settings)).index.degraded == (UNCALIBRATED,)
    other = with_model(settings, lambda: HashEmbedder(identity="another"), "another")
    map_service, forest_service = services(settings, other)
    answer = map_service.search(TERM, 5)
    assert "another model" in answer.index.degraded[0]
    assert (answer.hits[0].score or 1) < VERIFICATION_SCORE
    map_service.index.close()
    forest_service.index.close()


def test_other_documents_come_after_agreements_with_low_scores(
    settings: Settings,
) -> None:
    agree(settings)
    patterns = (*settings.map.patterns, "./docs")
    wider = replace(settings, map=replace(settings.map, patterns=patterns))
    (settings.root / "docs" / "fees.md").write_text(f"# {TERM}\n\nNot agreed.\n", encoding="utf-8")
    (settings.agreements / "bad.md").write_text(f"{CONFLICT}{TERM}\n", encoding="utf-8")
    first, *others = ask(wider, TERM).hits
    assert first.agreement is not None
    assert [hit.document for hit in others] == ["docs/fees.md"]
    assert others[0].agreement is None
    assert 0 < (others[0].score or 0) < 0.5
