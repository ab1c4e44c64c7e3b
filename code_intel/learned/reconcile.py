"""Two sides of one truth: learned_pairs.json and the agreements, brought together (DESIGN: truth on disk).

What each side was at the last sync decides, as one table says. People may edit either; nothing is lost:
what is deleted goes to `.code-intel/trash`, and a whole file that vanishes is rebuilt, not obeyed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple

from code_intel import durable, git
from code_intel.chunking.agreement import AgreementProblem, file_name
from code_intel.config import Settings
from code_intel.errors import StorageError
from code_intel.learned import agreements, claims, journal, pairs, trash
from code_intel.learned.agreements import Entry, Key
from code_intel.learned.merged import is_as_committed, repository
from code_intel.learned.pairs import Pair, PairsFile
from code_intel.learned.returning import clear, returned
from code_intel.learned.state import Base, State, open_state
from code_intel.records import Agreement
from code_intel.text import counted

Side = Literal["same", "changed", "missing", "unreadable"]
Action = Literal[
    "keep", "write_pair", "write_agreement", "trash_pair", "trash_agreement", "unite", "forget", "wait"
]  # fmt: skip

DECISIONS: Mapping[tuple[bool, Side, Side], Action] = MappingProxyType(
    {
        # (was there a base, pair, agreement)
        (True, "same", "same"): "keep",
        (True, "same", "changed"): "write_pair",
        (True, "same", "missing"): "trash_pair",
        (True, "changed", "same"): "write_agreement",
        (True, "changed", "changed"): "write_pair",
        (True, "changed", "missing"): "write_agreement",
        (True, "missing", "same"): "trash_agreement",
        (True, "missing", "changed"): "write_pair",
        (True, "missing", "missing"): "forget",
        (True, "same", "unreadable"): "wait",
        (True, "changed", "unreadable"): "wait",
        (True, "missing", "unreadable"): "wait",
        (False, "changed", "changed"): "unite",
        (False, "changed", "missing"): "write_agreement",
        (False, "missing", "changed"): "write_pair",
        (False, "changed", "unreadable"): "wait",
    }
)
"""What to do with a key; without a base whatever is there counts as changed."""

NEWER = f"{pairs.FILE} was written by a newer version; left alone."
MASS = 5
"""From so many pairs on, more than half of them vanishing at once is damage and not an edit."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a reconciliation did.

    Attributes:
        actions: Key by key what was done, `keep` left out.
        notes: Sentences for people: what was damaged, set aside, rebuilt or left alone.
        held: Pairs that stay although their agreements seem gone, until somebody has looked again.
    """

    actions: Mapping[Key, Action] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    held: int = 0

    @property
    def has_changed(self) -> bool:
        """Whether anything was written; to wait for people writes nothing."""
        return any(done != "wait" for done in self.actions.values())

    def count(self, action: Action) -> int:
        """Return how many keys had this action."""
        return sum(done == action for done in self.actions.values())


@dataclass(frozen=True, slots=True)
class _Sides:
    """Everything that was found."""

    file: PairsFile
    pairs: Mapping[Key, Pair]
    entries: Mapping[Key, Entry]
    unreadable: frozenset[str]
    bases: Mapping[Key, Base]


def decide(
    base: Base | None, pair: str | None, agreement: str | None, *, unreadable: bool = False
) -> Action:
    """Return what to do with one key; pure.

    Args:
        base: Both hashes at the last sync.
        pair: The pair's hash now, None when it is not there.
        agreement: The agreement's hash now, None when it is not there.
        unreadable: Whether the agreement's file is there and cannot be read.
    """
    left = _side(base and base.pair, pair)
    right = "unreadable" if unreadable else _side(base and base.agreement, agreement)
    return DECISIONS[base is not None, left, right]


def reconcile(settings: Settings, *, now: datetime | None = None) -> Report:
    """Bring both sides together and finish what was begun; quick when there is nothing to do.

    Raises:
        StorageError: A side is there but cannot be read or written.
        BusyError: Another process is at it for too long.
    """
    now = now or datetime.now(UTC)
    places = (journal.pairs_path(settings), settings.agreements, settings.state / "state.db")
    if not any(place.exists() for place in places):
        return Report()
    with durable.locked(journal.lock_path(settings)), open_state(settings.state) as state:
        return reconcile_locked(settings, state, now=now)


def reconcile_locked(settings: Settings, state: State, *, now: datetime) -> Report:
    """Do the work of `reconcile` for a caller that holds `journal.lock_path`."""
    notes = _finish_pending(settings, state, now)
    found = _look(settings, state)
    if found.file.read_only:
        return Report(notes=(*notes, NEWER))
    if found.file.damage:
        notes.append(f"{pairs.FILE} was damaged and is rebuilt: {found.file.damage}")
    actions, guarded, held = _plan(settings, found)
    _VANISHED[settings.agreements] = held
    if guarded:
        notes.append(f"{pairs.FILE} had lost most of its pairs; rebuilt from the agreements.")
    if found.file.damage or actions:
        notes += _apply(settings, state, found, actions, now)
    if held:
        gone = counted(len(held), "agreement")
        notes.append(f"{gone} are gone at once; their pairs stay until that is sure.")
    return Report(MappingProxyType(actions), tuple(notes), len(held))


def planned(settings: Settings) -> Report:
    """Return what `reconcile` would do now, written nothing; what was begun and not finished is only noted.

    Raises:
        StorageError: A side is there but cannot be read.
        BusyError: Another process kept the state for too long.
    """
    with open_state(settings.state, create=False) as state:
        notes = [f"{term} → {symbol} is to be finished." for (term, symbol), *_ in state.pending()]
        found = _look(settings, state)
    if found.file.read_only:
        return Report(notes=(*notes, NEWER))
    if found.file.damage:
        notes.append(f"{pairs.FILE} is damaged and would be rebuilt: {found.file.damage}")
    actions, guarded, held = _plan(settings, found)
    if guarded:
        notes.append(f"{pairs.FILE} has lost most of its pairs; they come from the agreements.")
    return Report(MappingProxyType(actions), tuple(notes), len(held))


def _side(base: str | None, current: str | None) -> Side:
    if current is None:
        return "missing"
    return "same" if current == base else "changed"


def _finish_pending(settings: Settings, state: State, now: datetime) -> list[str]:
    notes = []
    begun = state.pending()
    if begun:
        durable.sweep(settings.state)
        durable.sweep(settings.agreements)
    for pending in begun:
        try:
            journal.finish(settings, state, pending, now=now)
        except (AgreementProblem, StorageError) as error:
            notes.append(
                f"{pending.key[0]} → {pending.key[1]} is still to be written: {error.message}"
            )
    return notes


def _look(settings: Settings, state: State) -> _Sides:
    file = pairs.load(journal.pairs_path(settings))
    known = agreements.look(settings.agreements)
    bad = (journal.relative(settings, entry.path) for entry in known.entries if not entry.agreement)
    return _Sides(
        file=file,
        pairs={pair.key: pair for pair in file.pairs},
        entries=known.by_key,
        unreadable=frozenset(bad),
        bases=state.bases(),
    )


class _Plan(NamedTuple):
    """The action for each key, whether a mass deletion was refused, and those of which nothing is deleted yet."""

    actions: dict[Key, Action]
    guarded: bool
    held: frozenset[Key]


def _plan(settings: Settings, found: _Sides) -> _Plan:
    actions: dict[Key, Action] = {}
    for key in [*found.entries, *(found.pairs.keys() | found.bases.keys()) - found.entries.keys()]:
        base, pair, entry = found.bases.get(key), found.pairs.get(key), found.entries.get(key)
        actions[key] = decide(
            base,
            journal.pair_hash(pair) if pair else None,
            journal.agreement_hash(settings, entry) if entry else None,
            unreadable=entry is None and _file_of(key, base, pair) in found.unreadable,
        )
    doomed = [key for key, action in actions.items() if action == "trash_agreement"]
    mass = len(doomed) >= MASS and len(doomed) * 2 > len(found.bases)
    lost = not found.file.exists or bool(found.file.damage)
    if mass or lost:
        actions |= dict.fromkeys(doomed, "write_pair")
    actions |= dict.fromkeys(_from_git(settings, found, actions), "write_pair")
    gone = [key for key, done in actions.items() if done in {"trash_pair", "trash_agreement"}]
    held = _held(settings, found, gone)
    actions |= dict.fromkeys(held, "wait")
    todo: dict[Key, Action] = {key: done for key, done in actions.items() if done != "keep"}
    return _Plan(todo, mass and not lost, held)


_VANISHED: dict[Path, frozenset[Key]] = {}
"""By folder: agreements that were gone at once the last time somebody looked, and whose pairs are kept."""


def _held(settings: Settings, found: _Sides, gone: list[Key]) -> frozenset[Key]:
    """Return those of which nothing is deleted yet: most at once, and for the first time; or git is at it.

    A disk that is not mounted, or a folder that was moved away, has deleted nothing. Once the folder is
    there, a second look that misses the same ones believes it.
    """
    before, now = _VANISHED.get(settings.agreements, frozenset()), frozenset(gone)
    most = len(gone) >= MASS and len(gone) * 2 > len(found.bases)
    first = most and (not settings.agreements.is_dir() or now != before)
    return now if first or _is_in_flux(settings, found, gone) else frozenset()


def _is_in_flux(settings: Settings, found: _Sides, gone: list[Key]) -> bool:
    """Whether files were missing in the middle of a checkout: it still goes on, or they are there again."""
    if not gone:
        return False
    seen = {path for entry in found.entries.values() for path in (entry.path, *entry.also)}
    places = {
        settings.agreements / _file_of(key, found.bases.get(key), found.pairs.get(key))
        for key in gone
        if key not in found.entries
    }
    return git.is_at_work(repository(settings)) or any(path.exists() for path in places - seen)


def _from_git(settings: Settings, found: _Sides, actions: Mapping[Key, Action]) -> list[Key]:
    """Return agreements that only a committed learned_pairs.json speaks against: nobody edited that.

    It belongs to no commit; where one carries it all the same, it is older than the agreements beside it.
    """
    against = [
        key
        for key, done in actions.items()
        if done in {"trash_agreement", "write_agreement", "unite"} and key in found.entries
    ]
    return against if against and is_as_committed(settings, pairs.FILE) else []


def _file_of(key: Key, base: Base | None, pair: Pair | None) -> str:
    """Return where a key's agreement was, or would be written."""
    known = base.file if base else pair.agreement_file if pair else ""
    return known or file_name(*key)


