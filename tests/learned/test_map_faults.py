"""Import, rebuild, prune, restore and confirm; at any change the disk refuses or the machine dies.

Each file has its old or its new content, nothing is lost, and repeating the work completes it. The
test forks, so it runs as a separate program.
"""

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from code_intel.chunking.agreement import render
from code_intel.config import Settings, load_settings
from code_intel.index.facade import Index
from code_intel.learned.files import pairs, trash
from code_intel.learned.files.agreements import Key, load_all
from code_intel.learned.files.changes import sync
from code_intel.learned.files.confirm import candidates, confirm_all
from code_intel.learned.files.exchange import arrive, dump
from code_intel.learned.files.prune import prune
from code_intel.learned.files.rebuild import rebuild
from code_intel.learned.files.restore import restore
from code_intel.learned.learn import learn
from code_intel.learned.status.agreement_status import standings
from code_intel.records import Agreement
from faulty_disk import DIED, REFUSED, TAKEN, changes, outcome
from programs import output_of

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
WAYS = {"dies before": 1, "fails for good": 3}
"""How it goes wrong, and at every how many-th change: a disk that refuses is tried change by change
in tests/foundation/test_durable.py."""
HOLDS, GONE, TWIN = (
    Agreement("holds", "keeps", ("e",)),
    Agreement("gone", "vanished", ("e",), aliases=("went",)),
    Agreement("twin", "keeps", ("e", "f")),
)


Said = tuple[set[tuple[str, str]], set[tuple[str, str]]]


class Work(NamedTuple):
    """What is done, what must be there before, and what was reached if all went well."""

    prepare: Callable[[Settings], object]
    do: Callable[[Settings], object]
    is_done: Callable[[Settings], bool]


def keys(config: Settings) -> set[Key]:
    return {entry.key for entry in load_all(config.agreements) if entry.key}


def paired(config: Settings) -> set[Key]:
    file = pairs.load(pairs.path_of(config))
    assert not file.damage, file.damage
    return {pair.key for pair in file.pairs}


def terms(found: set[Key]) -> set[str]:
    return {term for term, _ in found}


def nothing(_: Settings) -> None:
    """Leave everything as it is."""


def add_pairs(config: Settings) -> None:
    """Let somebody who has only the JSON have written it."""
    for path in config.agreements.glob("*.md"):
        path.unlink()


def twins(config: Settings) -> None:
    text = render(replace(TWIN, evidence=("another",)))
    (config.agreements / "twin.md").write_text(text, encoding="utf-8")


def to_trash(config: Settings) -> None:
    with Index(config.forest, readonly=True) as forest:
        prune(config, forest, ("broken",), now=NOW)


def restored(config: Settings) -> None:
    for kept in trash.contents(config):
        restore(config, kept.name, now=NOW)


def pruned(*reasons: str) -> Callable[[Settings], object]:
    def work(config: Settings) -> None:
        with Index(config.forest, readonly=True) as forest:
            prune(config, forest, reasons, now=NOW)

    return work


def confirmed(config: Settings) -> None:
    with Index(config.forest, readonly=True) as forest:
        found = candidates(standings(config, forest, now=NOW), forest)
        confirm_all(config, found, now=NOW)


def all_confirmed(config: Settings) -> bool:
    with Index(config.forest, readonly=True) as forest:
        found = standings(config, forest, now=NOW)
    return {it.entry.key[0] for it in found if it.confirmed and it.entry.key} == {"holds", "twin"}


