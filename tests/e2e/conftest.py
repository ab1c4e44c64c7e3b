"""Make the shop, set up or not, and the stand-in for an API, for the end-to-end tests."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.claude_code import installed
from e2e.messages_api import MessagesApi, messages_api
from projects import BIN, SHOP, Project


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Share one vector cache, so that the cards of the shop are embedded once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def bare_project(tmp_path: Path, cache: Path) -> Project:
    """Return the shop in git, not set up."""
    return new_project(tmp_path / "shop", cache)


def new_project(root: Path, cache: Path) -> Project:
    """Copy the shop into `root` and put it into git."""
    shutil.copytree(SHOP, root)
    env = {**os.environ, "CODE_INTEL_CACHE_DIR": str(cache), "PATH": f"{BIN}:{os.environ['PATH']}"}
    for name in ("CODE_INTEL_ROOT", "CLAUDE_PROJECT_DIR"):
        env.pop(name, None)
    project = Project(root, env)
    project.git("init", "-q", "-b", "main")
    project.git("add", "-A")
    project.git("commit", "-qm", "The shop")
    return project


@pytest.fixture(scope="session")
def synced(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Project:
    """Set the shop up and index its words and vectors, once for all tests."""
    project = new_project(tmp_path_factory.mktemp("synced") / "shop", cache)
    project.run("code-intel", "init")
    project.run("code-intel", "sync")
    return project


@pytest.fixture
def project(synced: Project, tmp_path: Path) -> Project:
    """Return a copy of the shop, set up and fully indexed."""
    root = Path(shutil.copytree(synced.root, tmp_path / "shop", symlinks=True))
    return Project(root, synced.env)


@pytest.fixture
def words(indexed_shop: Path, tmp_path: Path, cache: Path) -> Project:
    """Return a copy of the shop, set up, with its words indexed."""
    root = Path(shutil.copytree(indexed_shop, tmp_path / "shop"))
    env = {**os.environ, "CODE_INTEL_CACHE_DIR": str(cache), "CODE_INTEL_EMBEDDING": "off"}
    return Project(root, env)


@pytest.fixture(scope="session")
def claude_program() -> str:
    """Return the path of Claude Code, which is installed if it is missing."""
    return installed("claude-code")


@pytest.fixture
def api() -> Iterator[MessagesApi]:
    """Serve a stand-in for the Messages API."""
    with messages_api() as served:
        yield served
