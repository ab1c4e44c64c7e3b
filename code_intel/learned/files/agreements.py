"""Read and write the files of the agreements folder; notes in it are only read here.

An agreement is identified by the content of its file, not by the file name (docs/decisions/0007).
This module does not rename or delete files.
"""

import hashlib
import re
import stat
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Literal, NamedTuple

from code_intel.chunking.agreement import (
    AgreementProblem,
    canonical,
    file_name,
    notes_of,
    read,
    render,
)
from code_intel.chunking.agreement_body import encodable
from code_intel.chunking.decode import decode
from code_intel.chunking.notes import note as notes_format
from code_intel.errors import NotFoundError, StorageError
from code_intel.foundation.text import visible
from code_intel.index.safe_files import read_plain
from code_intel.learned.files.merge_agreements import merge, when
from code_intel.learned.files.stat_cache import FolderCache
from code_intel.learned.recording import MapFiles
from code_intel.records import Agreement, Language, Note

MAX_AGREEMENT_BYTES = 1024 * 1024

Key = tuple[str, str]
"""The term in NFC and the symbol, which identify an agreement and its pair."""

GIT_HASHES = ("sha1", "sha256")
ON_DISK = MapFiles()
"""Reads and writes files without recording anything."""
EMPTY = "It is empty. A machine that loses power can leave such a file."
"""The reason of a file without content. It is no agreement, so a new one may replace it."""
_BLANK = b"\0 \t\r\n"
"""Bytes that a disk can leave instead of a content that was never written."""

Problem = Literal["", "invalid", "conflict"]


