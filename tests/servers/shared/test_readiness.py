"""A balancer asks whether an instance takes requests, also while the engine hangs."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from code_intel.servers.shared.routes.health import READY_TIMEOUT_S
from servers.shared.instances import Instance, instance


class HangingEngine:
    """An engine that takes connections and does not answer until it is released."""

    def __init__(self) -> None:
        self.asked = 0
        self.released = threading.Event()

    def check(self) -> None:
        self.asked += 1
        self.released.wait()


def status(running: Instance) -> int:
    return running.ask("GET", "/readyz").status


def test_an_engine_that_hangs_is_asked_once_by_many_probes(tmp_path: Path) -> None:
    engine = HangingEngine()
    with instance(tmp_path / "one", engine) as running:
        try:
            began = time.monotonic()
            with ThreadPoolExecutor(20) as probes:
                assert set(probes.map(status, [running] * 20)) == {503}
            assert time.monotonic() - began < READY_TIMEOUT_S + 3
            assert status(running) == 503
            assert engine.asked == 1
        finally:
            engine.released.set()
        while status(running) != 200:
            pass


def test_an_engine_that_answers_is_asked_about_once_a_second(tmp_path: Path) -> None:
    engine = HangingEngine()
    engine.released.set()
    with instance(tmp_path / "one", engine) as running:
        began = time.monotonic()
        for _ in range(20):
            assert status(running) == 200
        assert engine.asked <= 2 + time.monotonic() - began
