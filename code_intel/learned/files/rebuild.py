"""Take hand edits of learned_pairs.json into the agreements, or generate the file again.

Both happen only on a person's request (docs/decisions/0050). Nothing is lost: an edited file that
is replaced is kept beside the new one, and an agreement that is updated leaves a copy in the trash.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from code_intel.chunking.agreement import canonical, file_name
from code_intel.config import Settings
from code_intel.errors import StorageError, UsageError
from code_intel.foundation.text import counted
from code_intel.learned.files import agreements, generated, merge_agreements, pairs, trash
from code_intel.learned.files.agreements import AgreementFolder, Key
from code_intel.learned.files.changes import MapChange, changing
from code_intel.learned.files.generated import NOTES, PairsComparison
from code_intel.learned.files.merge_agreements import when
from code_intel.learned.files.pairs import Pair
from code_intel.records import Agreement

Source = Literal["agreements", "pairs"]
Step = generated.Step | Literal["write_agreement", "update_agreement"]


@dataclass(frozen=True, slots=True)
class RebuildReport:
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
) -> RebuildReport:
    """Generate learned_pairs.json from the agreements, or take what it says into the agreements.

    Args:
        settings: The project.
        source: What is right.
        now: The time.
        dry: Whether to only return what would be done.

    Raises:
        UsageError: That side is empty or damaged, and the other one is not.
        StorageError: A newer version wrote learned_pairs.json, a file cannot be read, or the disk
            refused.
        BusyError: Another process is writing for too long.
    """
    with changing(settings, now or datetime.now(UTC), dry=dry) as change:
        known = change.known()
        found = generated.examine(settings, known, change.state.generated())
        if found.condition == "newer":
            raise StorageError(NOTES["newer"], hint="Use the newer code-intel.")
        work = _from_agreements if source == "agreements" else _from_pairs
        return work(change, known, found)


def _from_agreements(
    change: MapChange, known: AgreementFolder, found: PairsComparison
) -> RebuildReport:
    if found.file.pairs and not known.by_key:
        raise UsageError(
            f"There are no agreements, "
            f"and {counted(len(found.file.pairs), 'pair')} in {pairs.PAIRS_FILE}.",
            hint="Import them with `code-intel map rebuild --from pairs`.",
            details={"field": "from"},
        )
    note = "" if change.dry else change.generate(known, replace_edits=True)
    return RebuildReport(found.steps, len(found.wanted) - len(found.steps), notes=_notes(note))


def _from_pairs(change: MapChange, known: AgreementFolder, found: PairsComparison) -> RebuildReport:
    if not found.file.exists or found.file.damage:
        raise UsageError(
            f"{pairs.PAIRS_FILE} cannot be imported: {found.file.damage or 'It does not exist.'}",
            hint="Correct it, or generate it with `code-intel map rebuild`.",
            details={"field": "from"},
        )
    new, rebuilt = _plan(known, found)
    if change.dry:
        return rebuilt
    for key, agreement in new.items():
        entry = known.by_key.get(key)
        if entry and entry.agreement and merge_agreements.adds(entry.agreement, agreement):
            trash.copy(change.settings, entry.path, now=change.now)
    agreements.write_all(change.settings.agreements, new.values(), known)
    note = change.generate(replace_edits=True)
    return replace(rebuilt, notes=(*rebuilt.notes, *_notes(note)))


def _plan(
    known: AgreementFolder, found: PairsComparison
) -> tuple[dict[Key, Agreement], RebuildReport]:
    """Return the agreements to write, and what taking the pairs in would do."""
    chosen: dict[Key, Agreement] = {}
    steps: dict[Key, Step] = {}
    waiting: list[Key] = []
    notes: list[str] = []
    newer = 0
    wanted = {pair.key: pair for pair in found.wanted}
    unreadable = {entry.path.name for entry in known.entries if entry.agreement is None}
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
            waiting.append(pair.key)
        else:
            chosen[pair.key] = new
            steps[pair.key] = "update_agreement" if old else "write_agreement"
    if newer:
        notes.append(
            f"{counted(newer, 'agreement')} learned again since the file was written "
            "stay as they are."
        )
    if alone := known.by_key.keys() - {pair.key for pair in found.file.pairs}:
        notes.append(
            f"{counted(len(alone), 'agreement')} without a pair stay. "
            "To delete one, delete its file."
        )
    kept = len(known.by_key) - len(chosen.keys() & known.by_key.keys())
    return chosen, RebuildReport(steps, kept, tuple(waiting), tuple(notes))


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
