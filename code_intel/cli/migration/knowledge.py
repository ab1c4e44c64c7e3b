"""Plan the migration of learned pairs: agreements, and pairs in version 2 (seed 004 §6.1, step 3).

An existing agreement is not changed; its pair takes over its values. If `.code-intel/state.db`
exists, learned_pairs.json is generated from the agreements and is not changed.
"""

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from code_intel.chunking.agreement import canonical, file_name
from code_intel.cli.migration.notes import Note
from code_intel.cli.setup.changes import FileChange, current
from code_intel.config import STATE_FOLDER
from code_intel.errors import StorageError
from code_intel.foundation.text import counted
from code_intel.learned.files import agreements, merge_agreements, pairs
from code_intel.learned.files.agreements import AgreementEntry, Key
from code_intel.learned.files.pairs import Pair, PairsFile
from code_intel.records import Agreement

PAIRS_PATH = f"{STATE_FOLDER}/{pairs.PAIRS_FILE}"
MAX_ITEMS_NAMED = 5
"""Maximum number of items that a note names."""
MAX_TERM_CHARS = 60
"""Characters of a term or symbol that a note shows."""
IMPORT_NOTE = "`code-intel map rebuild --from pairs` imports pairs that are not agreements yet"
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Knowledge:
    """The change of learned_pairs.json, the agreements created from it, and notes."""

    agreements: tuple[FileChange, ...] = ()
    pairs: tuple[FileChange, ...] = ()
    found: tuple[Note, ...] = ()
    left: tuple[Note, ...] = ()
    problems: tuple[Note, ...] = ()


def knowledge(root: Path, folder: Path) -> Knowledge:
    """Return the changes for a project's pairs; its agreements are in `folder`.

    Raises:
        StorageError: A file or folder cannot be read.
    """
    path = root / STATE_FOLDER / pairs.PAIRS_FILE
    before = current(path)
    if before is None:
        return Knowledge()
    if (root / STATE_FOLDER / "state.db").exists():
        return Knowledge(left=(Note(PAIRS_PATH, IMPORT_NOTE),))
    file = pairs.parse(before.removeprefix(_BOM))
    if file.is_newer:
        note = Note(PAIRS_PATH, f"version {file.version} is newer than this program; not migrated")
        return Knowledge(found=(note,), left=(note,))
    if file.damage:
        note = Note(PAIRS_PATH, f"{file.damage} Correct it, then run this command again")
        return Knowledge(found=(note,), problems=(note,))
    return _migrate_pairs(path, before, file, folder)


def _migrate_pairs(path: Path, before: bytes, file: PairsFile, folder: Path) -> Knowledge:
    known = agreements.look(folder).by_key
    results = [
        _migrate_pair(folder, known.get(pair.key), pair, agreement)
        for pair, agreement in _with_agreements(before, file)
    ]
    new = replace(
        file,
        pairs=tuple(one.pair for one in results),
        version=pairs.PAIRS_VERSION,
        updated_at=_with_offset(file.updated_at),
    )
    after = before if new == file and not before.startswith(_BOM) else pairs.dump(new)
    why = f"version {pairs.PAIRS_VERSION}, with the agreement of each pair"
    kept = sum(not one.change and not one.problem for one in results)
    kept_note = (Note(PAIRS_PATH, f"existing agreements, not changed: {kept}"),)
    problems = [one.problem for one in results if one.problem]
    if file.other_items:
        problems.append(_invalid_items_note(before, file))
    return Knowledge(
        agreements=tuple(one.change for one in results if one.change),
        pairs=(FileChange(path, before, after, why),),
        found=(Note(PAIRS_PATH, f"version {file.version}, {counted(len(results), 'pair')}"),),
        left=kept_note if kept else (),
        problems=tuple(Note(PAIRS_PATH, problem) for problem in problems),
    )


def _invalid_items_note(before: bytes, file: PairsFile) -> str:
    """Return a sentence about items of the list that are not pairs."""
    items = json.loads(before.decode("utf-8-sig"))["pairs"]
    where = [str(n) for n, item in enumerate(items, 1) if item in file.other_items]
    numbers = ", ".join(where[:MAX_ITEMS_NAMED]) + (", …" if len(where) > MAX_ITEMS_NAMED else "")
    return f"{counted(len(where), 'item')} (number {numbers}) not valid as a pair, kept unchanged"


class _MigratedPair(NamedTuple):
    """A migrated pair with its new agreement, or the reason why it has none."""

    pair: Pair
    change: FileChange | None = None
    problem: str = ""


def _migrate_pair(
    folder: Path, entry: AgreementEntry | None, pair: Pair, agreement: Agreement
) -> _MigratedPair:
    if entry and entry.agreement:
        name = entry.path.relative_to(folder).as_posix()
        return _MigratedPair(pairs.of_agreement(entry.agreement, name, dict(pair.extra)))
    path = folder / file_name(agreement.nl_term, agreement.symbol)
    shown = " → ".join(
        word if len(word) <= MAX_TERM_CHARS else f"{word[:MAX_TERM_CHARS]}…" for word in pair.key
    )
    if os.path.lexists(path):
        return _MigratedPair(pair, problem=f"{shown} gets no agreement: {path.name} exists already")
    try:
        data = agreements.rendered(agreement)
    except StorageError as error:
        return _MigratedPair(pair, problem=f"{shown} gets no agreement: {error.message}")
    new = pairs.of_agreement(agreement, path.name, dict(pair.extra))
    return _MigratedPair(new, FileChange(path, None, data, "an unconfirmed agreement"))


def _with_agreements(before: bytes, file: PairsFile) -> Iterable[tuple[Pair, Agreement]]:
    """Yield each pair with an agreement that merges all pairs with its key."""
    duplicates = _duplicates(before, file)
    for pair in file.pairs:
        others = duplicates.get(pair.key, ())
        extra = {key: value for one in (*others, pair) for key, value in one.extra}
        each = [canonical(pairs.to_agreement(one)) for one in (pair, *others)]
        yield replace(pair, extra=tuple(extra.items())), merge_agreements.merge(each)


def _duplicates(before: bytes, file: PairsFile) -> dict[Key, list[Pair]]:
    """Return the pairs of keys that occur several times; `file` has only the newest of each."""
    items = json.loads(before.decode("utf-8-sig")).get("pairs", [])
    if len(items) == len(file.pairs) + len(file.other_items):
        return {}
    found: dict[Key, list[Pair]] = {}
    for item in items:
        for pair in pairs.parse(json.dumps({"pairs": [item]}).encode()).pairs:
            found.setdefault(pair.key, []).append(pair)
    return found


def _with_offset(time: str) -> str:
    return (
        merge_agreements.when(time).isoformat() if time and merge_agreements.is_time(time) else time
    )
