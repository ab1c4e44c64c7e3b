"""Import hand edits of learned_pairs.json into the agreements, or generate the file again.

Both happen only on a person's request (docs/decisions/0050). Nothing is lost: an edited file is
renamed before it is replaced, and an agreement is copied to the trash before it loses any content.
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
    """The changes that a rebuild made, or would make.

    Attributes:
        steps: The changes, by key.
        kept: The number of pairs or agreements that did not change.
        waiting: Pairs that were not imported, because the file of their agreement cannot be read
            or written.
        notes: Sentences for people.
    """

    steps: Mapping[Key, Step]
    kept: int = 0
    waiting: tuple[Key, ...] = ()
    notes: tuple[str, ...] = ()


def rebuild(
    settings: Settings, source: Source, *, now: datetime | None = None, dry: bool = False
) -> RebuildReport:
    """Generate learned_pairs.json from the agreements, or import its pairs into the agreements.

    Args:
        settings: The project.
        source: The side to copy from.
        now: The current time.
        dry: Whether to return the changes without making them.

    Raises:
        UsageError: There are pairs but no agreements to generate them from, or learned_pairs.json
            is missing or damaged.
        StorageError: A newer version wrote learned_pairs.json, a file cannot be read, or a file
            could not be written.
        BusyError: Another process holds the lock for too long.
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
            "There are no agreements, "
            f"but {counted(len(found.file.pairs), 'pair')} in {pairs.PAIRS_FILE}.",
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
        if entry and entry.agreement and merge_agreements.claims_more(entry.agreement, agreement):
            trash.copy(change.settings, entry.path, now=change.now)
    agreements.write_all(change.settings.agreements, new.values(), known, change.settings.language)
    note = change.generate(replace_edits=True)
    return replace(rebuilt, notes=(*rebuilt.notes, *_notes(note)))


def _plan(
    known: AgreementFolder, found: PairsComparison
) -> tuple[dict[Key, Agreement], RebuildReport]:
    """Return the agreements to write, and the report of importing the pairs."""
    chosen: dict[Key, Agreement] = {}
    steps: dict[Key, Step] = {}
    waiting: list[Key] = []
    notes: list[str] = []
    newer = 0
    wanted = {pair.key: pair for pair in found.wanted}
    unreadable = {
        entry.path.name for entry in known.entries if not (entry.agreement or entry.is_empty)
    }
    for pair in found.file.pairs:
        entry = known.by_key.get(pair.key)
        old = entry.agreement if entry else None
        if old and pair.has_same_content(wanted[pair.key]):
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
            f"{counted(newer, 'agreement')} not changed: learned again since the file was written."
        )
    if without_pair := known.by_key.keys() - {pair.key for pair in found.file.pairs}:
        notes.append(
            f"{counted(len(without_pair), 'agreement')} without a pair kept. "
            "To delete one, delete its file."
        )
    kept = len(known.by_key) - len(chosen.keys() & known.by_key.keys())
    return chosen, RebuildReport(steps, kept, tuple(waiting), tuple(notes))


def _agreement(pair: Pair, old: Agreement | None) -> Agreement | None:
    """Return the agreement for a pair; None if it cannot be written to a file."""
    new = pairs.to_agreement(pair, old)
    agreement = canonical(new if old else replace(new, confirmed=False))
    try:
        agreements.rendered(agreement)
    except StorageError:
        return None
    return agreement


def _notes(note: str) -> tuple[str, ...]:
    return (note,) if note else ()
