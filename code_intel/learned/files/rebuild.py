"""Take hand edits of learned_pairs.json into the agreements, or generate the file again.

Both happen only on a person's request (docs/decisions/0050). Nothing is lost: an edited file that
is replaced is kept beside the new one, and an agreement that is updated leaves a copy in the trash.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Literal

from code_intel.chunking.agreement import canonical, file_name
from code_intel.config import Settings
from code_intel.errors import StorageError, UsageError
from code_intel.foundation.text import counted
from code_intel.learned.files import agreements, generated, merge_agreements, pairs, trash
from code_intel.learned.files.agreements import Key, Known
from code_intel.learned.files.changes import MapChange, changing
from code_intel.learned.files.generated import NOTES, Examined
from code_intel.learned.files.merge_agreements import when
from code_intel.learned.files.pairs import Pair
from code_intel.learned.history.state import open_state
from code_intel.records import Agreement

Source = Literal["agreements", "pairs"]
Step = generated.Step | Literal["write_agreement", "update_agreement"]


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What a rebuild did, or would do.

    Attributes:
        steps: What was written, by key.
        kept: How many stayed as they were.
        waiting: Pairs that were not taken in, because the file of their agreement cannot be read
            or written.
        notes: Sentences about learned_pairs.json itself.
    """

    steps: Mapping[Key, Step]
    kept: int = 0
    waiting: tuple[Key, ...] = ()
    notes: tuple[str, ...] = ()


def rebuild(
    settings: Settings, source: Source, *, now: datetime | None = None, dry: bool = False
) -> Rebuilt:
    """Generate learned_pairs.json from the agreements, or take what it says into the agreements.

    Args:
        settings: The project.
        source: What is right.
        now: When.
        dry: Only say what would be done.

    Raises:
        UsageError: That side is empty or damaged, and the other one is not.
        StorageError: A newer version wrote learned_pairs.json, a file cannot be read, or the disk
            refused.
        BusyError: Another process is writing for too long.
    """
    with ExitStack() as stack:
        change = None if dry else stack.enter_context(changing(settings, now or datetime.now(UTC)))
        state = (
            change.state
            if change
            else stack.enter_context(open_state(settings.state, create=False))
        )
        known = change.known() if change else agreements.look(settings.agreements)
        found = generated.examine(settings, known, state.generated())
        if found.condition == "newer":
            raise StorageError(NOTES["newer"], hint="Use the newer code-intel.")
        work = _from_agreements if source == "agreements" else _from_pairs
        return work(change, known, found)


def _from_agreements(change: MapChange | None, known: Known, found: Examined) -> Rebuilt:
    if found.file.pairs and not known.by_key:
        raise UsageError(
            f"There are no agreements, "
            f"and {counted(len(found.file.pairs), 'pair')} in {pairs.PAIRS_FILE}.",
            hint="Import them with `code-intel map rebuild --from pairs`.",
            details={"field": "from"},
        )
    note = change.generate(known, replace_edits=True) if change else ""
    return Rebuilt(found.steps, len(found.wanted) - len(found.steps), notes=_notes(note))


def _from_pairs(change: MapChange | None, known: Known, found: Examined) -> Rebuilt:
    if not found.file.exists or found.file.damage:
        raise UsageError(
            f"{pairs.PAIRS_FILE} cannot be imported: {found.file.damage or 'It does not exist.'}",
            hint="Correct it, or generate it with `code-intel map rebuild`.",
            details={"field": "from"},
        )
    plan = _plan(known, found)
    note = ""
    if change:
        for key, new in plan.agreements.items():
            entry = known.by_key.get(key)
            if entry and entry.agreement and merge_agreements.adds(entry.agreement, new):
                trash.copy(change.settings, entry.path, now=change.now)
        agreements.write_all(change.settings.agreements, plan.agreements.values(), known)
        note = change.generate(replace_edits=True)
    kept = len(known.by_key) - len(plan.agreements.keys() & known.by_key.keys())
    return Rebuilt(plan.steps, kept, tuple(plan.waiting), (*plan.notes, *_notes(note)))


@dataclass(slots=True)
class _Plan:
    """What taking the pairs in would do."""

    agreements: dict[Key, Agreement] = field(default_factory=dict)
    steps: dict[Key, Step] = field(default_factory=dict)
    waiting: list[Key] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def _plan(known: Known, found: Examined) -> _Plan:
    plan = _Plan()
    wanted = {pair.key: pair for pair in found.wanted}
    unreadable = {entry.path.name for entry in known.entries if entry.agreement is None}
    newer = 0
    for pair in found.file.pairs:
        entry = known.by_key.get(pair.key)
        old = entry.agreement if entry else None
        if old and pair.says_the_same(wanted[pair.key]):
            continue
        if old and when(old.learned_at) > when(pair.learned_at):
            newer += 1
            continue
        name = (pair.agreement_file or file_name(*pair.key)).rpartition("/")[2]
        new = _agreement(pair, old)
        if new is None or (old is None and name in unreadable):
            plan.waiting.append(pair.key)
        else:
            plan.agreements[pair.key] = new
            plan.steps[pair.key] = "update_agreement" if old else "write_agreement"
    if newer:
        plan.notes.append(
            f"{counted(newer, 'agreement')} learned again since the file was written "
            "stay as they are."
        )
    if alone := known.by_key.keys() - {pair.key for pair in found.file.pairs}:
        plan.notes.append(
            f"{counted(len(alone), 'agreement')} without a pair stay. "
            "To delete one, delete its file."
        )
    return plan


def _agreement(pair: Pair, old: Agreement | None) -> Agreement | None:
    """Return the agreement that a pair says; None if no file can hold it."""
    new = pairs.to_agreement(pair, old)
    agreement = canonical(new if old else replace(new, confirmed=False))
    try:
        agreements.rendered(agreement)
    except StorageError:
        return None
    return agreement


def _notes(note: str) -> tuple[str, ...]:
    return (note,) if note else ()
