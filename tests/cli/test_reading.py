"""Commands that only read, on indexes that are missing, foreign, newer or damaged."""

import json
import shlex
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from projects import Project, file_tree

FOREST = "vectors-forest.db"
READING = [
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


@pytest.mark.parametrize("spoil", [newer, foreign, damaged, Path.unlink])
def test_reading_commands_change_nothing_and_sync_repairs(
    shop: Project, spoil: Callable[[Path], None]
) -> None:
    spoil(shop.root / FOREST)
    before = file_tree(shop.root)
    for line in READING:
        done = shop.call(*shlex.split(line), check=False)
        data = json.loads(done.stdout)
        assert file_tree(shop.root) == before, line
        assert "Traceback" not in done.stderr, line
        if " search" in line or line.endswith(" list"):
            error = data["error"] if "status" in data else data
            program = "devrag --config " if "devrag" in line else "code-intel sync "
            assert done.returncode == 1, line
            assert f"`{program}" in (error["hint"] if error else done.stderr), line
        elif line.endswith("status"):
            assert data["data"]["state"] == "missing"
    if spoil is newer:  # a newer version may be using it
        refused = shop.call("code-intel", "sync", "--words-only", check=False)
        assert refused.returncode == 1
        assert "Upgrade code-intel" in refused.stderr
        assert (shop.root / FOREST).read_bytes() == before[FOREST]
        return
    shop.call("code-intel", "sync", "--words-only")
    assert shop.call("code-intel", "search", "shipping", "--json").returncode == 0


def test_reading_commands_leave_an_empty_folder_empty(bare: Project) -> None:
    for line in READING:
        words = shlex.split(line.replace("--config devrag-forest.json ", ""))
        code = bare.call(*words, check=False).returncode
        assert code == int("search" in line or line.endswith(("list", "list --json"))), line
        assert list(bare.root.iterdir()) == [], line


def test_the_doctor_names_a_command_that_works_from_anywhere(bare: Project) -> None:
    done = bare.call("code-intel", "doctor", "--json")
    (finding,) = (f for f in json.loads(done.stdout)["findings"] if f["area"] == "project")
    program, word, folder = shlex.split(finding["remedy"].split("`")[1])
    assert (program, word, folder) == ("code-intel", "init", str(bare.root))
    bare.call(program, word, folder)
    after = json.loads(bare.call("code-intel", "doctor", "--json").stdout)
    assert any("map is empty" in f["what"] and f["level"] == "info" for f in after["findings"])
