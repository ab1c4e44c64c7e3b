"""The shop, set up or not: what every end-to-end test starts from."""

import os
import shutil
from pathlib import Path

import pytest

from projects import BIN, SHOP, Project


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One vector cache for all tests: the shop's cards are embedded once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def bare_project(tmp_path: Path, cache: Path) -> Project:
    """The shop in git, not set up."""
    root = tmp_path / "shop"
    shutil.copytree(SHOP, root)
    env = {**os.environ, "CODE_INTEL_CACHE_DIR": str(cache), "PATH": f"{BIN}:{os.environ['PATH']}"}
    for name in ("CODE_INTEL_ROOT", "CLAUDE_PROJECT_DIR"):
        env.pop(name, None)
    project = Project(root, env)
    project.git("init", "-q", "-b", "main")
    project.git("add", "-A")
    project.git("commit", "-qm", "The shop")
    return project


@pytest.fixture
def project(bare_project: Project) -> Project:
    """The shop, set up and fully indexed, words and vectors."""
    bare_project.run("code-intel", "init")
    bare_project.run("code-intel", "sync")
    return bare_project


@pytest.fixture
def words(indexed_shop: Path, tmp_path: Path, cache: Path) -> Project:
    """The shop, set up, words indexed and no more: these tests are not about meaning."""
    root = Path(shutil.copytree(indexed_shop, tmp_path / "shop"))
    env = {**os.environ, "CODE_INTEL_CACHE_DIR": str(cache), "CODE_INTEL_EMBEDDING": "off"}
    return Project(root, env)