def _apply(
    settings: Settings, state: State, found: _Sides, actions: dict[Key, Action], now: datetime
) -> list[str]:
    """Write files first, then the pairs in one go, then what both sides were; return notes.

    What no agreement can hold waits as a pair, and keeps nothing else from being written.
    """
    wanted, notes = _wanted(found, actions)
    after = dict(found.pairs)
    entries: dict[Key, Entry | None] = dict(found.entries)
    if wanted:
        entries |= journal.write_agreements(settings, wanted)
    new = [key for key, action in actions.items() if action == "write_pair"]
    back = returned(settings, set(new) - found.pairs.keys() - found.bases.keys())
    after |= {key: pair for key, (pair, _) in back.items()}
    for key, action in actions.items():
        _apply_one(settings, key, action, after, entries, now)
    changed = {key for key, action in actions.items() if action != "wait"}

    def change(current: tuple[Pair, ...]) -> tuple[Pair, ...]:
        result = {pair.key: pair for pair in current}
        for key in changed:
            result.pop(key, None) if key not in after else result.update({key: after[key]})
        return tuple(result.values())

    pairs.update(journal.pairs_path(settings), change, now=now)
    with state.transaction():
        for key in changed:
            journal.remember(settings, state, key, after.get(key), entries.get(key))
    clear(back, after)
    return notes


