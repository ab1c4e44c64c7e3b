"""The shop with agreements."""

import shutil
from pathlib import Path

import pytest

from cli.map.words import SYMBOL, TERM, answer
from code_intel.learned.learn import learn
from code_intel.records import Agreement
from projects import Project
from served import settings_of


@pytest.fixture(scope="session")
def agreed_folder(indexed_shop: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The indexed shop with one confirmed agreement. Tests copy it."""
    root = Path(shutil.copytree(indexed_shop, tmp_path_factory.mktemp("agreed") / "shop"))
    project = Project(root, {"CODE_INTEL_EMBEDDING": "off", "HOME": str(root.parent)})
    answer(project, "add", TERM, SYMBOL, "--evidence", "It returns the fee.")
    answer(project, "confirm", TERM, SYMBOL)
    return root


@pytest.fixture
def agreed(agreed_folder: Path, tmp_path: Path, env: dict[str, str]) -> Project:
    """The shop with one confirmed agreement."""
    return Project(Path(shutil.copytree(agreed_folder, tmp_path / "shop")), env)


@pytest.fixture
def mixed(agreed: Project) -> Project:
    """The shop with a confirmed agreement, and an unconfirmed one whose symbol is missing."""
    missing = Agreement("無い", "vanished", ("It returns the fee.",))
    learn(settings_of(agreed.root), missing, confirmed=False)
    return agreed
