"""One side made anew from the other because somebody asks for it (docs/decisions/0036).

Reconciling honours edits of both sides; this says which side is right. Keys that are not ours, items that
are no pairs, and pairs whose agreement cannot be read just now stay; what goes, goes to the trash.
"""

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from code_intel.chunking.agreement import canonical, file_name
from code_intel.config import Settings
from code_intel.errors import StorageError, UsageError
from code_intel.learned import agreements, journal, pairs, trash
from code_intel.learned.agreements import Entry, Key
from code_intel.learned.claims import when
from code_intel.learned.pairs import Pair, PairsFile
from code_intel.learned.reconcile import reconcile_locked
from code_intel.learned.state import State, open_state
from code_intel.records import Agreement
from code_intel.text import counted

Source = Literal["agreements", "pairs"]
Step = Literal["write_pair", "replace_pair", "trash_pair", "write_agreement"]


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What a rebuild did, or would do.

    Attributes:
        steps: Key by key, those of which nothing was written left out.
        kept: How many stayed as they were.
        waiting: Pairs left alone, because the file of their agreement cannot be read, or written.
        notes: Sentences about learned_pairs.json itself.
    """

    steps: Mapping[Key, Step]
    kept: int = 0
    waiting: tuple[Key, ...] = ()
    notes: tuple[str, ...] = ()


def rebuild(
    settings: Settings, source: Source, *, now: datetime | None = None, dry: bool = False
) -> Rebuilt:
    """Make learned_pairs.json from the agreements, or the agreements that are missing from its pairs.

    Args:
        settings: The project.
        source: Which side is right.
        now: When.
        dry: Only say what would be.

    Raises:
        UsageError: That side has nothing, and the other one has: nothing is thrown away by a slip.
        StorageError: A newer version wrote learned_pairs.json, a side cannot be read, or the disk refused.
        BusyError: Another process is writing for too long.
    """
    now = now or datetime.now(UTC)
    work = _pairs_from_agreements if source == "agreements" else _agreements_from_pairs
    with ExitStack() as stack:
        state = None
        if not dry:
            stack.enter_context(journal.alone(settings))
            state = stack.enter_context(open_state(settings.state))
        file = pairs.load(journal.pairs_path(settings))
        file.require_ours()
        return work(settings, state, file, now)


def _pairs_from_agreements(
    settings: Settings, state: State | None, file: PairsFile, now: datetime
) -> Rebuilt:
    entries = agreements.load_all(settings.agreements)
    readable = {entry.key: entry for entry in entries if entry.key}
    old = {pair.key: pair for pair in file.pairs}
    if old and not readable:
        raise _empty("agreements", f"{counted(len(old), 'pair')}", "pairs")
    unreadable = {journal.relative(settings, entry.path) for entry in entries if not entry.key}
    waiting = tuple(key for key in old if key not in readable and _file(old[key]) in unreadable)
    new = _pairs(settings, readable, old, waiting)
    steps: dict[Key, Step] = {}
    for key in [*new, *(old.keys() - new.keys())]:
        if key not in new:
            steps[key] = "trash_pair"
        elif key not in old:
            steps[key] = "write_pair"
        elif old[key] != new[key]:
            steps[key] = "replace_pair"
    if state:
        for key in (key for key, step in steps.items() if step in {"trash_pair", "replace_pair"}):
            trash.keep_pair(settings, old[key], now=now)
        if new or file.exists:
            pairs.update(journal.pairs_path(settings), lambda _: tuple(new.values()), now=now)
        _renew(settings, state, new, readable)
    return Rebuilt(steps, len(new) - len(steps.keys() & new.keys()), waiting, _notes(file))


def _agreements_from_pairs(
    settings: Settings, state: State | None, file: PairsFile, now: datetime
) -> Rebuilt:
    entries = agreements.load_all(settings.agreements)
    known = {entry.key for entry in entries if entry.key}
    if known and not file.pairs:
        raise _empty(pairs.FILE, f"{counted(len(known), 'agreement')}", "agreements")
    unreadable = {journal.relative(settings, entry.path) for entry in entries if not entry.key}
    missing = [pair for pair in file.pairs if pair.key not in known]
    drafts = {pair.key: _agreement(pair) for pair in missing if _file(pair) not in unreadable}
    new = [draft for draft in drafts.values() if draft]
    waiting = tuple(pair.key for pair in missing if not drafts.get(pair.key))
    if state:
        agreements.write_all(settings.agreements, new)
        reconcile_locked(settings, state, now=now)
    steps: dict[Key, Step] = {agreements.key_of(item): "write_agreement" for item in new}
    return Rebuilt(steps, len(known), waiting, _notes(file))


def _pairs(
    settings: Settings,
    readable: Mapping[Key, Entry],
    old: Mapping[Key, Pair],
    waiting: Iterable[Key],
) -> dict[Key, Pair]:
    """Return the pairs that the file is to have: those that stay in their order, new ones by their time."""
    wanted: dict[Key, Pair] = {key: old[key] for key in waiting}
    for key, entry in readable.items():
        if entry.agreement:
            pair = journal.to_pair(entry.agreement, journal.relative(settings, entry.path))
            wanted[key] = replace(pair, extra=old[key].extra) if key in old else pair
    added = sorted(wanted.keys() - old.keys(), key=lambda it: (when(wanted[it].learned_at), it))
    return {key: wanted[key] for key in [*(key for key in old if key in wanted), *added]}


def _agreement(pair: Pair) -> Agreement | None:
    """Return what a pair says; None if no file can hold it."""
    agreement = canonical(replace(journal.to_agreement(pair), confirmed=False))
    try:
        agreements.rendered(agreement)
    except StorageError:
        return None
    return agreement


def _file(pair: Pair) -> str:
    return pair.agreement_file or file_name(*pair.key)


def _renew(
    settings: Settings, state: State, new: Mapping[Key, Pair], readable: Mapping[Key, Entry]
) -> None:
    """Remember what both sides are now; of what is gone, and of what waits, nothing but the old."""
    with state.transaction():
        for key in state.bases().keys() - new.keys():
            state.set_base(key, None)
        for key, entry in readable.items():
            journal.remember(settings, state, key, new[key], entry)


def _notes(file: PairsFile) -> tuple[str, ...]:
    notes = []
    if file.damage:
        notes.append(f"{pairs.FILE} is damaged, set aside and written anew: {file.damage}")
    elif file.exists and file.version < pairs.VERSION:
        notes.append(f"{pairs.FILE} of version {file.version} becomes version {pairs.VERSION}.")
    return tuple(notes)


def _empty(side: str, others: str, source: Source) -> UsageError:
    return UsageError(
        f"There are no {side} to rebuild from, and {others}.",
        hint=f"Rebuild from the other side: `code-intel map rebuild --from {source}`.",
        details={"field": "from"},
    )
