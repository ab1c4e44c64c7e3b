"""A project with files of another user: what works works, and `doctor` names what does not."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

NOBODY = 65534
USER = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", sys.executable, "-m")


@dataclass(frozen=True)
class Shared:
    """A project that a user works on who may not do everything."""

    root: Path
    env: dict[str, str]

    def run(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*USER, "code_intel", *words], cwd=self.root, env=self.env, encoding="utf-8",
            stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=240,
        )  # fmt: skip

    def warnings(self, area: str) -> list[dict[str, Any]]:
        done = self.run("doctor", "--json")
        rows: list[dict[str, Any]] = json.loads(done.stdout)["findings"]
        return [row for row in rows if row["area"] == area and row["level"] != "info"]


def give(folder: Path, user: int) -> None:
    for path in (folder, *folder.rglob("*")):
        os.chown(path, user, user, follow_symlinks=False)


@pytest.fixture
def project(indexed_shop: Path) -> Iterator[Shared]:
    """The shop, which belongs to an unprivileged user; what a test changes is root's."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("Only root can work as another user.")
    with TemporaryDirectory() as folder:
        place = Path(folder)
        root = Path(shutil.copytree(indexed_shop, place / "shop", symlinks=True))
        for name in ("home", "cache", "state"):
            (place / name).mkdir()
        give(place, NOBODY)
        (place / "gitconfig").write_text("", encoding="utf-8")
        env = {
            **os.environ, "HOME": str(place / "home"), "CODE_INTEL_EMBEDDING": "off",
            "CODE_INTEL_CACHE_DIR": str(place / "cache"), "GIT_CONFIG_GLOBAL": "/dev/null",
            "CODE_INTEL_STATE_DIR": str(place / "state"),
        }  # fmt: skip
        project = Shared(root, env)
        if project.run("--version").returncode:
            pytest.skip("Another user cannot run this interpreter.")
        yield project


def test_a_repository_of_another_user_is_searched_and_doctor_names_the_remedy(
    project: Shared,
) -> None:
    give(project.root / ".git", 0)
    assert project.run("sync").returncode == 0
    assert "shipping.py" in project.run("search", "shipping_fee").stdout
    added = project.run("map", "add", "fee", "shipping_fee", "--evidence", "it")
    assert added.returncode == 0, added.stderr
    (finding,) = project.warnings("agreements")
    assert "Git does not read the repository" in finding["what"]
    assert f"safe.directory {project.root}" in finding["remedy"]
    project.env.update(
        GIT_CONFIG_COUNT="1", GIT_CONFIG_KEY_0="safe.directory", GIT_CONFIG_VALUE_0="*"
    )
    give(project.root / ".git", NOBODY)
    assert project.warnings("agreements") == []


def test_a_state_folder_of_another_user_is_read_and_named(project: Shared) -> None:
    added = project.run("map", "add", "fee", "shipping_fee", "--evidence", "it")
    assert added.returncode == 0, added.stderr
    give(project.root / ".code-intel", 0)
    refused = project.run("map", "add", "tax", "shipping_fee", "--evidence", "it")
    assert refused.returncode == 1
    assert "Check owner and mode" in refused.stderr
    assert "fee" in project.run("map", "list").stdout
    assert "shipping.py" in project.run("search", "shipping_fee").stdout
    (finding,) = project.warnings("project")
    assert "cannot write .code-intel, " in finding["what"]
    assert "(owner: root)" in finding["what"]
    give(project.root / ".code-intel", NOBODY)
    again = project.run("map", "add", "tax", "shipping_fee", "--evidence", "it")
    assert again.returncode == 0, again.stderr
    assert project.warnings("project") == []


def test_unreadable_files_and_folders_are_named_and_lose_nothing(project: Shared) -> None:
    file, folder = project.root / "src" / "cart" / "shipping.py", project.root / "src" / "auth"
    before = project.run("search", "AuthService").stdout
    assert "service.py" in before
    for path, mode in ((file, 0o600), (folder, 0o700)):
        os.chown(path, 0, 0)
        path.chmod(mode)
    synced = project.run("sync")
    assert synced.returncode == 0, synced.stderr
    assert "Permission denied" in synced.stdout
    found = [row["what"] for row in project.warnings("project")]
    assert any("source file" in what and "shipping.py" in what for what in found), found
    for path, mode in ((file, 0o644), (folder, 0o755)):
        path.chmod(mode)
    assert project.run("sync").returncode == 0
    assert project.warnings("project") == []
    assert project.run("search", "AuthService").stdout == before