def _wanted(found: _Sides, actions: dict[Key, Action]) -> tuple[list[Agreement], list[str]]:
    """Return the agreements to write; those that no file can hold `wait`, and are noted."""
    wanted, notes = [], []
    for key in [key for key, action in actions.items() if action in {"unite", "write_agreement"}]:
        entry = found.entries.get(key)
        old = entry.agreement if entry else None
        told = journal.to_agreement(found.pairs[key], old)
        agreement = claims.unite([old, told]) if old and actions[key] == "unite" else told
        try:
            agreements.rendered(agreement)
        except StorageError as error:
            actions[key] = "wait"
            notes.append(f"{key[0][:60]} → {key[1][:60]} stays a pair alone. {error.message}")
        else:
            wanted.append(agreement)
    return wanted, notes


def _apply_one(
    settings: Settings,
    key: Key,
    action: Action,
    after: dict[Key, Pair],
    entries: dict[Key, Entry | None],
    now: datetime,
) -> None:
    pair, entry = after.get(key), entries.get(key)
    if action == "trash_pair" and pair:
        trash.keep_pair(settings, after.pop(key), now=now)
    elif action == "trash_agreement" and entry:
        for path in (entry.path, *entry.also):
            trash.move(settings, path, now=now)
        entries[key] = None
    settled = entries.get(key)
    if settled and settled.agreement and action in {"write_pair", "unite", "write_agreement"}:
        name = journal.relative(settings, settled.path)
        fresh = journal.to_pair(settled.agreement, name)
        after[key] = replace(fresh, extra=pair.extra if pair else ())