@dataclass(frozen=True, slots=True)
class AgreementEntry:
    """An agreement in the folder, or a file that cannot be read as one.

    Attributes:
        path: The file.
        agreement: The agreement; None if the file cannot be read.
        digest: Hex SHA-256 of the content with LF line endings, because git may convert them. If
            several files were merged, it covers all of them.
        problem: Why the file cannot be read; empty if it can.
        reason: The problem as a sentence. For a readable file, a note such as the merged files.
        other_paths: Further files with the same key, which a git merge can leave behind.
        raw_digest: Hex SHA-256 of the file's bytes; empty if several files were merged.
        git_ids: For each file, the object ids that git may give its content.
        note: The note, if the file is one; then `agreement` is None.
        line: The line of the problem, counted from 1; 0 if unknown.
        field: The key of the front matter that is wrong; empty if unknown.
        key: The agreement's key; None if the file cannot be read.
    """

    path: Path
    agreement: Agreement | None
    digest: str
    problem: Problem = ""
    reason: str = ""
    other_paths: tuple[Path, ...] = ()
    raw_digest: str = ""
    git_ids: tuple[frozenset[str], ...] = ()
    note: Note | None = None
    line: int = 0
    field: str = ""
    key: Key | None = dataclass_field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compute the key once, because it is compared often."""
        object.__setattr__(self, "key", key_of(self.agreement) if self.agreement else None)

    @property
    def is_empty(self) -> bool:
        """Return whether the file has no content that a new agreement could overwrite."""
        return self.reason == EMPTY


def key_of(agreement: Agreement) -> Key:
    """Return the key of an agreement."""
    return make_key(agreement.nl_term, agreement.symbol)


@lru_cache(maxsize=1 << 15)
def make_key(nl_term: str, symbol: str) -> Key:
    """Return the key of a term and a symbol."""
    return unicodedata.normalize("NFC", encodable(nl_term)), encodable(symbol)


def load_all(folder: Path) -> list[AgreementEntry]:
    """Return all agreements below `folder`, by path; files with one key are merged into one entry.

    Raises:
        StorageError: The folder exists but cannot be listed.
    """
    return list(look(folder).entries)


class AgreementFolder(NamedTuple):
    """The agreements of a folder.

    Attributes:
        revision: A number that changes whenever an entry changes.
        entries: All entries except notes, by path.
        by_key: The readable entries.
        conflicts: The number of files with an unresolved merge conflict.
        notes: The entries of notes, by path.
    """

    revision: int
    entries: tuple[AgreementEntry, ...]
    by_key: Mapping[Key, AgreementEntry]
    conflicts: int = 0
    notes: tuple[AgreementEntry, ...] = ()


class AgreementCache:
    """The agreements of one folder; only changed files are read again. Not thread-safe."""

    def __init__(self) -> None:
        self._files = FolderCache(load)
        self.last = AgreementFolder(0, (), {})
        """The agreements as they were when `look` was called last."""

    def look(self, folder: Path) -> AgreementFolder:
        """Return the current agreements.

        Raises:
            StorageError: The folder exists but cannot be listed.
        """
        entries = self._files.look(folder)
        if self.last.revision != self._files.revision:
            self.last = _known(self._files.revision, entries)
        return self.last


def look(folder: Path) -> AgreementFolder:
    """Read the agreements of a folder. Servers use `AgreementCache`, which is faster.

    Raises:
        StorageError: The folder exists but cannot be listed.
    """
    return AgreementCache().look(folder)


def _known(revision: int, entries: tuple[AgreementEntry, ...]) -> AgreementFolder:
    notes = tuple(entry for entry in entries if entry.note)
    entries = tuple(entry for entry in entries if not entry.note) if notes else entries
    by_key = {entry.key: entry for entry in entries if entry.key}
    if len(by_key) == len(entries):  # the usual case: all are readable and no key occurs twice
        return AgreementFolder(revision, entries, by_key, notes=notes)
    same_key: dict[Key, list[AgreementEntry]] = {}
    for entry in entries:
        if entry.key:
            same_key.setdefault(entry.key, []).append(entry)
    merged = {key: _merge_entries(group) for key, group in same_key.items()}
    unreadable = [entry for entry in entries if entry.key is None]
    everything = tuple(sorted([*unreadable, *merged.values()], key=lambda entry: entry.path))
    return AgreementFolder(
        revision, everything, merged, sum(each.problem == "conflict" for each in unreadable), notes
    )


def load(path: Path, before: AgreementEntry | None = None) -> AgreementEntry:
    """Return the entry of a file; if the file cannot be read, the entry contains the problem.

    If the bytes have not changed since the earlier entry `before`, return that.
    """
    if encodable(path.name) != path.name:
        return AgreementEntry(path, None, "", "invalid", "Its name is not UTF-8 text. Rename it.")
    try:
        facts = path.lstat()
        if not stat.S_ISREG(facts.st_mode):
            return AgreementEntry(path, None, "", "invalid", "It is not a regular file.")
        if facts.st_size > MAX_AGREEMENT_BYTES:
            return AgreementEntry(path, None, "", "invalid", "It is larger than 1 MiB.")
        data = read_plain(path)
    except OSError as error:
        return AgreementEntry(
            path, None, "", "invalid", f"It cannot be read: {error.strerror or error}."
        )
    if before and before.raw_digest == hashlib.sha256(data).hexdigest():
        return before
    return parsed(path, data)


def parsed(path: Path, data: bytes) -> AgreementEntry:
    """Return the entry that a file has with this content."""
    return replace(_parse(data), path=path)


def with_planned(folder: Path, known: AgreementFolder, files: MapFiles) -> AgreementFolder:
    """Return the agreements as they are after the planned changes of a dry run."""
    planned = files.recording.files if files.dry and files.recording else {}
    if not planned:
        return known
    entries: list[AgreementEntry] = []
    for entry in (*known.entries, *known.notes):
        paths = (entry.path, *entry.other_paths)
        if planned.keys().isdisjoint(paths):
            entries.append(entry)
        else:
            entries += [load(path) for path in paths if path not in planned]
    entries += [
        parsed(path, each.after)
        for path, each in planned.items()
        if each.after is not None and path.is_relative_to(folder)
    ]
    return _known(known.revision, tuple(sorted(entries, key=lambda entry: entry.path)))


def find(folder: Path, key: Key) -> AgreementEntry | None:
    """Return the entry with this key, whatever its file is called."""
    return look(folder).by_key.get(key)


def existing(known: "AgreementFolder", key: Key) -> tuple[AgreementEntry, Agreement]:
    """Return the entry with this term and symbol, and its agreement.

    Raises:
        NotFoundError: There is no readable agreement with them.
    """
    entry = known.by_key.get(make_key(*key))
    if entry is None or entry.agreement is None:
        raise missing(*key, among=known.entries)
    return entry, entry.agreement


def missing(term: str, symbol: str = "", among: Iterable[AgreementEntry] = ()) -> NotFoundError:
    """Return the error for an agreement that does not exist, or is in an unreadable file."""
    unreadable = [visible(entry.path.name) for entry in among if entry.agreement is None]
    name = f"{term}{f' → {symbol}' if symbol else ''}"
    if not unreadable:
        hint = "`code-intel map list` lists the agreements."
        return NotFoundError(f"The agreement {name} does not exist.", hint=hint)
    likely = min(unreadable, key=lambda file: not file.startswith(term))
    return NotFoundError(
        f"There is no readable agreement {name}. "
        f"Unreadable files: {len(unreadable)}, such as {likely}.",
        hint="If one of these files contains it, correct the file first: "
        "`code-intel map check` says what is wrong.",
    )


def relative(folder: Path, path: Path) -> str:
    """Return a file's name relative to the agreements folder."""
    return path.as_posix().removeprefix(f"{folder.as_posix()}/")


