"""Learning is interrupted at every operation on the disk: what is found then is the old or the new.

A row of `WORKS` is an operation that learns, and the project it works on. Run as a program (it
forks), this file does each of them with the n-th write, fsync, rename … failing or killing the
process, and writes the results.
"""

import errno
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from code_intel.config import Settings, load_settings
from code_intel.errors import CodeIntelError, StorageError
from code_intel.learned.files import agreements, pairs, trash
from code_intel.learned.files.agreements import AgreementEntry
from code_intel.learned.files.changes import sync
from code_intel.learned.files.rebuild import rebuild
from code_intel.learned.files.rename import rename
from code_intel.learned.history.state import open_state
from code_intel.learned.learn import confirm, learn, reconfirm
from code_intel.learned.status.validity import trust_of
from code_intel.records import Agreement, FileReference
from faulty_disk import DIED, REFUSED, TAKEN, changes, outcome
from programs import output_of

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
WAYS = ("dies torn", "fails", "fails for good")

FEE = Agreement("送料計算", "shipping_fee", ("fee of a zone",), (FileReference("a.py", 1),))
TAX = Agreement("消費税", "tax_rate", ("rate of a year",))
NEW = Agreement("ログイン機能", "AuthService", ("login checks it",), intent="MODIFY")


class Work(NamedTuple):
    """The work on a project that `given` prepared.

    Repeated work may report that it is already done.
    """

    do: Callable[[Settings], object]
    given: Callable[[Settings], object] = lambda _: None


def entry_of(settings: Settings, one: Agreement) -> AgreementEntry:
    return agreements.existing(agreements.look(settings.agreements), agreements.key_of(one))[0]


def edit(settings: Settings) -> None:
    path = entry_of(settings, FEE).path
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(FEE.evidence[0], "said in the file"), encoding="utf-8")


def edit_pairs(settings: Settings) -> None:
    path = pairs.path_of(settings)
    document = json.loads(path.read_text(encoding="utf-8"))
    document["pairs"][0]["code_evidence"] = "said in JSON"
    path.write_text(json.dumps(document), encoding="utf-8")


def cut(settings: Settings) -> None:
    path = pairs.path_of(settings)
    path.write_bytes(path.read_bytes()[:-80])


def twins(settings: Settings) -> None:
    first = entry_of(settings, TAX).path
    shutil.copy(first, first.with_name("twin.md"))


def ask(settings: Settings) -> object:
    key = agreements.key_of(FEE)
    return reconfirm(
        settings,
        key,
        alias="配送料",
        session_id="s2",
        digest="",
        evidence=("asked",),
        files=(),
        now=NOW,
    )


WORKS: Mapping[str, Work] = {
    "learn": Work(lambda s: learn(s, NEW, confirmed=True, now=NOW)),
    "learn again": Work(
        lambda s: learn(s, replace(FEE, evidence=("more",)), confirmed=True, now=NOW)
    ),
    "learn over what nobody confirmed": Work(
        lambda s: learn(s, replace(TAX, evidence=("other",)), confirmed=True, now=NOW), twins
    ),
    "add by hand": Work(lambda s: learn(s, NEW, confirmed=False, now=NOW)),
    "alias": Work(ask),
    "confirm": Work(lambda s: confirm(s, agreements.key_of(TAX), now=NOW)),
    "rename": Work(lambda s: rename(s, agreements.key_of(FEE), term="配送料金", now=NOW)),
    "generate": Work(lambda s: sync(s, NOW), edit),
    "generate what was damaged": Work(lambda s: sync(s, NOW), cut),
    "take edits in": Work(lambda s: rebuild(s, "pairs", now=NOW), edit_pairs),
    "replace edits": Work(lambda s: rebuild(s, "agreements", now=NOW), edit_pairs),
}


def make(folder: Path) -> Settings:
    """Return a project that knows one agreement that is confirmed and one that is not."""
    settings = load_settings(folder)
    learn(settings, FEE, confirmed=True, now=NOW)
    learn(settings, TAX, confirmed=False, now=NOW)
    return settings


def known(settings: Settings) -> dict[str, Any]:
    """Return what the agreements and their pairs say, and what is confirmed."""
    file = pairs.load(pairs.path_of(settings))
    entries = [e for e in agreements.load_all(settings.agreements) if e.agreement]
    with open_state(settings.state) as state:
        trust = trust_of(settings, frozenset(state.confirmed()))
    return {
        "agreements": {e.key: e.agreement for e in entries},
        "pairs": {pair.key: pair.code_evidence for pair in file.pairs},
        "confirmed": {e.key: trust.confirms(e) for e in entries},
        "damage": file.damage,
    }


