"""Interrupt every operation on the map at each change that it makes to the disk.

Nothing is lost, each file has its old or its new content, and repeating the operation completes it.
The sweep forks, so this file runs itself as a separate program.
"""

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from code_intel.chunking.agreement import render
from code_intel.config import Settings, load_settings
from code_intel.errors import CodeIntelError, StorageError
from code_intel.index.facade import Index
from code_intel.learned.files import agreements, pairs, trash
from code_intel.learned.files.changes import sync
from code_intel.learned.files.confirm import candidates, confirm_all
from code_intel.learned.files.delete import delete
from code_intel.learned.files.exchange import arrive, dump
from code_intel.learned.files.prune import prune
from code_intel.learned.files.rebuild import rebuild
from code_intel.learned.files.rename import rename
from code_intel.learned.files.restore import restore
from code_intel.learned.history.state import open_state
from code_intel.learned.learn import confirm, learn, reconfirm
from code_intel.learned.status.agreement_status import standings
from code_intel.records import Agreement, FileReference
from faulty_disk import DIED, REFUSED, TAKEN, WAYS, Trial, leftovers, trials
from learned.builders import NOW, agreements_of, file_contents, pairs_of, rewrite
from programs import output_of

SAMPLE = {"dies torn": 2, "fails": 3, "fails for good": 6}
"""How changes go wrong by default, and the step between two tried ones."""
ALL = dict.fromkeys(WAYS, 1)
FEE = Agreement("送料計算", "shipping_fee", ("fee of a zone",), (FileReference("a.py", 1),))
TAX = Agreement("消費税", "tax_rate", ("rate of a year",), aliases=("税率",))
CART = Agreement("買い物かご", "shipping_fee", ("holds items",))
NEW = Agreement("ログイン機能", "AuthService", ("login checks it",), intent="MODIFY")


class Operation(NamedTuple):
    """An operation on a project, and how the project is prepared for it.

    Attributes:
        run: What is interrupted.
        prepare: Makes the project ready.
        in_one: Whether one change of the disk commits all of it.
    """

    run: Callable[[Settings], object]
    prepare: Callable[[Settings], object] = lambda _: None
    in_one: bool = True


def edit_agreement(settings: Settings) -> None:
    path = agreements.look(settings.agreements).by_key[agreements.key_of(FEE)].path
    rewrite(path, lambda text: text.replace(FEE.evidence[0], "said in the file"))


def edit_pairs(settings: Settings) -> None:
    path = pairs.path_of(settings)
    rewrite(path, lambda text: text.replace(FEE.evidence[0], "said in JSON"))


def cut_pairs(settings: Settings) -> None:
    path = pairs.path_of(settings)
    path.write_bytes(path.read_bytes()[:-80])


def add_twin(settings: Settings) -> None:
    text = render(replace(TAX, evidence=("another",)))
    (settings.agreements / "twin.md").write_text(text, encoding="utf-8")


def copy_agreement(settings: Settings) -> None:
    path = agreements.look(settings.agreements).by_key[agreements.key_of(TAX)].path
    shutil.copy(path, path.with_name("twin.md"))


def delete_agreements(settings: Settings) -> None:
    for path in settings.agreements.glob("*.md"):
        path.unlink()


def pruned(*reasons: str) -> Callable[[Settings], object]:
    def run(settings: Settings) -> None:
        with Index(settings.forest, readonly=True) as forest:
            prune(settings, forest, reasons, now=NOW)

    return run


def restore_all(settings: Settings) -> None:
    for entry in trash.contents(settings):
        restore(settings, entry.name, now=NOW)


def confirm_everything(settings: Settings) -> None:
    with Index(settings.forest, readonly=True) as forest:
        chosen = candidates(standings(settings, forest, now=NOW), forest)
        confirm_all(settings, chosen, now=NOW)


def add_alias(settings: Settings) -> None:
    key, evidence = agreements.key_of(FEE), ("asked",)
    given: dict[str, Any] = {"alias": "配送料", "session_id": "s2", "evidence": evidence}
    reconfirm(settings, key, digest="", files=(), now=NOW, **given)


