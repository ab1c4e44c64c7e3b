"""`init` and `init --remove` make all of their changes or none, whatever goes wrong."""

import errno
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from code_intel.cli.main import main
from code_intel.cli.setup import clients, transaction
from code_intel.cli.setup.init import apply, setup
from code_intel.cli.setup.removal import removal
from code_intel.cli.setup.transaction import SETUP
from code_intel.errors import BusyError, StorageError
from code_intel.foundation import durable
from faulty_disk import KEPT, PROJECT_WAYS, REAL, on, tree, without
from privileges import without_root
from programs import TESTS, output_of
from sampling import sampled
from small_disk import ADVICE, PAGE, fill, mounted

Init = Callable[..., dict[str, Any]]
ALL = clients.chosen(["all"])


@pytest.mark.parametrize("way", PROJECT_WAYS)
@pytest.mark.parametrize("case", ["of_owned", "of_nothing", "of_removal"])
@pytest.mark.parametrize("every", sampled([5, 1], 5))
def test_a_set_up_stopped_at_any_change_is_undone_or_completed(
    case: str, way: str, every: int
) -> None:
    found = json.loads(output_of(Path(__file__).with_name("init_faults.py"), case, way, str(every)))
    assert found.pop("wrong") == []
    expected = {"died"} if way.startswith("dies") else {"refused", "taken"}
    assert found.keys() <= expected  # taken: a failure while tidying up
    assert sum(found.values()) >= (12 if way == "fails for good" else 60) // every


def test_on_a_disk_that_fills_up_nothing_is_changed(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "200k") as disk:
        root = disk / "in" / "p"
        root.mkdir(parents=True)
        (root / ".mcp.json").write_bytes(b'{"mine": 1}')
        before, hints = tree(root), []
        for pages in range(40):
            fill(disk / "ballast", pages * PAGE)
            try:
                apply(setup(root))
            except StorageError as error:
                hints.append(error.hint)
                assert tree(root) == before
            else:
                break
        assert 5 < len(hints) < 40
        assert all(map(ADVICE.search, hints))
        assert setup(root).is_done


@pytest.mark.parametrize("place", [".", ".code-intel", ".codex", ".vscode"])
def test_a_read_only_folder_is_reported_and_nothing_is_changed(project: Path, place: str) -> None:
    for name in (".code-intel", ".codex", ".vscode"):
        (project / name).mkdir()
    (project / ".vscode" / "mcp.json").write_bytes(b"{}")
    before = tree(project)
    with without_root():
        (project / place).chmod(0o500)
        try:
            with pytest.raises(StorageError) as caught:
                apply(setup(project, ALL))
        finally:
            (project / place).chmod(0o700)
    assert "Permission denied" in (caught.value.hint or "")
    assert tree(project) == before


def disk_with_concurrent_write(path: Path, text: bytes, when: Path) -> durable.Disk:
    """Return a disk on which another program writes `path` once `when` exists."""

    def rename(*args: Any) -> None:
        REAL.rename(*args)
        if args[1] == when:
            path.write_bytes(text)

    return REAL._replace(rename=rename)


@pytest.mark.parametrize("client", [".mcp.json", ".gemini/settings.json"])
def test_a_concurrent_write_is_kept_and_all_other_changes_are_undone(
    project: Path, client: str
) -> None:
    (project / ".gemini").mkdir()
    for name in (".gitignore", client):
        (project / name).write_bytes(b"\n")
    before = tree(project)
    theirs = b'{"theirs": 1}'
    disk = disk_with_concurrent_write(project / client, theirs, project / ".gitignore")
    with on(disk), pytest.raises(BusyError, match="Another program changed"):
        apply(setup(project, ALL))
    now = tree(project)
    assert now.pop(client) == theirs
    copies = now.keys() - without(now, KEPT).keys()
    assert {now[name] for name in copies} == {b"\n", b"*\n"}  # the only remaining copies
    now.pop(".code-intel/.gitignore")  # it ignores the backup
    assert without(now, KEPT) == without(before, re.compile(re.escape(client)))
    apply(setup(project, ALL))
    assert b"theirs" in (project / client).read_bytes()
    assert setup(project, ALL).is_done