class Draft(NamedTuple):
    """An agreement about to be written.

    Attributes:
        path: The file.
        data: The bytes to write; None if the file already has this content.
        digest: The `AgreementEntry.digest` after writing.
    """

    path: Path
    data: bytes | None
    digest: str


def draft(
    folder: Path,
    known: "AgreementFolder",
    agreement: Agreement,
    language: Language = "ja",
    files: MapFiles = ON_DISK,
) -> Draft:
    """Prepare to write an agreement to the file with its key, or else to a new file.

    Notes and unknown keys in the old file are kept.

    Raises:
        StorageError: The agreement is too large, or a file that is unreadable and not empty has the
            name of the new one.
    """
    agreement = canonical(agreement)
    entry = known.by_key.get(key_of(agreement))
    if entry is None or entry.agreement is None:
        data = _readable(agreement, language=language)
        return Draft(new_path(folder, agreement), data, digest_of(data))
    agreement = _with_old_keys(agreement, entry.agreement)
    if not entry.other_paths and canonical(entry.agreement) == agreement:
        return Draft(entry.path, None, entry.digest)
    old = files.read(entry.path)
    data = _readable(agreement, notes_in(old, language), language)
    digests = [digest_of(data), *(load(path).digest for path in entry.other_paths)]
    return Draft(entry.path, data if data != old else None, _digest_of_all(digests))


def write(folder: Path, agreement: Agreement) -> Path:
    """Write one agreement and return its path; see `write_all`."""
    return write_all(folder, [agreement])[0]


def write_all(
    folder: Path,
    agreements: Iterable[Agreement],
    known: AgreementFolder | None = None,
    language: Language = "ja",
    files: MapFiles = ON_DISK,
) -> list[Path]:
    """Write agreements to the files with their keys or to new files; return the paths in order.

    The caller holds `changes.lock_path`. All agreements are checked before the first is written. Of
    several agreements with one key, the last is written. A file that already has the content is not
    touched.

    Args:
        folder: The agreements folder.
        agreements: The agreements to write.
        known: The existing agreements, if the caller has just read them.
        language: The language of the headings.
        files: Writes the files.

    Raises:
        StorageError: A file could not be written, or an unreadable file has the name of a new one.
    """
    known = known or look(folder)
    drafts = [draft(folder, known, agreement, language, files) for agreement in agreements]
    changed = {each.path: each.data for each in drafts if each.data is not None}
    last_in_folder = {path.parent: path for path in changed}
    for path, data in changed.items():
        files.replace(path, data, flushed=path == last_in_folder[path.parent])
    return [each.path for each in drafts]


def rendered(agreement: Agreement) -> bytes:
    """Return the bytes of a new agreement file.

    Raises:
        StorageError: The file could not be read again, or would be too large.
    """
    return _readable(canonical(agreement))


def rewritten(
    path: Path, agreement: Agreement, language: Language = "ja", files: MapFiles = ON_DISK
) -> bytes:
    """Return the bytes of a file with its agreement replaced and its notes kept.

    Raises:
        StorageError: The file could not be read again, or would be too large.
    """
    return _readable(canonical(agreement), notes_in(files.read(path), language), language)


def new_path(folder: Path, agreement: Agreement) -> Path:
    """Return the path of a new agreement.

    If a file of that name exists with another term or symbol, add a number to the name.

    Raises:
        StorageError: An unreadable file has this name.
    """
    return free_path(folder / file_name(agreement.nl_term, agreement.symbol))


