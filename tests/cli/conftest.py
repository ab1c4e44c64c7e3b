"""An indexed shop for the commands, set up as `init` would, words only."""

import os
import shutil
from pathlib import Path

import pytest

from projects import BIN, Project
from served import make_shop


@pytest.fixture(scope="session")
def indexed_shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_shop(tmp_path_factory.mktemp("indexed") / "shop")


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    home = tmp_path / "home"
    home.mkdir()
    env = {**os.environ, "CODE_INTEL_CACHE_DIR": str(tmp_path / "cache"), "HOME": str(home)}
    env |= {"CODE_INTEL_EMBEDDING": "off", "PATH": f"{BIN}:{os.environ['PATH']}"}
    for name in ("CODE_INTEL_ROOT", "CLAUDE_PROJECT_DIR"):
        env.pop(name, None)
    return env


@pytest.fixture
def shop(indexed_shop: Path, tmp_path: Path, env: dict[str, str]) -> Project:
    """The shop, set up, words indexed."""
    return Project(Path(shutil.copytree(indexed_shop, tmp_path / "shop")), env)


@pytest.fixture
def bare(tmp_path: Path, env: dict[str, str]) -> Project:
    """An empty folder."""
    root = tmp_path / "bare"
    root.mkdir()
    return Project(root, env)