def test_the_next_run_first_restores_what_an_interrupted_run_changed(
    project: Path, init: Init
) -> None:
    (project / ".vscode").mkdir()
    (project / ".vscode" / "mcp.json").write_bytes(b"// mine\n")
    killed_at(project, "--client", "all", file=".gemini")
    assert (project / ".codex" / "config.toml").exists()
    assert init("--dry-run")["notes"][0].startswith("A run of init was interrupted. The next run")
    assert (project / ".codex" / "config.toml").exists()
    assert init()["notes"][0].startswith("A run of init was interrupted. This run first restored")
    assert (project / ".vscode" / "mcp.json").read_bytes() == b"// mine\n"
    assert not (project / ".codex").exists()
    assert not any("interrupted" in note for note in init()["notes"])
    init("--remove")
    assert tree(project) == {".vscode/mcp.json": b"// mine\n"}


KILLED = """
import os, signal, sys
from code_intel.foundation import durable
from code_intel.cli.main import main
real, left = durable.Disk(), [int(sys.argv[1]) if sys.argv[1].isdecimal() else -1]

def counted(change):
    def counting(*args, **named):
        left[0] -= 1
        if left[0] == 0 or not sys.argv[1].isdecimal() and sys.argv[1] in str(args[0]):
            os.kill(os.getpid(), signal.SIGKILL)
        return change(*args, **named)
    return counting

durable.DISK = durable.Disk(*map(counted, real))
main(["init", *sys.argv[2:]])
"""


def killed_at(root: Path, *words: str, file: str) -> int:
    """Run `init` in a process that is killed before its n-th change, or before a change of one
    file. Return the exit code.
    """
    return subprocess.run(
        [sys.executable, "-c", KILLED, file, *words, "--", str(root)],
        env=os.environ | {"PYTHONPATH": str(TESTS.parent)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    ).returncode


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="There is no SIGKILL here.")
def test_after_a_kill_the_next_run_sets_up_or_removes_everything(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A real process is killed here; `init_faults` tries every operation in forks."""
    (project / ".mcp.json").write_bytes(b'{"o": 1}')
    before = tree(project)
    for point in (24, 35):
        assert killed_at(project, file=str(point)) == -signal.SIGKILL
        if point % 2 == 0:
            assert main(["init", "--", str(project)]) == 0
            assert setup(project).is_done, point
            assert transaction.find_runs(project, SETUP) == [], point
        assert main(["init", "--remove", "--", str(project)]) == 0
        assert tree(project) == before, point
        capsys.readouterr()


def test_of_two_simultaneous_runs_both_succeed_or_one_is_busy(
    tmp_path: Path,
) -> None:
    for number in range(2):
        root = tmp_path / str(number) / "p"
        root.mkdir(parents=True)
        (root / ".gitignore").write_bytes(b"*.pyc\n")
        words = [sys.executable, "-m", "code_intel", "init", "--json", str(root)]
        both = [
            subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) for _ in "ab"
        ]
        answers = [json.loads(one.communicate()[0]) for one in both]
        assert all(answer.get("error", "busy") == "busy" for answer in answers)
        assert any("changes" in answer for answer in answers)
        assert setup(root).is_done
        apply(removal(root))
        assert tree(root) == {".gitignore": b"*.pyc\n"}


def test_a_restored_file_has_its_old_mode(project: Path) -> None:
    apply(setup(project))
    (project / ".mcp.json").chmod(0o600)
    before = tree(project)

    def full(fresh: Path, path: Path, *args: Any) -> None:
        if path.name == "init.json" and not (project / ".mcp.json").exists():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        REAL.rename(fresh, path, *args)

    with on(REAL._replace(rename=full)), pytest.raises(StorageError):
        apply(removal(project))
    assert tree(project) == before
    assert (project / ".mcp.json").stat().st_mode & 0o777 == 0o600


def test_a_backup_list_from_a_repository_restores_nothing_outside_the_project(
    project: Path, init: Init
) -> None:
    folder = project / ".code-intel" / "backup" / "20250101T000000Z"
    folder.mkdir(parents=True)
    (project / "linked").symlink_to(project.parent)
    for name in (
        "../startup",
        ".git/config",
        "linked/startup",
        str(project.parent / "startup"),
    ):
        record = {"file": name, "before": hashlib.sha256(b"evil").hexdigest(), "after": ""}
        document = {"version": 1, "finished": False, "folders": [], "files": [record]}
        (folder / "init.json").write_text(json.dumps(document), encoding="utf-8")
        assert "is outside the project" in init(code=1)["message"]
    assert not (project.parent / "startup").exists()
    assert not (project / "devrag-map.json").exists()