def free_path(first: Path) -> Path:
    """Return a path, with a number in its name if a readable file of the map has it.

    The path of an empty file is returned, too.

    Raises:
        StorageError: A file with this name is unreadable and not empty.
    """
    path = first
    for number in count(2):
        if not path.exists():
            break
        found = load(path)
        if found.is_empty:
            break
        if found.agreement is None and found.note is None:
            raise StorageError(
                f"{visible(str(path))} already exists and cannot be read as an agreement: "
                f"{found.reason}",
                hint="Resolve its merge conflict or correct it, then try again.",
            )
        path = first.with_name(f"{first.stem}-{number}.md")
    return path


def notes_in(data: bytes, language: Language = "ja") -> str:
    """Return the notes of a file in any encoding, with secrets masked; see `notes_of`."""
    return notes_of(decode(data) or "", language)


def _parse(data: bytes) -> AgreementEntry:
    """Return the entry for the bytes of a file; the caller sets its path.

    Secrets are not masked here, but where the entry is served or written again.
    """
    raw = hashlib.sha256(data).hexdigest()
    found = AgreementEntry(Path(), None, digest_of(data), raw_digest=raw, git_ids=(git_ids(data),))
    if not data.strip(_BLANK):
        return replace(found, problem="invalid", reason=EMPTY)
    text = decode(data)
    if text is None:
        conflict = re.search(rb"^<{7,} ", data, re.MULTILINE)
        reason = "It is not text in a known encoding. Save it as UTF-8."
        return replace(found, problem="conflict" if conflict else "invalid", reason=reason)
    try:
        if (kind := notes_format.kind_of(text)) and kind != "agreement":
            return replace(found, note=notes_format.read(text))
        return replace(found, agreement=read(text))
    except AgreementProblem as problem:
        return replace(
            found,
            problem=problem.kind,
            reason=problem.reason,
            line=problem.line,
            field=problem.field,
        )


def _merge_entries(entries: list[AgreementEntry]) -> AgreementEntry:
    if len(entries) == 1:
        return entries[0]
    known = [(entry, entry.agreement) for entry in entries if entry.agreement]
    known.sort(key=lambda pair: (when(pair[1].learned_at), pair[0].path.name), reverse=True)
    first, *others = (entry for entry, _ in known)
    return AgreementEntry(
        path=first.path,
        agreement=merge([agreement for _, agreement in known]),
        digest=_digest_of_all([entry.digest for entry in entries]),
        git_ids=tuple(ids for entry in entries for ids in entry.git_ids),
        reason="Merged with another file of the same term and symbol: "
        f"{', '.join(visible(entry.path.name) for entry in others)}.",
        other_paths=tuple(entry.path for entry in others),
    )


def digest_of(data: bytes) -> str:
    """Return the digest of a file's content with LF line endings."""
    return hashlib.sha256(data.replace(b"\r\n", b"\n")).hexdigest()


def git_ids(data: bytes) -> frozenset[str]:
    """Return the git object ids of a content, by SHA-1 and SHA-256, as it is and with LF."""
    blobs = (b"blob %d\0" % len(text) + text for text in {data, data.replace(b"\r\n", b"\n")})
    return frozenset(hashlib.new(kind, blob).hexdigest() for blob in blobs for kind in GIT_HASHES)


def _digest_of_all(digests: Sequence[str]) -> str:
    """Return the digest of an entry whose files have these digests."""
    if len(digests) == 1:
        return digests[0]
    return hashlib.sha256("\n".join(sorted(digests)).encode()).hexdigest()


def _readable(agreement: Agreement, notes: str = "", language: Language = "ja") -> bytes:
    """Return the bytes to write, after checking that they can be read again."""
    data = render(agreement, notes=notes, language=language).encode()
    if len(data) > MAX_AGREEMENT_BYTES:
        raise StorageError(
            "The agreement would be larger than 1 MiB.", hint="Shorten its evidence."
        )
    if reason := _parse(data).reason:
        raise StorageError(
            f"The agreement could not be read again: {reason}", hint="Shorten its texts."
        )
    return data


def _with_old_keys(agreement: Agreement, old: Agreement) -> Agreement:
    return replace(agreement, extra=tuple((dict(old.extra) | dict(agreement.extra)).items()))
