"""Query plans over stdio, in both protocol eras, on this project's source with the real model."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import anyio
import pytest

from code_intel.cli.setup.init import apply, setup
from projects import BIN, ERAS, Project, both_eras
from upstreams import until

pytestmark = [pytest.mark.anyio, pytest.mark.model]

HERE = Path(__file__).resolve().parents[2]
FILES = (
    "pyproject.toml",
    "code_intel/config/settings.py",
    "docs/settings.md",
    "tests/conftest.py",
    "tests/doubles.py",
    "tests/foundation/test_mounts.py",
)
"""Files of this repository for two goals, few enough to be embedded in seconds."""


@pytest.fixture(scope="session")
def own_source(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A part of this repository, set up and indexed, words and vectors."""
    root = tmp_path_factory.mktemp("own") / "code-intel"
    for file in FILES:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(HERE / file, root / file)
    subprocess.run(["git", "init", "-q", str(root)], check=True, stdin=subprocess.DEVNULL)
    apply(setup(root))
    env = {
        **os.environ,
        "CODE_INTEL_CACHE_DIR": str(tmp_path_factory.mktemp("cache")),
        "PATH": f"{BIN}:{os.environ['PATH']}",
    }
    project = Project(root, env)
    project.run("code-intel", "sync")
    return project


@pytest.fixture
def own(own_source: Project, tmp_path: Path) -> Project:
    root = Path(shutil.copytree(own_source.root, tmp_path / "code-intel", symlinks=True))
    return Project(root, own_source.env)


def expects(answer: dict[str, Any]) -> set[str]:
    final = answer["finalResults"]
    return {*final["matchedExpectations"], *final["unmatchedExpectations"]}


async def test_the_basic_example_of_seed_003_finds_the_configuration(
    own: Project,
) -> None:
    async with own.connect("code-intel", "serve", era=ERAS[0]) as call:
        answer = await call(
            "gistdex_query_plan",
            goal="config.tomlの設定項目の構造と設定方法を理解する",
            expectedResults={
                "keywords": ["config", "settings", "environ"],
                "minMatches": 5,
                "confidence": 0.8,
            },
            maxIterations=3,
            evaluationMode="semantic",
        )
    assert answer["status"] in {"success", "partial"}
    assert answer["finalResults"]["confidence"] > 0.5
    assert expects(answer) == {"config", "settings", "environ"}
    found = [row["document"] for row in answer["finalResults"]["data"]]
    assert {"code_intel/config/settings.py", "docs/settings.md"} & set(found[:4])
    assert 1 <= len(answer["iterations"]) <= 3
    assert answer["source"] == "forest, words and vectors"
    assert all("degraded" not in each for each in answer["iterations"])
    assert (own.root / answer["savedAt"]).is_file()
    assert (own.root / answer["structuredKnowledgePath"]).is_file()


async def test_the_advanced_example_of_seed_003_finds_the_tests(
    own: Project,
) -> None:
    given = ["test framework configuration", "pytest setup", "coverage requirements"]
    async with own.connect("code-intel", "serve", era=ERAS[1]) as call:
        answer = await call(
            "gistdex_query_plan",
            goal="プロジェクトのテスト戦略を完全に理解する",
            initialQueries=given,
            strategy={
                "initialMode": "broad",
                "refinementMethod": "hybrid",
                "expansionRules": [
                    "add file type filters for test_*.py",
                    "include related configuration files",
                    "search for best practices in docs",
                ],
            },
            expectedResults={
                "keywords": ["pytest", "test", "fixture", "hypothesis"],
                "contentPatterns": ["def test_\\w+\\(", "assert ", "pytest\\.fixture"],
                "minMatches": 10,
                "confidence": 0.9,
            },
            maxIterations=5,
            saveIntermediateResults=True,
        )
    queries = [each["query"] for each in answer["iterations"]]
    assert queries[:3] == given[: len(queries)]
    assert answer["stopReason"] == "reached" or len(queries) == 5
    assert answer["metadata"]["improvementRate"] >= 0
    assert {"pytest", "test"} <= set(answer["finalResults"]["matchedExpectations"])
    found = [row["document"] for row in answer["finalResults"]["data"]]
    assert any(name.startswith("tests/") for name in found[:3])


@both_eras
async def test_a_cancelled_plan_is_stored_and_the_server_goes_on(own: Project, era: str) -> None:
    told: list[float] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        assert (total, bool(message)) == (20, True)
        told.append(progress)

    plans = own.root / ".gistdex" / "cache" / "plans"
    async with own.connect("code-intel", "serve", era=era) as call:
        async with anyio.create_task_group() as group:

            async def plan() -> None:
                await call.client.call_tool(
                    "gistdex_query_plan",
                    {
                        "goal": "how are settings read",
                        "initialQueries": [f"settings number {at}" for at in range(10)],
                        "maxIterations": 20,
                        "expectedResults": {"keywords": ["nowheretobefound"], "confidence": 1},
                    },
                    progress_callback=hear,
                )

            group.start_soon(plan)
            await until(lambda: len(told) > 2, seconds=60)
            group.cancel_scope.cancel()
        assert (await call("files_search", query="settings"))["results"]
    (file,) = plans.glob("*-*-*-*-*.json")
    assert '"stopReason": "stopped"' in file.read_text("utf-8")
    assert told == sorted(told)
