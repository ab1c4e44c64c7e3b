"""Both sides of one agreement, written so that a process may die at any step.

The whole agreement goes into the state store first, then learned_pairs.json, then the Markdown file
(the order of seed 004 §4.2), then what both were. Whatever is found begun is finished by the next
process that looks (docs/decisions/0007).
"""

import hashlib
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from pathlib import Path

from code_intel import durable
from code_intel.chunking.agreement import canonical, file_name, read, render
from code_intel.config import Settings
from code_intel.learned import agreements, claims, pairs, trash
from code_intel.learned.agreements import Entry, Key
from code_intel.learned.folder import NOW
from code_intel.learned.pairs import Pair
from code_intel.learned.state import Base, Pending, State
from code_intel.records import Agreement

PATIENCE = 20.0
"""Seconds that whoever changes something waits for its turn: of eight who learn at once seven wait."""


@dataclass(frozen=True, slots=True)
class Stored:
    """Where an agreement is now."""

    entry: Entry
    pair: Pair


def pairs_path(settings: Settings) -> Path:
    """Return where learned_pairs.json is."""
    return settings.state / pairs.FILE


def lock_path(settings: Settings) -> Path:
    """Return the lock that everything takes which changes more than one file."""
    return settings.state / "learned.lock"


def alone(settings: Settings) -> AbstractContextManager[None]:
    """Hold `lock_path` to change something; waits for its turn longer than somebody who only asks.

    Raises:
        BusyError: Another process is writing for longer than `PATIENCE`.
        StorageError: The lock cannot be made.
    """
    return durable.locked(lock_path(settings), PATIENCE)


def store(
    settings: Settings,
    state: State,
    agreement: Agreement,
    *,
    confirmed: bool,
    now: datetime,
    since: float = NOW,
) -> Stored:
    """Write both sides of an agreement and remember them; the caller holds `lock_path`.

    Args:
        settings: The project.
        state: Its store.
        agreement: What they are to say.
        confirmed: Whether it is confirmed on this machine.
        now: When.
        since: When somebody has looked at the folder last under the same lock; see `Folder.look`.

    Raises:
        StorageError: The disk refused, or a file that cannot be read is in the way; then nothing is begun.
    """
    planned_file(settings, agreement, since)  # where a conflict is in the way, nothing is begun
    pending = Pending(agreements.key_of(agreement), render(agreement), confirmed)
    state.begin(pending)
    return finish(settings, state, pending, now=now, since=since)


def finish(
    settings: Settings, state: State, pending: Pending, *, now: datetime, since: float = NOW
) -> Stored:
    """Do, or do again, everything that a pending agreement asks for.

    Confirmed is what was asked for and no more: not a claim that came into the folder meanwhile.
    """
    agreement = read(pending.text)
    if pending.old:
        _give_name(settings, pending, agreement, now)
    pair = to_pair(agreement, planned_file(settings, agreement, since))
    write_pair(settings, pair, now=now)
    entry = write_agreement(settings, agreement, since)
    with state.transaction():
        if pending.old:
            state.rename(pending.old, pending.key)
        if pending.confirmed and entry.agreement and not claims.adds(entry.agreement, agreement):
            state.confirm(entry.digest, now)
            state.use(pending.key, now)
        remember(settings, state, pending.key, pair, entry)
        state.finish(pending.key)
    return Stored(entry, pair)


def _give_name(settings: Settings, pending: Pending, agreement: Agreement, now: datetime) -> None:
    """Write an agreement under its new name, with people's notes; its old files go to the trash."""
    folder = settings.agreements
    old = agreements.find(folder, pending.old) if pending.old else None
    paths = {old.path, *old.also} if old else set()
    if agreements.find(folder, pending.key) is None:
        path = old.path if old else folder / ""
        if path.name != file_name(*pending.key):
            path = agreements.new_path(path.parent if old else folder, agreement)
        durable.replace(path, pending.text.encode())
        paths.discard(path)
    for path in paths:
        trash.move(settings, path, now=now)


