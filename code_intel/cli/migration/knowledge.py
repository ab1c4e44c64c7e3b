"""What was learned: agreements from pairs, and the pairs in version 2 (seed 004 §6.1, step 3).

An agreement that is there already stays as it is, and its pair is written after it. Once there is a
`.code-intel/state.db`, learned_pairs.json is generated from the agreements, and is left alone here.
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
"""Items that a report names."""
MAX_TERM_CHARS = 60
"""Characters of a term or symbol that a report shows."""
TAKEN_IN = "`code-intel map rebuild --from pairs` imports pairs that are not agreements yet"
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Knowledge:
    """The changes of learned_pairs.json and the agreements made from it, with notes."""

    agreements: tuple[FileChange, ...] = ()
    pairs: tuple[FileChange, ...] = ()
    found: tuple[Note, ...] = ()
    left: tuple[Note, ...] = ()
    problems: tuple[Note, ...] = ()


def knowledge(root: Path, folder: Path) -> Knowledge:
    """Return the changes for the pairs of a project whose agreements are in `folder`.

    Raises:
        StorageError: A file or folder cannot be read.
    """
    path = root / STATE_FOLDER / pairs.PAIRS_FILE
    before = current(path)
    if before is None:
        return Knowledge()
    if (root / STATE_FOLDER / "state.db").exists():
        return Knowledge(left=(Note(PAIRS_PATH, TAKEN_IN),))
    file = pairs.parse(before.removeprefix(_BOM))
    if file.is_newer:
        note = Note(PAIRS_PATH, f"version {file.version} is newer than this program; left alone")
        return Knowledge(found=(note,), left=(note,))
    if file.damage:
        note = Note(
            PAIRS_PATH,
            f"{file.damage} Correct it and run this again",
        )
        return Knowledge(found=(note,), problems=(note,))
    return _migrated(path, before, file, folder)


def _migrated(path: Path, before: bytes, file: PairsFile, folder: Path) -> Knowledge:
    known = agreements.look(folder).by_key
    done = [
        _migrate_pair(folder, known.get(pair.key), pair, agreement)
        for pair, agreement in _with_agreements(before, file)
    ]
    new = replace(
        file,
        pairs=tuple(one.pair for one in done),
        version=pairs.PAIRS_VERSION,
        updated_at=_aware(file.updated_at),
    )
    after = before if new == file and not before.startswith(_BOM) else pairs.dump(new)
    why = f"version {pairs.PAIRS_VERSION}, with the agreement of each pair"
    kept = sum(not one.change and not one.problem for one in done)
    stay = (Note(PAIRS_PATH, f"existing agreements that stay as they are: {kept}"),)
    problems = [one.problem for one in done if one.problem]
    if file.strange:
        problems.append(_strange(before, file))
    return Knowledge(
        agreements=tuple(one.change for one in done if one.change),
        pairs=(FileChange(path, before, after, why),),
        found=(Note(PAIRS_PATH, f"version {file.version}, {counted(len(done), 'pair')}"),),
        left=stay if kept else (),
        problems=tuple(Note(PAIRS_PATH, problem) for problem in problems),
    )


def _strange(before: bytes, file: PairsFile) -> str:
    """Return a sentence about items of the list that are not pairs."""
    items = json.loads(before.decode("utf-8-sig"))["pairs"]
    where = [str(n) for n, item in enumerate(items, 1) if item in file.strange]
    some = ", ".join(where[:MAX_ITEMS_NAMED]) + (", …" if len(where) > MAX_ITEMS_NAMED else "")
    return f"{counted(len(where), 'item')} (number {some}) not valid as a pair, kept as before"


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
    """Yield each pair with an agreement that unites all pairs of its key."""
    doubles = _doubles(before, file)
    for pair in file.pairs:
        same = doubles.get(pair.key, ())
        extra = {key: value for one in (*same, pair) for key, value in one.extra}
        each = [canonical(pairs.to_agreement(one)) for one in (pair, *same)]
        yield replace(pair, extra=tuple(extra.items())), merge_agreements.unite(each)


def _doubles(before: bytes, file: PairsFile) -> dict[Key, list[Pair]]:
    """Return pairs whose key occurs several times; `PairsFile` has only the newest of each."""
    items = json.loads(before.decode("utf-8-sig")).get("pairs", [])
    if len(items) == len(file.pairs) + len(file.strange):
        return {}
    found: dict[Key, list[Pair]] = {}
    for item in items:
        for pair in pairs.parse(json.dumps({"pairs": [item]}).encode()).pairs:
            found.setdefault(pair.key, []).append(pair)
    return found


def _aware(time: str) -> str:
    return (
        merge_agreements.when(time).isoformat() if time and merge_agreements.is_time(time) else time
    )
