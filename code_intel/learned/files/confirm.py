"""Confirm many agreements at once, such as after a migration or an import (docs/decisions/0036).

Agreements that were rejected, or whose code has changed, must be confirmed one by one.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple

from code_intel.chunking.agreement import canonical
from code_intel.config import Settings
from code_intel.index.facade import Index
from code_intel.learned.files import agreements
from code_intel.learned.files.agreements import AgreementEntry, Key
from code_intel.learned.files.changes import MapChange, batches, changing
from code_intel.learned.history.feedback import note_in
from code_intel.learned.status.agreement_status import AgreementStatus
from code_intel.learned.status.definitions import facts_of
from code_intel.learned.status.snapshot import SnapshotCache
from code_intel.learned.status.validity import lookalike, own_definitions, several_files
from code_intel.records import Agreement, Definition

_OBSTACLES: tuple[tuple[str, Callable[[AgreementStatus], bool]], ...] = (
    ("its file cannot be read", lambda it: it.entry.agreement is None),
    ("its symbol was renamed: `code-intel map rename`", lambda it: it.heir is not None),
    ("its symbol has changed since it was written", lambda it: it.validity == "changed"),
    ("it was rejected", lambda it: bool(it.objections.doubt)),
    (
        "it contains look-alike letters; confirm it by itself",
        lambda it: bool(it.entry.agreement and lookalike(it.entry.agreement)),
    ),
)
"""Reasons to leave an agreement out; the first that applies is reported."""


class ConfirmCandidate(NamedTuple):
    """An unconfirmed agreement with its symbol's definition, or the reason to leave it out."""

    entry: AgreementEntry
    definition: Definition | None
    body: str = ""
    obstacle: str = ""


def candidates(standings: Iterable[AgreementStatus], forest: Index) -> list[ConfirmCandidate]:
    """Return all unconfirmed agreements, in the order of `standings`."""
    return [_candidate(it, forest) for it in standings if not it.confirmed]


def confirm_all(
    settings: Settings, chosen: Iterable[ConfirmCandidate], *, now: datetime | None = None
) -> list[Key]:
    """Confirm the candidates that have not changed in the meantime; return the confirmed keys.

    Raises:
        StorageError: A file could not be written; some agreements may stay unconfirmed.
        BusyError: Another process holds the lock.
    """
    now = now or datetime.now(UTC)
    done: list[Key] = []
    cache = SnapshotCache()
    for batch in batches(it for it in chosen if it.definition):
        with changing(settings, now, cache) as change:
            known = change.known()
            wanted = {
                agreements.key_of(new): new
                for it in batch
                if (new := _confirmed(it))
                and it.entry.key
                and known.by_key.get(it.entry.key) == it.entry
            }
            agreements.write_all(
                settings.agreements, wanted.values(), known, settings.language, change.files
            )
            done += _record_confirmations(change, wanted)
            change.generate()
    return done


def _candidate(standing: AgreementStatus, forest: Index) -> ConfirmCandidate:
    entry, agreement = standing.entry, standing.entry.agreement
    obstacle = next((reason for reason, applies in _OBSTACLES if applies(standing)), "")
    if obstacle or agreement is None:
        return ConfirmCandidate(entry, None, obstacle=obstacle)
    facts = facts_of(forest, agreement)
    if several_files(agreement, facts):
        obstacle = "several files define its symbol; confirm it by itself with --file"
        return ConfirmCandidate(entry, None, obstacle=obstacle)
    meant = own_definitions(agreement, facts) or facts.definitions
    if not meant:
        return ConfirmCandidate(entry, None, obstacle="the index does not define its symbol")
    body = meant[0].body
    is_unique = bool(body) and len(forest.store.of_body(body, 2)) == 1
    return ConfirmCandidate(entry, meant[0], body if is_unique else "")


def _confirmed(candidate: ConfirmCandidate) -> Agreement | None:
    old, definition = candidate.entry.agreement, candidate.definition
    if old is None or definition is None:
        return None
    return canonical(replace(old, confirmed=True, digest=definition.digest, body=candidate.body))


def _record_confirmations(change: MapChange, wanted: dict[Key, Agreement]) -> list[Key]:
    """Record the agreements that were written as planned as confirmed; return their keys."""
    known = change.known().by_key
    done = [key for key, new in wanted.items() if key in known and known[key].agreement == new]
    with change.state.transaction():
        for key in done:
            change.state.confirm(known[key].digest, change.now)
            change.state.record_use(key, change.now)
            note_in(change.state, key, "confirmed", words="", session_id="", now=change.now)
    return done
