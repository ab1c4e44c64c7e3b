"""Generate learned_pairs.json from the agreements, and detect when it was edited by hand.

The agreements are the source of truth (docs/decisions/0050). The state store contains the digests
of the contents that this program wrote. A file with another digest, whose content differs from the
agreements, was edited. Only `code-intel map rebuild` replaces or imports the edits.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple

from code_intel.chunking.agreement import file_name
from code_intel.config import Settings
from code_intel.errors import BusyError, StorageError
from code_intel.foundation import durable
from code_intel.learned.files import agreements, pairs
from code_intel.learned.files.agreements import AgreementFolder, Key
from code_intel.learned.files.merge_agreements import when
from code_intel.learned.files.pairs import Pair, PairsFile
from code_intel.learned.files.trunk import is_as_committed
from code_intel.learned.history.state import State, open_state

Step = Literal["write_pair", "replace_pair", "remove_pair"]
Condition = Literal["missing", "generated", "edited", "damaged", "newer"]

NOTES: Mapping[Condition, str] = MappingProxyType(
    {
        "edited": f"{pairs.PAIRS_FILE} was edited by hand and was not changed. "
        "Run `code-intel map rebuild "
        "--from pairs` to import the edits, or `code-intel map rebuild` to replace them.",
        "damaged": f"{pairs.PAIRS_FILE} is damaged. "
        "Run `code-intel map sync` to set it aside and generate it again.",
        "newer": f"{pairs.PAIRS_FILE} was written by a newer version of code-intel "
        "and was not changed.",
    }
)
"""The note for each condition that people should know about."""


class PairsComparison(NamedTuple):
    """A comparison of learned_pairs.json with the agreements.

    Attributes:
        condition: The condition of the file.
        file: The content of the file.
        wanted: The pairs that the file should contain.
    """

    condition: Condition
    file: PairsFile
    wanted: tuple[Pair, ...]

    @property
    def steps(self) -> dict[Key, Step]:
        """Return the changes that generating the file would make, by key."""
        old = {pair.key: pair for pair in self.file.pairs}
        new = {pair.key: pair for pair in self.wanted}
        steps: dict[Key, Step] = {key: "remove_pair" for key in old if key not in new}
        for key, pair in new.items():
            if key not in old:
                steps[key] = "write_pair"
            elif pair != old[key]:
                steps[key] = "replace_pair"
        return steps


class PairsUpdate(NamedTuple):
    """The changes that generating the file made, by key, and a note for people."""

    steps: Mapping[Key, Step]
    note: str = ""


def notice(settings: Settings) -> str:
    """Return a note for people about learned_pairs.json; empty if the file is in order.

    Write nothing; return a storage error as the note.
    """
    path = pairs.path_of(settings)
    if not path.exists():
        return ""
    try:
        with open_state(settings.state, create=False) as state:
            digests = state.generated()
        if pairs.load(path, digests).digest in digests:
            return ""
        known = agreements.look(settings.agreements)
        return NOTES.get(examine(settings, known, digests).condition, "")
    except (StorageError, BusyError) as error:
        return error.message


def examine(
    settings: Settings,
    known: AgreementFolder,
    digests: frozenset[str],
    new: Mapping[Key, Pair] = MappingProxyType({}),
) -> PairsComparison:
    """Compare learned_pairs.json with the agreements.

    Args:
        settings: The project.
        known: The project's agreements.
        digests: The digests of the contents that this program wrote.
        new: Pairs of agreements that are about to be written.

    Raises:
        StorageError: The file exists but cannot be read.
    """
    file = pairs.load(pairs.path_of(settings), digests)
    folder = settings.agreements
    condition: Condition = "edited"
    if not file.exists:
        condition = "missing"
    elif file.is_newer:
        condition = "newer"
    elif file.damage:
        condition = "damaged"
    elif (
        file.digest in digests
        or _is_equal(file, _wanted(folder, known, file, {}))
        or is_as_committed(settings, pairs.PAIRS_FILE)  # git checked it out
    ):
        condition = "generated"
    return PairsComparison(condition, file, _wanted(folder, known, file, new))


def generate(
    settings: Settings,
    state: State,
    known: AgreementFolder,
    *,
    now: datetime,
    new: Mapping[Key, Pair] = MappingProxyType({}),
    replace_edits: bool = False,
) -> PairsUpdate:
    """Write learned_pairs.json from the agreements. The caller holds `changes.lock_path`.

    A damaged file is first moved to `learned_pairs.json.corrupt-<time>`. An edited file is not
    changed by default.

    Args:
        settings: The project.
        state: The project's state store.
        known: The project's agreements.
        now: The current time.
        new: Pairs of agreements that are about to be written.
        replace_edits: Whether to move an edited file to `learned_pairs.json.edited-<time>` and
            generate it again.

    Raises:
        StorageError: The file cannot be read or could not be written.
    """
    path, digests = pairs.path_of(settings), state.generated()
    found = examine(settings, known, digests, new)
    condition, file = found.condition, found.file
    if condition == "newer" or (condition == "edited" and not replace_edits):
        return PairsUpdate({}, NOTES[condition])
    if condition == "missing" and not found.wanted:
        return PairsUpdate({})
    wanted = replace(
        file,
        pairs=found.wanted,
        exists=True,
        damage="",
        version=pairs.PAIRS_VERSION,
        embedding_model=pairs.model_name(settings.map.model),
    )
    note = ""
    if condition in {"damaged", "edited"}:
        aside = pairs.set_aside(path, now, "corrupt" if condition == "damaged" else "edited")
        note = (
            f"{pairs.PAIRS_FILE} was {condition}. It was moved to {aside.name} and generated again."
        )
    elif wanted == file and file.digest in digests:
        return PairsUpdate({})
    elif wanted == file and _digest(pairs.dump(file)) == file.digest:
        state.remember_generated(file.digest)
        return PairsUpdate({})
    data = pairs.dump(replace(wanted, updated_at=now.isoformat()))
    state.remember_generated(_digest(data))
    durable.replace(path, data)
    return PairsUpdate(found.steps, note)


def _wanted(
    folder: Path, known: AgreementFolder, file: PairsFile, new: Mapping[Key, Pair]
) -> tuple[Pair, ...]:
    """Return the pairs of all agreements: those of the file in its order, then others by time.

    The pair of an unreadable agreement file is kept.
    """
    old = {pair.key: pair for pair in file.pairs}
    unreadable = {
        agreements.relative(folder, entry.path)
        for entry in known.entries
        if entry.agreement is None
    }
    found = {
        key: pair
        for key, pair in old.items()
        if (pair.agreement_file or file_name(*key)) in unreadable
    }
    for key, entry in known.by_key.items():
        if entry.agreement:
            extra = dict(old[key].extra) if key in old else {}
            name = agreements.relative(folder, entry.path)
            found[key] = pairs.of_agreement(entry.agreement, name, extra)
    for key, pair in new.items():
        found[key] = replace(pair, extra=old[key].extra) if key in old else pair
    added = sorted(found.keys() - old.keys(), key=lambda key: (when(found[key].learned_at), key))
    return tuple(found[key] for key in [*(key for key in old if key in found), *added])


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _is_equal(file: PairsFile, wanted: tuple[Pair, ...]) -> bool:
    """Return whether the pairs of a file are exactly those of the agreements."""
    present = {pair.key: pair for pair in file.pairs}
    return present.keys() == {pair.key for pair in wanted} and all(
        present[pair.key].has_same_content(pair) for pair in wanted
    )
