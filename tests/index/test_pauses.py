"""A running scan pauses for requests to any index of the process, up to a limit."""

import time
from pathlib import Path

import pytest

from code_intel.index import indexer as module
from code_intel.index.facade import Index
from code_intel.index.indexer import Activity, Indexer
from served import settings_of

FILES = 40
PAUSE = 0.02


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for at in range(FILES):
        (tmp_path / f"m{at}.py").write_text(f"def f{at}():\n    pass\n", "utf-8")
    monkeypatch.setattr(module, "PAUSE_S", PAUSE)
    return tmp_path


def scanned(project: Path, activity: Activity) -> Index:
    """Return an index whose first scan has just begun, in the background."""
    index = Index(settings_of(project).forest, activity=activity)
    index.start()
    return index


def ended(index: Index) -> float:
    """Wait for the scan; return when it was over."""
    assert index.indexer is not None
    assert index.indexer.wait(lambda status: status.scans > 0, 60)
    return time.monotonic()


def test_a_scan_pauses_while_another_index_of_the_process_is_asked(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    activity = Activity()
    other = Indexer(settings_of(project).map, activity=activity)
    pauses: list[float] = []
    asking = Indexer._pause_for_requests  # noqa: SLF001 - asked again each time the scan looks up

    def asked_at_every_file(self: Indexer) -> None:
        other.request()
        before = time.monotonic()
        asking(self)
        pauses.append(time.monotonic() - before)

    monkeypatch.setattr(Indexer, "_pause_for_requests", asked_at_every_file)
    monkeypatch.setattr(module, "MAX_PAUSE_S", 5 * PAUSE)
    with scanned(project, activity) as index:
        ended(index)
        assert index.freshness().files == FILES
    long = [pause for pause in pauses if pause >= 0.9 * PAUSE]
    assert 3 <= len(long) <= 15, (
        "some files were waited at, and then no more, however much was asked"
    )
    assert len(pauses) >= FILES
