"""Compute the status of a note from current facts, by its kind (docs/decisions/0083).

A convention and a warning are checked against the symbols and files that they name. A decision is
superseded by another decision, and does not expire.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from code_intel.errors import CodeIntelError
from code_intel.index.facade import Index
from code_intel.learned.notes.entries import NoteEntry, is_named
from code_intel.learned.notes.scope import globs
from code_intel.learned.status.snapshot import Snapshot
from code_intel.learned.status.validity import Trust
from code_intel.records import Note, Validity

NOT_YET = frozenset({"proposed", "draft"})
"""Statuses of a decision before it is agreed on."""
SERVED_NOTES: frozenset[Validity] = frozenset({"valid", "changed", "unchecked", "unconfirmed"})
"""The statuses of notes that searches return; others are only listed."""


@dataclass(frozen=True, slots=True)
class NoteStatus:
    """A note with its current status.

    Attributes:
        entry: The note and its file.
        validity: The status.
        reasons: The reasons for the status.
        confirmed: Whether its content was confirmed on this machine or merged in git.
    """

    entry: NoteEntry
    validity: Validity
    reasons: tuple[str, ...]
    confirmed: bool

    @property
    def note(self) -> Note:
        """The note."""
        return self.entry.note


@dataclass(frozen=True, slots=True)
class _Facts:
    """What is known about a note.

    Attributes:
        note: The note.
        successor: The title of the decision that supersedes it, or empty.
        complete: Whether the index covers every file.
        missing: The names of it that the project does not have.
        named: The number of its symbols and globs.
        confirmed: Whether it is confirmed.
    """

    note: Note
    successor: str
    complete: bool
    missing: tuple[str, ...]
    named: int
    confirmed: bool


def note_statuses(
    forest: Index, found: Snapshot, notes: Iterable[NoteEntry] | None = None
) -> list[NoteStatus]:
    """Judge notes of a snapshot, all by default; return them by path.

    Args:
        forest: The index of the project's source.
        found: A snapshot of the map.
        notes: The notes to judge.
    """
    chosen = list(found.notes if notes is None else notes)
    if not chosen:
        return []
    complete = forest.freshness().state in {"fresh", "stale"}
    known = _KnownNames(forest) if complete else None
    found_statuses = [_judge(entry, found.notes, found.trust, known) for entry in chosen]
    return sorted(found_statuses, key=lambda status: status.entry.path)


def is_confirmed_note(entry: NoteEntry, trust: Trust) -> bool:
    """Return whether a note's content was confirmed on this machine, or merged in git.

    A note without the key `confirmed` was written by people: merging it confirms it.
    """
    if entry.digest in trust.here:
        return True
    says_no = entry.note.confirmed is False or entry.note.status in NOT_YET
    return not says_no and not entry.git_ids.isdisjoint(trust.merged)


class _KnownNames:
    """The symbols and files of the project, looked up when needed."""

    def __init__(self, forest: Index) -> None:
        self._forest = forest
        self._paths: Sequence[str] | None = None

    def has_symbol(self, symbol: str) -> bool:
        return bool(self._forest.store.definitions(symbol, exact=True, limit=1))

    def has_file(self, pattern: str) -> bool:
        if self._paths is None:
            self._paths = [document.path for document in self._forest.store.documents()]
        return any(map(globs((pattern,)).match_file, self._paths))


def _judge(
    entry: NoteEntry, everything: Iterable[NoteEntry], trust: Trust, known: _KnownNames | None
) -> NoteStatus:
    note = entry.note
    confirmed = is_confirmed_note(entry, trust)
    missing, complete = _missing(note, known)
    facts = _Facts(
        note=note,
        successor=_successor(entry, everything) if note.kind == "decision" else "",
        complete=complete,
        missing=missing,
        named=len(note.symbols) + len(note.files),
        confirmed=confirmed,
    )
    rules = [(validity, reason) for validity, rule in _RULES if (reason := rule(facts))]
    validity: Validity = rules[0][0] if rules else "valid"
    return NoteStatus(entry, validity, tuple(reason for _, reason in rules), confirmed)


def _missing(note: Note, known: _KnownNames | None) -> tuple[tuple[str, ...], bool]:
    """Return the names that the project does not have, and whether they could be looked up."""
    if not note.symbols and not note.files:
        return (), True
    if known is None:
        return (), False
    try:
        symbols = [name for name in note.symbols if not known.has_symbol(name)]
        files = [pattern for pattern in note.files if not known.has_file(pattern)]
    except CodeIntelError:
        return (), False
    return (*symbols, *files), True


def _successor(entry: NoteEntry, everything: Iterable[NoteEntry]) -> str:
    for other in everything:
        names = other.note.supersedes if other.path != entry.path else ()
        if any(is_named(entry, name) for name in names) and other.note.status not in NOT_YET:
            return other.note.title
    return ""


def _superseded(facts: _Facts) -> str:
    if facts.successor:
        return f"Superseded by “{facts.successor}”."
    return "Its author marked it as superseded." if facts.note.status == "superseded" else ""


def _rejected(facts: _Facts) -> str:
    return "Its author marked it as rejected." if facts.note.status == "rejected" else ""


def _broken(facts: _Facts) -> str:
    gone = facts.named and len(facts.missing) == facts.named
    if not gone or facts.note.kind == "decision":
        return ""
    return f"Nothing that it names exists any more: {', '.join(facts.missing)}."


def _changed(facts: _Facts) -> str:
    if not facts.missing or _broken(facts):
        return ""
    return f"Not in the project any more: {', '.join(facts.missing)}."


def _unconfirmed(facts: _Facts) -> str:
    if facts.confirmed:
        return ""
    if facts.note.status in NOT_YET:
        return f"Its status is {facts.note.status}."
    return "Not confirmed, here or on the main branch."


def _unchecked(facts: _Facts) -> str:
    return (
        ""
        if facts.complete
        else "Not checked: the index of the source is incomplete. "
        "Run `code-intel sync --words-only`."
    )


_RULES: tuple[tuple[Validity, Callable[[_Facts], str]], ...] = (
    ("superseded", _superseded),
    ("rejected", _rejected),
    ("broken", _broken),
    ("changed", _changed),
    ("unconfirmed", _unconfirmed),
    ("unchecked", _unchecked),
)
"""The first rule that applies determines the status; all that apply add their reasons."""
