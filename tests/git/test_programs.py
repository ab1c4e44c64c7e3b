"""Programs that a repository configures for git are not run."""

from collections.abc import Callable
from pathlib import Path

import pytest

from code_intel.foundation import git as asked
from code_intel.index.walk import git_files
from git.machine import LOGIN, Machine, made

FILE = "src/app.py"
QUESTIONS: tuple[Callable[[Path, str], object], ...] = (
    lambda root, _: asked.dirty_files(root),
    lambda root, _: asked.dirty_files(root, [FILE]),
    lambda root, _: asked.trunk(root),
    lambda root, _: asked.is_at_work(root),
    lambda root, _: asked.committed_since(root, "2020-01-01T00:00:00Z", [FILE]),
    lambda root, head: asked.changed_from(root, head, [FILE]),
    lambda root, _: asked.run(root, "diff", "--quiet", "HEAD", "--", FILE),
    lambda root, _: git_files(root),
)


@pytest.fixture
def hostile(tmp_path: Path) -> Machine:
    """A repository that names a program wherever git runs one, each with a file that it writes."""
    machine = made(tmp_path / "unpacked", LOGIN)
    root = machine.root
    (root / ".git" / "hooks").mkdir(exist_ok=True)
    (root / ".gitattributes").write_text("*.py filter=own diff=own\n", encoding="utf-8")
    machine.git("add", ".gitattributes")
    for key in (
        "core.fsmonitor",
        "core.pager",
        "diff.external",
        "diff.own.command",
        "diff.own.textconv",
        "filter.own.clean",
        "filter.own.process",
        "gpg.program",
    ):
        machine.git("config", key, f"touch '{tmp_path}/ran {key}'; cat #")
    machine.git("config", "filter.own.required", "true")
    machine.git("config", "log.showSignature", "true")
    hook = root / ".git" / "hooks" / "post-index-change"
    hook.write_text(f"#!/bin/sh\ntouch '{tmp_path}/ran hook'\n", encoding="utf-8")
    hook.chmod(0o755)
    return machine


@pytest.mark.parametrize("question", QUESTIONS)
def test_git_runs_no_program_of_the_repository(
    hostile: Machine, tmp_path: Path, question: Callable[[Path, str], object]
) -> None:
    head = asked.head(hostile.root)
    assert head
    file = hostile.root / FILE
    said = file.read_text(encoding="utf-8")
    file.write_text(said.replace("d", "b", 1), encoding="utf-8")  # as long: git has to compare
    question(hostile.root, head)
    assert not list(tmp_path.glob("ran *"))
    assert FILE in (asked.dirty_files(hostile.root) or ())
    assert asked.changed_from(hostile.root, head, [FILE]) == {FILE: said.encode()}


def test_filter_with_an_unusual_name_is_not_run(hostile: Machine, tmp_path: Path) -> None:
    hostile.git("config", "filter.a=b.clean", f"touch '{tmp_path}/ran'; cat")
    assert asked.dirty_files(hostile.root) is None
    assert not list(tmp_path.glob("ran*"))


def test_program_of_a_submodule_is_not_run(tmp_path: Path, hostile: Machine) -> None:
    outer = made(tmp_path / "outer", LOGIN)
    outer.git("submodule", "-q", "add", str(hostile.root), "inner")
    outer.commit()
    inner = Machine(outer.root / "inner")
    for key in ("core.fsmonitor", "filter.own.clean"):
        inner.git("config", key, f"touch '{tmp_path}/ran {key}'; cat #")
    (inner.root / ".gitattributes").write_text("* filter=own\n", encoding="utf-8")
    file = inner.root / FILE
    file.write_text(file.read_text("utf-8").replace("d", "b", 1), encoding="utf-8")
    for stale in tmp_path.glob("ran *"):
        stale.unlink()
    head = asked.head(outer.root) or ""
    for question in QUESTIONS:
        question(outer.root, head)
    assert not list(tmp_path.glob("ran *"))


def test_filter_of_the_user_is_run(
    hostile: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As git-lfs is: without it each of its files would look changed."""
    hostile.git("config", "--remove-section", "filter.own")
    config = tmp_path / "gitconfig"
    config.write_text('[filter "own"]\n\tclean = "tr B d"\n', encoding="utf-8")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    file = hostile.root / FILE
    hostile.git("config", "core.fsmonitor", "false")
    said = file.read_text(encoding="utf-8")
    assert "B" not in said
    file.write_text(said.replace("d", "B"), encoding="utf-8")
    assert FILE not in (asked.dirty_files(hostile.root) or ())
