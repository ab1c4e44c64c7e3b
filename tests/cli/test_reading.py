"""Commands that only look, on indexes that are missing, not ours or damaged."""

import json
import shlex
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from projects import Project

FOREST = "vectors-forest.db"
LOOKING = [
    "code-intel status --json",
    "code-intel doctor --json",
    "code-intel search shipping --json",
    "code-intel map list --json",
    "devrag --config devrag-forest.json status",
    "devrag --config devrag-forest.json doctor",
    "devrag --config devrag-forest.json list",
    "devrag --config devrag-forest.json search shipping",
]


def newer(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA user_version = 99")


def foreign(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE recipes(id)")


def damaged(path: Path) -> None:
    data = bytearray(path.read_bytes())
    for page in range(2, len(data) // 4096):
        data[page * 4096 : page * 4096 + 200] = b"\xa5" * 200
    path.write_bytes(data)


def contents(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize("spoil", [newer, foreign, damaged, Path.unlink])
def test_looking_moves_makes_and_repairs_nothing_and_sync_does(
    shop: Project, spoil: Callable[[Path], None]
) -> None:
    spoil(shop.root / FOREST)
    before = contents(shop.root)
    for line in LOOKING:
        done = shop.call(*shlex.split(line), check=False)
        data = json.loads(done.stdout)
        assert contents(shop.root) == before, line
        assert "Traceback" not in done.stderr, line
        if " search" in line or line.endswith(" list"):
            error = data["error"] if "status" in data else data
            program = "devrag --config " if "devrag" in line else "code-intel sync "
            assert done.returncode == 1, line
            assert f"`{program}" in (error["hint"] if error else done.stderr), line
        elif line.endswith("status"):
            assert data["data"]["state"] == "missing"
    if spoil is newer:  # its program is in use: nothing of this version touches it
        refused = shop.call("code-intel", "sync", "--words-only", check=False)
        assert refused.returncode == 1
        assert "Upgrade code-intel" in refused.stderr
        assert (shop.root / FOREST).read_bytes() == before[str(shop.root / FOREST)]
        return
    shop.call("code-intel", "sync", "--words-only")
    assert shop.call("code-intel", "search", "shipping", "--json").returncode == 0


@pytest.mark.parametrize("line", LOOKING)
def test_looking_at_a_folder_never_set_up_leaves_it_empty(bare: Project, line: str) -> None:
    done = bare.call(*shlex.split(line.replace("--config devrag-forest.json ", "")), check=False)
    assert done.returncode == int("search" in line or line.endswith(("list", "list --json")))
    assert list(bare.root.iterdir()) == []


def test_the_doctor_names_a_command_that_works_from_anywhere(bare: Project) -> None:
    done = bare.call("code-intel", "doctor", "--json")
    (finding,) = (f for f in json.loads(done.stdout)["findings"] if f["area"] == "project")
    program, word, folder = shlex.split(finding["remedy"].split("`")[1])
    assert (program, word, folder) == ("code-intel", "init", str(bare.root))
    bare.call(program, word, folder)
    after = json.loads(bare.call("code-intel", "doctor", "--json").stdout)
    assert any("map is empty" in f["what"] and f["level"] == "info" for f in after["findings"])