def learned(agreement: Agreement, *, confirmed: bool) -> Callable[[Settings], object]:
    return lambda settings: learn(settings, agreement, confirmed=confirmed, now=NOW)


EXPORT = dump(replace(NEW, nl_term=term) for term in ("new", "newer")).encode()
OPERATIONS: Mapping[str, Operation] = {
    "learn": Operation(learned(NEW, confirmed=True)),
    "learn again": Operation(learned(replace(FEE, evidence=("more",)), confirmed=True)),
    "replace unconfirmed": Operation(
        learned(replace(TAX, evidence=("other",)), confirmed=True), copy_agreement
    ),
    "add": Operation(learned(NEW, confirmed=False)),
    "alias": Operation(add_alias),
    "confirm": Operation(lambda s: confirm(s, agreements.key_of(TAX), now=NOW)),
    "rename": Operation(lambda s: rename(s, agreements.key_of(FEE), term="配送料金", now=NOW)),
    "sync": Operation(lambda s: sync(s, NOW), edit_agreement),
    "sync damaged pairs": Operation(lambda s: sync(s, NOW), cut_pairs),
    "rebuild from edits": Operation(lambda s: rebuild(s, "pairs", now=NOW), edit_pairs),
    "rebuild over edits": Operation(lambda s: rebuild(s, "agreements", now=NOW), edit_pairs),
    "rebuild missing pairs": Operation(
        lambda s: rebuild(s, "agreements", now=NOW), lambda s: pairs.path_of(s).unlink()
    ),
    "rebuild missing agreements": Operation(
        lambda s: rebuild(s, "pairs", now=NOW), delete_agreements, in_one=False
    ),
    "import": Operation(lambda s: arrive(s, EXPORT, now=NOW), in_one=False),
    "delete": Operation(lambda s: delete(s, agreements.key_of(TAX), now=NOW), in_one=False),
    "delete twins": Operation(
        lambda s: delete(s, agreements.key_of(TAX), now=NOW), add_twin, in_one=False
    ),
    "prune": Operation(pruned("broken"), in_one=False),
    "prune twins": Operation(pruned("twin"), add_twin, in_one=False),
    "restore": Operation(restore_all, pruned("broken"), in_one=False),
    "confirm all": Operation(confirm_everything, in_one=False),
}


def make_project(folder: Path) -> Settings:
    """Return an indexed project with a confirmed agreement and two unconfirmed ones."""
    folder.mkdir(parents=True)
    (folder / "a.py").write_text("def shipping_fee(order):\n    return order.fee\n", "utf-8")
    settings = load_settings(folder, {})
    for agreement in (FEE, TAX, CART):
        learn(settings, agreement, confirmed=agreement is FEE, now=NOW)
    with Index(settings.forest) as forest:
        forest.complete(words_only=True)
    return settings


def known(settings: Settings) -> dict[str, object]:
    """Return what agreements and pairs say, and the agreements that are confirmed."""
    with open_state(settings.state, create=False) as state:
        confirmed = state.confirmed()
    entries = agreements.look(settings.agreements).by_key
    return {
        "agreements": {key: entry.agreement for key, entry in entries.items()},
        "pairs": {key: pair.code_evidence for key, pair in pairs_of(settings).items()},
        "confirmed": {key for key, entry in entries.items() if entry.digest in confirmed},
    }


def statements(settings: Settings) -> set[str]:
    """Return every evidence and alias in agreements and pairs."""
    found = agreements_of(settings).values()
    lines = {line for each in found for line in (*each.evidence, *each.aliases)}
    file = pairs.load(pairs.path_of(settings))
    return lines | {line for pair in file.pairs for line in pair.code_evidence.split("\n")}


def trash_contents(settings: Settings) -> set[bytes]:
    return {entry.path.read_bytes() for entry in trash.contents(settings)}


class Outcome(NamedTuple):
    """What is known of a project after an operation and a sync."""

    known: dict[str, object]
    trash: set[bytes]
    files: dict[str, bytes]


def outcome_of(settings: Settings, folder: Path, run: Callable[[Settings], object]) -> Outcome:
    """Run an operation on a copy of a project."""
    copy = load_settings(Path(shutil.copytree(settings.root, folder)), {})
    run(copy)
    sync(copy, NOW)
    return Outcome(known(copy), trash_contents(copy), file_contents(copy.root))


