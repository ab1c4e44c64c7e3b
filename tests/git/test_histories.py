"""The law of merging: each merged agreement follows from some order of the acts of both histories.

An act adds its own text, and may add text that its author found in the file: an agreement is
written whole, and merged by lines (docs/decisions/0039). The map unites what two versions say of
one key, with or without a conflict of git. A branch that has deleted or renamed a key does not
learn it again: git would see an edit of the old file. The test compares keys, evidence, aliases,
and the time, which is the newest.
"""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from code_intel.learned.files import agreements
from code_intel.learned.files.agreements import Key
from git.machine import EXPORT, LOGIN, SEARCH, Conflict, Machine, made

KEYS = (LOGIN, SEARCH, EXPORT)
WORDS = ("入口", "入室", "本人確認", "受付", "台帳", "一覧画面")
ACTS = ("learn", "alias", "edit", "delete", "rename", "rename too")
ACT = st.tuples(st.sampled_from(ACTS), st.sampled_from(KEYS))
HISTORY = st.lists(ACT, min_size=1, max_size=3)


class Content(NamedTuple):
    """What is said under one key."""

    evidence: frozenset[str]
    aliases: frozenset[str]
    time: str

    def __or__(self, other: tuple[object, ...]) -> "Content":
        assert isinstance(other, Content)
        evidence, aliases = self.evidence | other.evidence, self.aliases | other.aliases
        return Content(evidence, aliases, max(self.time, other.time))

    def beyond(self, other: "Content") -> "Content":
        """Return what is said here and not there."""
        time = self.time if self.time > other.time else ""
        return Content(self.evidence - other.evidence, self.aliases - other.aliases, time)


NOTHING = Content(frozenset(), frozenset(), "")
Map = dict[Key, Content]


class Act(NamedTuple):
    """What one act did: to which key, away from which key, what it added, and all that it wrote."""

    key: Key
    gone: Key | None
    added: Content
    written: Content


def content(machine: Machine) -> Map:
    """Return what the map says."""
    return {
        entry.key: Content(frozenset(told.evidence), frozenset(told.aliases), told.learned_at)
        for entry in agreements.load_all(machine.folder)
        if (told := entry.agreement) and entry.key
    }


def perform(machine: Machine, act: str, key: Key, hours: int, done: Sequence[Act]) -> Act | None:
    """Do something on a machine, if it can be done, and return what it did."""
    before, new = content(machine), key
    if act == "learn" and key in {each.gone for each in done}:
        return None
    if act == "learn":
        machine.learn(
            key, f"as {hours} {'x' * hours * 9}, seen by a session of hour {hours}", hours=hours
        )
    elif key not in before:
        return None
    elif act == "alias":
        machine.alias(key, WORDS[hours - 1], hours=hours)
    elif act == "edit":
        line = "## 関連ファイル"
        machine.edit(key, line, f"- {hours} by hand, as somebody who had read it said\n\n{line}")
        machine.confirm(key)
    elif act == "delete":
        machine.file(key).unlink()
        machine.pairs()
        return Act(key, key, NOTHING, NOTHING)
    else:
        new = key[0], f"{key[1]}{'Renamed' if act == 'rename' else 'Moved'}"
        if new in before:
            return None
        machine.rename(key, symbol=new[1])
    written = content(machine)[new]
    return Act(new, key if new != key else None, written.beyond(before.get(key, NOTHING)), written)


def applied(known: Map, act: Act, *, whole: bool) -> Map:
    """Return the map after an act that brings along what it saw, or adds no more than it says."""
    known = dict(known)
    moved = known.pop(act.gone, NOTHING) if act.gone else NOTHING
    if act.written == NOTHING:
        return known
    old = known.get(act.key, NOTHING) | moved
    known[act.key] = old | (act.written if whole or old == NOTHING else act.added)
    return known


def orders(one: Sequence[Act], two: Sequence[Act]) -> Iterator[list[Act]]:
    """Yield every order of both histories that keeps the order of each."""
    size = len(one) + len(two)
    for places in combinations(range(size), len(one)):
        rest = iter(two)
        first = iter(one)
        yield [next(first) if at in places else next(rest) for at in range(size)]


def about(term: str, known: Map) -> Map:
    """Return the facts about one term, whatever its symbol was renamed to.

    Other terms have their own order.
    """
    return {key: said for key, said in known.items() if key[0] == term}


def possible(base: Map, one: Sequence[Act], two: Sequence[Act]) -> list[Map]:
    """Return everything that some order of both histories says."""
    found = []
    for order in orders(one, two):
        for wholes in product((False, True), repeat=len(order)):
            known = base
            for act, whole in zip(order, wholes, strict=True):
                known = applied(known, act, whole=whole)
            found.append(known)
    return found


def merged(machine: Machine, here: str, other: str) -> Map:
    """Merge a branch into another; both versions of what git cannot merge stay, in two files."""
    machine.git("checkout", "-q", "--detach", here)
    machine.pairs()
    for name in machine.conflicts("merge", "-q", "--no-edit", other):
        path = machine.folder / name
        if path.exists() and agreements.load(path).agreement is None:
            versions = list(map(str.encode, _versions(machine, name)))
            path.write_bytes(versions[0])
            for version in versions[1:]:
                path.with_name(f"other-{name}").write_bytes(version)
    machine.git("add", "-A")
    if machine.git("status", "--porcelain") or (machine.root / ".git" / "MERGE_HEAD").exists():
        machine.git("commit", "-q", "--no-edit", "--allow-empty", "-m", "merged")
    assert machine.is_settled()
    assert machine.is_clean()
    assert machine.pairs().keys() == content(machine).keys()
    return content(machine)


def _versions(machine: Machine, name: str) -> Iterator[str]:
    for side in (("HEAD:./", ":2:./"), ("MERGE_HEAD:./", ":3:./")):
        for stage in side:
            try:
                text = machine.git("show", f"{stage}{name}", at=machine.folder)
            except Conflict:
                continue
            if "<<<<<<<" not in text:
                yield f"{text}\n"
                break


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    machine = made(tmp_path_factory.mktemp("histories") / "begun")
    for key in (LOGIN, SEARCH):
        machine.learn(
            key, f"what {key[1]} does is read in its first lines, and its tests say the same"
        )
    machine.commit()
    return machine


@settings(max_examples=15)
@given(one=HISTORY, two=HISTORY)
def test_merge_equals_some_order_of_both_histories(
    begun: Machine, one: list[tuple[str, Key]], two: list[tuple[str, Key]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(Path(shutil.copytree(begun.root, Path(folder) / "mine")))
        base = content(machine)
        done: dict[str, list[Act]] = {}
        hours = 0
        for name, history in (("one", one), ("two", two)):
            machine.branch(name)
            machine.pairs()
            done[name] = []
            for act, key in history:
                hours += 1
                performed = perform(machine, act, key, hours, done[name])
                done[name] += [performed] if performed else []
            machine.git("add", "-A")
            machine.git("commit", "-q", "--allow-empty", "-m", name)
        found = merged(machine, "one", "two")
        for term in {key[0] for key in KEYS}:
            acts = ([act for act in done[name] if act.key[0] == term] for name in ("one", "two"))
            assert about(term, found) in possible(about(term, base), *acts)
        assert merged(machine, "two", "one") == found