def write_pair(settings: Settings, pair: Pair, *, now: datetime) -> None:
    """Write the first side; a file of a newer version is left alone."""
    path = pairs_path(settings)
    if not pairs.load(path).read_only:
        pairs.add(path, pair, now=now)


def write_agreement(settings: Settings, agreement: Agreement, since: float = NOW) -> Entry:
    """Write the second side and return what the folder now says of it."""
    key = agreements.key_of(agreement)
    before = agreements.find(settings.agreements, key, since)
    path = agreements.write(settings.agreements, agreement, since)
    found = agreements.find(settings.agreements, key) if before and before.also else None
    return found or agreements.load(path)


def write_agreements(settings: Settings, wanted: Sequence[Agreement]) -> dict[Key, Entry]:
    """Write the second side of many, and return by key what the folder now says of them."""
    paths = agreements.write_all(settings.agreements, wanted)
    known = agreements.look(settings.agreements).by_key
    keys = map(agreements.key_of, wanted)
    return {
        key: known.get(key) or agreements.load(path) for key, path in zip(keys, paths, strict=True)
    }


def remember(
    settings: Settings, state: State, key: Key, pair: Pair | None, entry: Entry | None
) -> None:
    """Keep what both sides are as the base of the next sync."""
    if pair is None or entry is None:
        state.set_base(key, None)
        return
    name = relative(settings, entry.path)
    state.set_base(key, Base(pair_hash(pair), agreement_hash(settings, entry), name))


def planned_file(settings: Settings, agreement: Agreement, since: float = NOW) -> str:
    """Return the name, in the agreements folder, that the agreement has or will have."""
    entry = agreements.find(settings.agreements, agreements.key_of(agreement), since)
    if entry:
        return relative(settings, entry.path)
    return agreements.new_path(settings.agreements, agreement).name


def relative(settings: Settings, path: Path) -> str:
    """Return a file's name relative to the agreements folder."""
    return path.relative_to(settings.agreements).as_posix()


def to_pair(agreement: Agreement, file: str) -> Pair:
    """Return the pair that says the same as an agreement."""
    return Pair(
        nl_term=agreement.nl_term,
        symbol=agreement.symbol,
        similarity=round(agreement.similarity, 3),
        code_evidence="\n".join(agreement.evidence),
        session_id=agreement.session_id,
        learned_at=agreement.learned_at,
        agreement_file=file,
    )


def to_agreement(pair: Pair, old: Agreement | None = None) -> Agreement:
    """Return the agreement that says what a pair says, keeping what a pair does not speak of.

    Evidence that came by way of the JSON file was confirmed by nobody.
    """
    base = old or Agreement(pair.nl_term, pair.symbol)
    told = tuple(line for line in pair.code_evidence.split("\n") if line.strip())
    same = pair.code_evidence == "\n".join(base.evidence)
    return replace(
        base,
        evidence=base.evidence if same else told,
        similarity=min(max(pair.similarity, 0.0), 1.0),
        session_id=pair.session_id,
        learned_at=pair.learned_at if claims.is_time(pair.learned_at) else base.learned_at,
        confirmed=base.confirmed and same,
    )


def pair_hash(pair: Pair) -> str:
    """Return the digest of what a pair says; keys that are not ours do not count."""
    said = (*pair.key, pair.similarity, pair.code_evidence, pair.session_id, pair.learned_at)
    return _digest_of(*said, pair.agreement_file)


def agreement_hash(settings: Settings, entry: Entry) -> str:
    """Return the digest of what an agreement says and of what its file is called."""
    content = str(entry.path), entry.digest
    known = _KNOWN.get(content)
    if known is None:
        while len(_KNOWN) >= pairs.MOST_REMEMBERED:
            _KNOWN.pop(next(iter(_KNOWN)))
        said = canonical(entry.agreement) if entry.agreement else None
        known = _KNOWN[content] = _digest(repr((relative(settings, entry.path), said)))
    return known


_KNOWN: dict[tuple[str, str], str] = {}
"""By an agreement's file and the digest of its bytes, which say what it says: all are asked for at each sync."""


@lru_cache(maxsize=pairs.MOST_REMEMBERED, typed=True)
def _digest_of(*said: str | float) -> str:
    return _digest(repr(said))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