def left(settings: Settings) -> list[str]:
    """Return what processes have left that did not end their work."""
    return [path.name for path in settings.root.rglob("*.tmp")]


def trashed(settings: Settings) -> set[bytes]:
    """Return what is in the trash."""
    return {kept.path.read_bytes() for kept in trash.contents(settings)}


def again(work: Work, settings: Settings) -> str:
    """Do the work once more; one that is done may say so."""
    try:
        work.do(settings)
    except StorageError as error:
        return f"refused: {error.message}"
    except CodeIntelError:
        return "done"
    return "done"


def sweep(name: str, folder: Path) -> None:
    """Interrupt a work at each of its operations; write a JSON object for each."""
    work = WORKS[name]
    given = make(folder / "given")
    work.given(given)
    whole = settle(folder / "whole", given)
    points = changes(lambda: work.do(whole))
    new, gone = known(whole), trashed(whole)
    whole_old = settle(folder / "old", given)
    sync(whole_old, NOW)
    old = known(whole_old)
    for way in WAYS:
        for point in range(1, points + 1, 3 if way == "fails for good" else 1):
            settings = settle(folder / f"{way} {point}", given)
            code = errno.EIO if point % 2 else errno.ENOSPC
            came = outcome(lambda: work.do(settings), point, way, code)  # noqa: B023 - done at once
            rest = left(settings)
            sync(settings, NOW)
            found = known(settings)
            said = again(work, settings)
            after = known(settings)
            row = {
                "work": name,
                "way": way,
                "point": point,
                "came": came,
                "left": rest,
                "again": said,
            }
            row["found"] = (
                "new" if found == new else "old" if found == old else differences(found, old, new)
            )
            row["after"] = "new" if after == new else differences(after, old, new)
            row["trash"] = "whole" if trashed(settings) == gone else "other"
            row["settled"] = not sync(settings, NOW).steps
            shutil.rmtree(settings.root)
            sys.stdout.write(json.dumps(row) + "\n")


def settle(folder: Path, given: Settings) -> Settings:
    """Return a copy of a project."""
    shutil.copytree(given.root, folder)
    return load_settings(folder)


def differences(found: dict[str, Any], old: dict[str, Any], new: dict[str, Any]) -> str:
    """Return what is neither old nor new, for whoever reads the failure."""
    return "; ".join(
        f"{what}: {said} (old {old[what]}, new {new[what]})"
        for what, said in found.items()
        if said != old[what] or said != new[what]
    )


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    """Interrupt every work at each of its operations."""
    return [json.loads(line) for line in output_of(Path(__file__)).splitlines()]


@pytest.mark.parametrize("name", WORKS)
def test_whatever_interrupts_learning_what_is_found_is_old_or_new(
    rows: list[dict[str, Any]], name: str
) -> None:
    mine = [row for row in rows if row["work"] == name]
    assert max(row["point"] for row in mine) >= 4
    assert {row["way"] for row in mine} == set(WAYS)
    assert {row["came"] for row in mine} <= {TAKEN, REFUSED, DIED}
    for row in mine:
        assert row["found"] in {"old", "new"}, row
        assert row["found"] == "new" or row["came"] != TAKEN, row
        assert (row["again"], row["after"]) == ("done", "new"), row
        assert row["trash"] == "whole", row
        assert row["settled"], row
        assert not row["left"] or row["way"] != "fails", row


def test_what_a_process_that_died_has_left_is_taken_away_by_the_next_that_learns(
    tmp_path: Path,
) -> None:
    settings = make(tmp_path)
    for folder in (settings.state, settings.agreements):
        for name, age in ((".x.md.12-0123abcd.tmp", 0.0), (".y.md.12-0123abcd.tmp", 3600)):
            (folder / name).write_bytes(b"half")
            seconds = time.time() - age
            os.utime(folder / name, (seconds, seconds))
    learn(settings, NEW, confirmed=True, now=NOW)
    assert sorted(left(settings)) == [".x.md.12-0123abcd.tmp"] * 2


if __name__ == "__main__":
    for work_name in WORKS:
        sweep(work_name, Path(sys.argv[1]) / work_name)