SENT = dump(Agreement(term, "keeps", ("e",)) for term in ("new", "newer")).encode()
EVERYTHING = {"holds", "gone", "twin"}
WORKS: Mapping[str, Work] = {
    "import": Work(
        nothing,
        lambda config: arrive(config, SENT, now=NOW),
        lambda config: (
            terms(keys(config)) == EVERYTHING | {"new", "newer"} == terms(paired(config))
        ),
    ),
    "rebuild pairs": Work(
        lambda config: pairs.path_of(config).unlink(),
        lambda config: rebuild(config, "agreements", now=NOW),
        lambda config: terms(paired(config)) == EVERYTHING,
    ),
    "rebuild agreements": Work(
        add_pairs,
        lambda config: rebuild(config, "pairs", now=NOW),
        lambda config: terms(keys(config)) == EVERYTHING == terms(paired(config)),
    ),
    "prune": Work(
        nothing,
        pruned("broken"),
        lambda config: terms(keys(config)) == EVERYTHING - {"gone"} == terms(paired(config)),
    ),
    "prune twins": Work(
        twins,
        pruned("twin"),
        lambda config: (
            not any(entry.also for entry in load_all(config.agreements))
            and terms(keys(config)) == EVERYTHING == terms(paired(config))
        ),
    ),
    "restore": Work(
        to_trash,
        restored,
        lambda config: terms(keys(config)) == EVERYTHING == terms(paired(config)),
    ),
    "confirm": Work(nothing, confirmed, all_confirmed),
}


def in_files(config: Settings) -> set[tuple[str, str]]:
    """Return what agreements say, in their folder and in the trash: term and line."""
    everything = [*load_all(config.agreements), *load_all(trash.folder_of(config))]
    assert all(entry.agreement for entry in everything), everything
    agreed = [entry.agreement for entry in everything if entry.agreement]
    return {(it.nl_term, line) for it in agreed for line in (*it.evidence, *it.aliases)}


def in_pairs(config: Settings) -> set[tuple[str, str]]:
    """Return what pairs say."""
    found = pairs.load(pairs.path_of(config)).pairs
    return {(pair.nl_term, line) for pair in found for line in pair.code_evidence.split("\n")}


def prepared(work: Work, base: Path) -> Settings:
    """Return a project with three agreements, indexed, as the work finds it."""
    base.mkdir(parents=True)
    (base / "a.py").write_text("def keeps(order):\n    return order.total\n", encoding="utf-8")
    config = load_settings(base, {})
    for agreement in (HOLDS, GONE, TWIN):
        learn(config, agreement, confirmed=False, now=NOW)
    with Index(config.forest) as forest:
        forest.complete(words_only=True)
    work.prepare(config)
    return config


def tried(work: Work, folder: Path) -> str:
    """Let every change of a work go wrong in every way.

    Return the problems that followed, or empty.
    """
    base = prepared(work, folder / "base")
    before = in_files(base), in_pairs(base)
    counted = load_settings(shutil.copytree(base.root, folder / "counted"), {})
    number = changes(lambda: work.do(counted))
    if not number or not work.is_done(counted):
        return "it does not do what it is to do"
    for way, step in WAYS.items():
        for point in range(1, number + 1, step):
            place = load_settings(shutil.copytree(base.root, folder / f"{way}{point}"), {})
            if fault := fault_of(work, place, point, way, before):
                return f"{way} {point} of {number}: {fault}"
            shutil.rmtree(place.root)
    return ""


def fault_of(work: Work, place: Settings, point: int, way: str, before: Said) -> str:
    """Do a work on a disk that goes wrong, then again on a sound one; return what is wrong then."""
    came = outcome(lambda: work.do(place), point, way)
    if came not in ({DIED} if way.startswith("dies") else {REFUSED, TAKEN}):
        return f"it came to {came}"
    files, pairs_too = in_files(place), in_files(place) | in_pairs(place)
    if lost := (before[0] - files) | (before[1] - pairs_too):
        return f"lost {lost}"
    work.do(place)
    sync(place, NOW)
    return "" if work.is_done(place) else "it is not done by doing it again"


@pytest.fixture(scope="module")
def faults() -> dict[str, str]:
    """What went wrong with each work, by its name."""
    found: dict[str, str] = json.loads(output_of(Path(__file__)))
    return found


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize("name", WORKS)
def test_any_change_may_go_wrong_and_nothing_is_lost_or_left_half_done(
    name: str, faults: dict[str, str]
) -> None:
    assert faults[name] == ""


if __name__ == "__main__":
    place = Path(sys.argv[1])
    sys.stdout.write(json.dumps({name: tried(work, place / name) for name, work in WORKS.items()}))
