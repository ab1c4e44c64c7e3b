"""Projects: the shop with vectors, an empty one, one without a grammar, and those of replays."""

import shutil
from pathlib import Path

import pytest

from code_intel.cli.setup.init import apply, setup
from code_intel.tools.context.corpus_service import open_project
from honest.replays import PROJECTS
from programs import git
from served import settings_of

COBOL = """       IDENTIFICATION DIVISION.
       PROGRAM-ID. TAX.
      * 消費税の計算
       PROCEDURE DIVISION.
       CALC-TAX.
           COMPUTE TAX-AMOUNT = PRICE * 0.10.
           MOVE TAX-AMOUNT TO RESULT-AMOUNT.
       PRINT-BILL.
           PERFORM CALC-TAX.
           DISPLAY RESULT-AMOUNT.
"""


@pytest.fixture(scope="session")
def projects(embedded_shop: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Each kind of project, indexed."""
    found = {"shop": embedded_shop}
    for name, files in {
        "empty": {},
        "unread": {"src/tax.cbl": COBOL, "README.md": "# 税\n"},
        **PROJECTS,
    }.items():
        root = tmp_path_factory.mktemp("honest") / name
        for file, text in {".gitignore": "*.log\n", **files}.items():
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).write_text(text, encoding="utf-8")
        apply(setup(root))
        git(root, "init", "-q", "-b", "main")
        git(root, "add", "-A")
        git(root, "commit", "-qm", "Begin")
        for service in open_project(settings_of(root, "faithful")):
            service.index.complete()
            service.index.close()
        found[name] = root
    return found


@pytest.fixture
def project(projects: dict[str, Path], tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A copy of the project that a session's plan names."""
    plan = request.getfixturevalue("plan")
    return Path(shutil.copytree(projects[plan.project], tmp_path / "it", symlinks=True))
