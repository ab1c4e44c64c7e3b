"""The entries of the map, agreements and notes, as rows of its list."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path

from code_intel.chunking.agreement_body import encodable
from code_intel.errors import NotFoundError
from code_intel.learned.notes.note_status import NoteStatus
from code_intel.learned.recall.candidates import document_of
from code_intel.learned.recall.recall import fold
from code_intel.learned.status.agreement_status import AgreementStatus
from code_intel.learned.status.review import (
    Reason,
    entry_of_agreement,
    entry_of_note,
    reasons_of,
)
from code_intel.records import Agreement, Note
from code_intel.tools.context.gateway import GatewayContext
from code_intel.ui.language import N_
from code_intel.ui.references import named

KINDS = (N_("agreement"), N_("convention"), N_("decision"), N_("warning"))


@dataclass(frozen=True)
class MapEntry:
    """An agreement or a note with its status, as a row of the list.

    Attributes:
        kind: One of `KINDS`.
        file: The name of its file in the map's index, which links use.
        path: The file.
        name: The term of an agreement, or the title of a note; the file's name if it is unreadable.
        symbol: The symbol as it is called now; empty for a note.
        status: The status in lists.
        reasons: Why it has that status.
        since: When it was learned, or when the file was last changed if it names no date.
        files: The files that it names.
        waits_for: Why it waits for a person.
        source: What it was made from.
    """

    kind: str
    file: str
    path: Path
    name: str
    symbol: str
    status: str
    reasons: tuple[str, ...]
    since: datetime
    files: tuple[str, ...]
    waits_for: tuple[Reason, ...]
    source: AgreementStatus | NoteStatus

    @property
    def agreement(self) -> Agreement | None:
        """The agreement, if it is one and its file can be read."""
        return self.source.entry.agreement if isinstance(self.source, AgreementStatus) else None

    @property
    def note(self) -> Note | None:
        """The note, if it is one."""
        return self.source.note if isinstance(self.source, NoteStatus) else None

    @property
    def paths(self) -> tuple[Path, ...]:
        """All files of it; an agreement may have several after a merge in git."""
        others = self.source.entry.other_paths if isinstance(self.source, AgreementStatus) else ()
        return (self.path, *others)

    @cached_property
    def words(self) -> str:
        """Everything that it says, folded, for a search by word."""
        agreement, note = self.agreement, self.note
        said: tuple[str, ...] = (self.name, self.symbol, self.file)
        if agreement:
            said += (agreement.symbol, *agreement.aliases, *agreement.evidence)
        if note:
            said += (note.text, note.context, note.consequences, *note.symbols, *note.evidence)
        return fold("\n".join(said))


@dataclass(frozen=True)
class MapEntries:
    """The entries of a map.

    Attributes:
        rows: All entries, by path.
        by_file: The entries by `MapEntry.file`.
        waiting: How many entries wait for a person, by reason.
    """

    rows: tuple[MapEntry, ...] = ()
    by_file: Mapping[str, MapEntry] = field(default_factory=dict)
    waiting: Mapping[Reason, int] = field(default_factory=dict)

    def named(self, file: str) -> MapEntry:
        """Return the entry with a file name, as `MapEntry.file`, or with the `reference` of one.

        Raises:
            NotFoundError: It does not exist.
        """
        found = self.by_file.get(file) or self.by_file.get(named(file, self.by_file))
        if found is None:
            raise NotFoundError(
                "The map has no file of this name.",
                hint="It may have been renamed or deleted. Look for it in the list or the trash.",
                details={"field": "file"},
            )
        return found


def row_of_agreement(context: GatewayContext, status: AgreementStatus) -> MapEntry:
    """Return an agreement as a row."""
    said, agreement = entry_of_agreement(status), status.entry.agreement
    path = status.entry.path
    return MapEntry(
        kind="agreement",
        file=encodable(document_of(context.map, path)),
        path=path,
        name=agreement.nl_term if agreement else encodable(path.name),
        symbol=status.symbol,
        status=status.listed_status,
        reasons=status.reasons,
        since=said.since,
        files=said.files,
        waits_for=reasons_of(said),
        source=status,
    )


def row_of_note(context: GatewayContext, status: NoteStatus) -> MapEntry:
    """Return a note as a row."""
    said, note = entry_of_note(status), status.note
    return MapEntry(
        kind=note.kind,
        file=encodable(document_of(context.map, status.entry.path)),
        path=status.entry.path,
        name=note.title,
        symbol="",
        status=status.validity,
        reasons=status.reasons,
        since=said.since,
        files=note.files,
        # A decision that its author has marked as superseded waits for no one.
        waits_for=() if note.status == "superseded" else reasons_of(said),
        source=status,
    )
