"""`code-intel push` shares agreements that are merged, confirmed and valid, if it may."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from code_intel.chunking import parse_file
from code_intel.config import load_settings
from code_intel.learned.files.agreements import load_all
from code_intel.learned.files.agreements import write as write_agreement
from code_intel.records import Agreement, FileReference
from code_intel.shared.agreements.candidates import MAP_BRANCH
from code_intel.shared.milvus import SharedIndex
from programs import git
from team_servers import Team, commit, run

pytestmark = pytest.mark.milvus

CODE = "def login(name):\n    checked = name.strip()\n    return bool(checked)\n"
OTHER = "def logout(name):\n    left = name.strip()\n    return not left\n"
Run = Callable[..., dict[str, Any]]


def agreed(root: Path, term: str, symbol: str, digest: str = "") -> Agreement:
    """Write an agreement; without a digest, with that of the code."""
    (file,) = [path for path in ("auth.py", "out.py") if symbol in (root / path).read_text()]
    parsed = parse_file(file, (root / file).read_text())
    found = next(each for each in parsed.symbols if each.name == symbol)
    agreement = Agreement(
        term, symbol, ("It is.",), (FileReference(file, 1),), confirmed=True,
        digest=digest or found.digest, frame=(("query", "Smith cannot sign in"),),
    )  # fmt: skip
    write_agreement(load_settings(root, {}).agreements, agreement)
    return agreement


@pytest.fixture
def push(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("CODE_INTEL_SHARED_MAP", "true")

    def pushed(root: Path, *options: str) -> dict[str, Any]:
        return run(capsys, "push", "--words-only", "--project", str(root), *options)

    return pushed


@pytest.fixture
def shop(team: Team, name: str) -> Path:
    team.use("push:shop/*")
    root = team.repository(name, {"auth.py": CODE, "out.py": OTHER})
    agreed(root, "sign in", "login")
    commit(root)
    return root


def shared(index: SharedIndex, name: str) -> list[str]:
    """Return the symbols of the agreements that a repository shares."""
    head = index.agreements.head(name, MAP_BRANCH)
    generation = head and index.agreements.generation(head.generation)
    if not generation or not generation.files:
        return []
    store = index.agreements.store([generation])
    rows = store.chunks_of(path for path, *_ in store.digests())
    return sorted(symbol for row in rows for symbol in row.symbols)


@pytest.mark.covers("rule.elsewhere.merged")
def test_a_push_shares_what_is_merged_and_valid(
    team: Team, shop: Path, name: str, push: Run, shared_index: SharedIndex
) -> None:
    agreed(shop, "leaving", "logout", digest="0" * 16)
    commit(shop)
    agreed(shop, "not committed", "logout")
    found = push(shop)
    assert found["map"]["agreements"] == 1
    assert found["map"]["left_out"] == {"changed": 1, "unconfirmed": 1}
    assert shared(shared_index, name) == ["login"]
    assert b"Smith" not in b"".join(
        body for path, body in team.record.requests if path.startswith("/v1/map/")
    )
    assert push(shop)["map"]["sent"] == []


@pytest.mark.covers("rule.elsewhere.merged")
def test_an_unmerged_branch_shares_nothing(
    shop: Path, name: str, push: Run, shared_index: SharedIndex
) -> None:
    push(shop)
    git(shop, "checkout", "-qb", "feature")
    agreed(shop, "leaving", "logout")
    commit(shop)
    found = push(shop)
    assert "tip of the trunk" in found["map"]["skipped"]
    assert shared(shared_index, name) == ["login"]


def test_a_dry_run_sends_no_agreement(
    shop: Path, name: str, push: Run, shared_index: SharedIndex
) -> None:
    found = push(shop, "--dry-run")
    assert len(found["map"]["sent"]) == 1
    assert shared(shared_index, name) == []


@pytest.mark.covers("rule.elsewhere.off")
def test_without_the_setting_no_agreement_leaves_the_machine(
    team: Team, shop: Path, push: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CODE_INTEL_SHARED_MAP")
    assert "map" not in push(shop)
    assert not [path for path, _ in team.record.requests if path.startswith("/v1/map/")]


def test_a_deleted_agreement_is_gone_after_the_next_push(
    shop: Path, name: str, push: Run, shared_index: SharedIndex
) -> None:
    push(shop)
    for entry in load_all(load_settings(shop, {}).agreements):
        entry.path.unlink()
    agreed(shop, "leaving", "logout")
    commit(shop)
    push(shop)
    assert shared(shared_index, name) == ["logout"]