def faults(operation: Operation, start: Settings, ways: Mapping[str, int]) -> Iterator[str]:
    """Interrupt an operation at each change; yield what is wrong afterwards."""
    operation.prepare(start)
    before = outcome_of(start, start.root.with_name("before"), lambda _: None)
    complete = outcome_of(start, start.root.with_name("complete"), operation.run)
    if file_contents(start.root) == complete.files:
        yield "it changes nothing"

    def work(root: Path) -> object:
        return operation.run(load_settings(root, {}))

    said = set() if operation.in_one else statements(start)
    for trial in trials(start.root, start.root.with_name("trial"), work, ways):
        for fault in trial_faults(operation, trial, before, complete, said):
            yield f"{trial.way} at {trial.point}: {fault}"


def trial_faults(
    operation: Operation, trial: Trial, before: Outcome, complete: Outcome, said: set[str]
) -> Iterator[str]:
    """Yield what is wrong after an interruption, and after the operation was repeated."""
    settings = load_settings(trial.root, {})
    if trial.came not in {TAKEN, REFUSED, DIED}:
        yield f"it ended with {trial.came}"
    if trial.way == "fails" and leftovers(trial.root):
        yield "it left temporary files"
    everything = b"".join(file_contents(settings.state).values()).decode()
    if lost := {line for line in said if line not in everything}:
        yield f"it lost {lost}"
    if operation.in_one:
        sync(settings, NOW)
        wanted = [complete.known] if trial.came == TAKEN else [before.known, complete.known]
        if known(settings) not in wanted:
            yield f"then {known(settings)}, not one of {wanted}"
    yield from repeated(operation, settings)
    again = sync(settings, NOW)
    if known(settings) != complete.known:
        yield f"after it was repeated {known(settings)}, not {complete.known}"
    if operation.in_one and again.steps:
        yield f"its pairs were not settled: {again.steps}"
    if operation.in_one and trash_contents(settings) != complete.trash:
        yield "the trash differs"


def repeated(operation: Operation, settings: Settings) -> Iterator[str]:
    """Repeat an operation, which may report that it is done; yield why it cannot be repeated."""
    try:
        operation.run(settings)
    except StorageError as error:
        yield f"it cannot be repeated: {error.message}"
    except CodeIntelError:
        return


@pytest.fixture(scope="module")
def sample() -> dict[str, list[str]]:
    """The faults of each operation, by its name, for a sample of the interruptions."""
    result: dict[str, list[str]] = json.loads(output_of(Path(__file__), "sample"))
    return result


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize("name", OPERATIONS)
def test_interrupted_operation_loses_nothing_and_can_be_repeated(
    name: str, sample: dict[str, list[str]]
) -> None:
    assert sample[name] == []


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize("name", OPERATIONS)
def test_operation_interrupted_at_any_point_loses_nothing(name: str) -> None:
    assert json.loads(output_of(Path(__file__), "all", name)) == {name: []}


def test_next_writer_removes_old_temporary_files(tmp_path: Path) -> None:
    settings = make_project(tmp_path / "project")
    for folder in (settings.state, settings.agreements):
        for name, age in ((".x.md.12-0123abcd.tmp", 0.0), (".y.md.12-0123abcd.tmp", 3600)):
            (folder / name).write_bytes(b"half")
            seconds = time.time() - age
            os.utime(folder / name, (seconds, seconds))
    learn(settings, NEW, confirmed=True, now=NOW)
    assert sorted(leftovers(settings.root)) == [".x.md.12-0123abcd.tmp"] * 2


if __name__ == "__main__":
    place, chosen = Path(sys.argv[1]), SAMPLE if sys.argv[2] == "sample" else ALL
    made = make_project(place / "made")
    result = {}
    for name in sys.argv[3:] or OPERATIONS:
        operation = OPERATIONS[name]
        start = load_settings(Path(shutil.copytree(made.root, place / name / "start")), {})
        result[name] = list(faults(operation, start, chosen))
    sys.stdout.write(json.dumps(result))
