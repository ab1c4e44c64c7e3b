"""Interrupt saving at every disk operation and check that the old or the new content remains.

Run as a program, because it forks, this file does each row of `WORKS` with the n-th operation
failing or killing the process, and prints the results.
"""

import errno
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from code_intel.errors import StorageError
from code_intel.planning import keeping, knowledge, place
from code_intel.planning.records import QueryPlan
from faulty_disk import DIED, REFUSED, TAKEN, Faulty, leftovers, on, trials
from kept_plans import plan, result
from privileges import without_root
from programs import TESTS, output_of

WAYS = {"dies torn": 1, "fails": 1}
IDS = [f"00000000-0000-4000-8000-00000000000{n}" for n in range(5)]
FIRST, SECOND, THIRD = (plan(f"goal {n}", id=IDS[n]) for n in range(3))


def page_of(root: Path, found: QueryPlan) -> object:
    return knowledge.write(root, found)


WORKS: Mapping[str, Callable[[Path], object]] = {
    "save": lambda root: keeping.save(root, THIRD),
    "save again": lambda root: keeping.save(root, replace(FIRST, milliseconds=5.0)),
    "save and evict": lambda root: keeping.save(limited(root), THIRD),
    "page": lambda root: page_of(root, THIRD),
    "page again": lambda root: page_of(root, replace(FIRST, final=(result(text="another"),))),
    "forget": lambda root: keeping.PLANS.remove(
        root, [f"{each.id}.json" for each in (FIRST, SECOND)]
    ),
    "begin": lambda root: keeping.save(emptied(root), THIRD),
}


def limited(root: Path) -> Path:
    (root / "config.json").write_text('{"limits": {"plans": 2}}', encoding="utf-8")
    return root


def emptied(root: Path) -> Path:
    shutil.rmtree(root, ignore_errors=True)
    return root


def make(root: Path) -> Path:
    for each in (FIRST, SECOND):
        keeping.save(root, each)
        page_of(root, each)
    return root


def known(root: Path) -> dict[str, Any]:
    """Read everything that is stored and assert that nothing is damaged."""
    assert keeping.PLANS.listing(root).damaged == {}
    return {
        "plans": {e.id: keeping.load(root, e.id).milliseconds for e in keeping.entries(root)},
        "pages": {
            name: knowledge.PAGES.path(root, name).read_bytes()
            for name in knowledge.PAGES.listing(root).rows
        },
    }


def sweep(name: str, folder: Path) -> None:
    work, given, whole = WORKS[name], make(folder / "given"), folder / "whole"
    shutil.copytree(given, whole)
    work(whole)
    old, new = known(given), known(whole)
    for way, point, came, root in trials(given, folder / "tried", work, WAYS):
        row = {"work": name, "way": way, "point": point, "came": came, "left": leftovers(root)}
        found = known(root)
        row["whole"] = all(
            found[part][k] in (old[part].get(k), new[part].get(k))
            for part in ("plans", "pages")
            for k in found[part]
        )
        work(root)
        row["after"] = known(root) == new
        sys.stdout.write(json.dumps(row) + "\n")


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in output_of(Path(__file__)).splitlines()]


@pytest.mark.parametrize("name", WORKS)
@pytest.mark.covers("rule.plans.interrupted")
def test_interrupted_save_leaves_the_old_or_the_new_file(
    rows: list[dict[str, Any]], name: str
) -> None:
    mine = [row for row in rows if row["work"] == name]
    assert max(row["point"] for row in mine) >= 4
    assert {row["way"] for row in mine} == set(WAYS)
    for row in mine:
        assert row["came"] in {TAKEN, REFUSED, DIED}, row
        assert row["whole"], row
        assert row["after"], row
        assert not row["left"] or row["way"] != "fails", row


def test_temporary_files_of_dead_processes_are_removed(tmp_path: Path) -> None:
    keeping.save(tmp_path, FIRST)
    folder = tmp_path / place.PLANS
    for name, age in ((".x.json.12-0123abcd.tmp", 0.0), (".y.json.12-0123abcd.tmp", 3600)):
        (folder / name).write_bytes(b"half")
        os.utime(folder / name, (time.time() - age,) * 2)
    keeping.save(tmp_path, SECOND)
    assert [path.name for path in folder.glob("*.tmp")] == [".x.json.12-0123abcd.tmp"]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT])
def test_full_disk_is_an_error_with_a_hint(tmp_path: Path, code: int) -> None:
    with on(Faulty(1, "fails for good", code).disk), pytest.raises(StorageError) as refused:
        keeping.save(tmp_path / ".gistdex", FIRST)
    assert refused.value.hint


def test_known_plan_is_returned_although_its_use_cannot_be_stored(tmp_path: Path) -> None:
    keeping.save(tmp_path, FIRST)
    folder = tmp_path / place.PLANS
    folder.chmod(0o555)
    with on(Faulty(1, "fails for good").disk), without_root():
        assert keeping.same(tmp_path, FIRST) == FIRST
    folder.chmod(0o755)


def test_plans_of_concurrent_processes_are_all_saved(tmp_path: Path) -> None:
    program = [sys.executable, __file__, str(tmp_path), "save"]
    env = {**os.environ, "PYTHONPATH": f"{TESTS.parent}{os.pathsep}{TESTS}"}
    children = [subprocess.Popen(program, env=env, stdout=subprocess.DEVNULL) for _ in range(3)]
    assert [child.wait(60) for child in children] == [0, 0, 0]
    assert len(keeping.entries(tmp_path)) == 15
    assert len(list((tmp_path / place.PLANS).glob("*-*.json"))) == 15


if __name__ == "__main__":
    if sys.argv[2:] == ["save"]:
        for number in range(5):
            keeping.save(Path(sys.argv[1]), plan(f"goal {number}"))
    else:
        for work_name in WORKS:
            sweep(work_name, Path(sys.argv[1]) / work_name)
