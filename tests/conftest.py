"""Configure hypothesis and define the fixtures that every test may use."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:  # most tests need no shared index
    from code_intel.shared.milvus import SharedIndex

# Properties have no deadline. Benchmarks measure times. The suite draws the same examples in every
# run, so a failure comes from the change. `./setup.sh test --hypothesis-profile=explore` draws new
# examples.
settings.register_profile("suite", deadline=None, derandomize=True, max_examples=30)
settings.register_profile("all", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile("suite")


SLOW_FIRST = ("e2e", "registry", "hostile", "learned", "docs", "project", "cli", "servers", "tools")
"""Folders with the slowest files; they run first, so that all workers end at the same time."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the slow folders first; the order within a folder stays."""
    places = {folder: place for place, folder in enumerate(SLOW_FIRST)}
    tests = Path(__file__).parent
    items.sort(key=lambda item: places.get(item.path.relative_to(tests).parts[0], len(places)))


@pytest.fixture(scope="session", autouse=True)
def folders_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give each worker its own state, cache and git configuration."""
    config = tmp_path_factory.mktemp("git") / "config"
    config.write_text("[safe]\n\tdirectory = *\n[core]\n\texcludesFile =\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("STATE", "CACHE"):
            patch.setenv(f"CODE_INTEL_{name}_DIR", str(tmp_path_factory.mktemp(name.lower())))
        patch.setenv("GIT_CONFIG_GLOBAL", str(config))
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        yield


@pytest.fixture(autouse=True)
def demands(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Judge sessions by evidence, as the default is; by counts in tests marked `counts`."""
    monkeypatch.delenv("CODE_INTEL_GATE_DEMANDS", raising=False)
    if mark := request.node.get_closest_marker("counts"):
        assert mark.args, "Give the mark `counts` the reason why the test needs it."
        monkeypatch.setenv("CODE_INTEL_GATE_DEMANDS", "counts")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio, as the servers do."""
    return "asyncio"


@pytest.fixture(scope="session")
def indexed_shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Index the words of one shop. Tests copy it."""
    from served import make_shop  # most tests need no server

    return make_shop(tmp_path_factory.mktemp("indexed") / "shop")


@pytest.fixture
def shop(indexed_shop: Path, tmp_path: Path) -> Path:
    """Copy the indexed shop, so that the test may change it."""
    return Path(shutil.copytree(indexed_shop, tmp_path / "shop", symlinks=True))


@pytest.fixture(scope="session")
def embedded_shop(indexed_shop: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Add vectors to a copy of the shop, so that no test waits for the model to compute them."""
    from code_intel.tools.context.corpus_service import open_project
    from served import settings_of

    root = Path(shutil.copytree(indexed_shop, tmp_path_factory.mktemp("embedded") / "shop"))
    for service in open_project(settings_of(root, "faithful")):
        service.index.complete()
        service.index.close()
    return root


@pytest.fixture
def empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the home folder be an empty one, without a command registry."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    return home


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    """Build the demo project, which the test may change."""
    from demo_project import built

    return built(tmp_path / "shop")


@pytest.fixture(scope="module")
def read_demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the demo project for the tests of a file, which only read it."""
    from demo_project import built

    return built(tmp_path_factory.mktemp("demo") / "shop")


@pytest.fixture(scope="session")
def shared_index(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SharedIndex]":
    """Open one shared index in Milvus Lite. Each test uses repositories of its own."""
    pytest.importorskip("milvus_lite", reason="the extra `milvus` is not installed")
    from code_intel.shared.milvus import SharedIndex

    with SharedIndex.open(str(tmp_path_factory.mktemp("milvus") / "shared.db")) as index:
        yield index


@pytest.fixture(scope="session")
def milvus_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run one Milvus Lite in a process of its own; yield its URL."""
    pytest.importorskip("milvus_lite", reason="the extra `milvus` is not installed")
    from milvus_servers import milvus_server

    with milvus_server(tmp_path_factory.mktemp("milvus") / "served.db") as url:
        yield url


@pytest.fixture(scope="session")
def served_index(milvus_url: str) -> "Iterator[SharedIndex]":
    """Open the shared index of that process."""
    from code_intel.shared.milvus import SharedIndex

    with SharedIndex.open(milvus_url) as index:
        yield index
