"""Read and write the files of the agreements folder.

Files are found under any name (docs/decisions/0007). This module renames and deletes none.
"""

import hashlib
import re
import stat
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
from code_intel.errors import NotFoundError, StorageError
from code_intel.foundation import durable
from code_intel.foundation.text import visible
from code_intel.index.safe_files import read_plain
from code_intel.learned.files.merge_agreements import unite, when
from code_intel.learned.files.stat_cache import FolderCache
from code_intel.records import Agreement

MAX_AGREEMENT_BYTES = 1024 * 1024

Key = tuple[str, str]
"""The term in NFC and the symbol; identifies an agreement and its pair."""

GIT_HASHES = ("sha1", "sha256")

Problem = Literal["", "invalid", "conflict"]


@dataclass(frozen=True, slots=True)
class AgreementEntry:
    """One agreement of the folder, or a file that should have been one.

    Attributes:
        path: The file.
        agreement: What it says; None when it cannot be read.
        digest: Hex SHA-256 of what the file says, without line ends: git may check it out with
            other line ends. It covers all files when several files were united.
        problem: Why it cannot be read, or empty.
        reason: The same as a sentence; for a readable one a note, such as the files united in it.
        also: Further files of the same key, as a merge leaves them.
        raw: Hex SHA-256 of the file's very bytes; empty when several files were united.
        git_ids: For each of its files the ids that git may give its content.
        key: The agreement's key, None when it cannot be read.
    """

    path: Path
    agreement: Agreement | None
    digest: str
    problem: Problem = ""
    reason: str = ""
    also: tuple[Path, ...] = ()
    raw: str = ""
    git_ids: tuple[frozenset[str], ...] = ()
    key: Key | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compute the key once; it is compared often."""
        object.__setattr__(self, "key", key_of(self.agreement) if self.agreement else None)


def key_of(agreement: Agreement) -> Key:
    """Return what identifies an agreement."""
    return make_key(agreement.nl_term, agreement.symbol)


@lru_cache(maxsize=1 << 15)
def make_key(nl_term: str, symbol: str) -> Key:
    """Return the key of a term and a symbol as they were given."""
    return unicodedata.normalize("NFC", encodable(nl_term)), encodable(symbol)


def load_all(folder: Path) -> list[AgreementEntry]:
    """Return every agreement below `folder`, by path; files of one key are united into one entry.

    Raises:
        StorageError: The folder exists but cannot be listed.
    """
    return list(look(folder).entries)


class AgreementFolder(NamedTuple):
    """The agreements of a folder.

    Attributes:
        revision: Changes whenever an entry changes.
        entries: Every entry, by path.
        by_key: Those that can be read.
        conflicts: The number of files with an unresolved merge conflict.
    """

    revision: int
    entries: tuple[AgreementEntry, ...]
    by_key: Mapping[Key, AgreementEntry]
    conflicts: int = 0


class AgreementCache:
    """The agreements of one folder; only changed files are read again. Not safe for threads."""

    def __init__(self) -> None:
        self._files = FolderCache(load)
        self._known = AgreementFolder(0, (), {})

    def look(self, folder: Path) -> AgreementFolder:
        """Return the agreements as they are now.

        Raises:
            StorageError: The folder exists but cannot be listed.
        """
        entries = self._files.look(folder)
        if self._known.revision != self._files.revision:
            self._known = _known(self._files.revision, entries)
        return self._known


def look(folder: Path) -> AgreementFolder:
    """Read the agreements of a folder; a server uses `AgreementCache` to avoid most of the work.

    Raises:
        StorageError: The folder exists but cannot be listed.
    """
    return AgreementCache().look(folder)


def _known(revision: int, entries: tuple[AgreementEntry, ...]) -> AgreementFolder:
    alone = {entry.key: entry for entry in entries if entry.key}
    if len(alone) == len(entries):  # nearly always, and then all can be read
        return AgreementFolder(revision, entries, alone)
    by_key: dict[Key, list[AgreementEntry]] = {}
    for entry in entries:
        if entry.key:
            by_key.setdefault(entry.key, []).append(entry)
    united = {key: _united(found) for key, found in by_key.items()}
    unread = [entry for entry in entries if entry.key is None]
    everything = tuple(sorted([*unread, *united.values()], key=lambda entry: entry.path))
    return AgreementFolder(
        revision, everything, united, sum(each.problem == "conflict" for each in unread)
    )


def load(path: Path, before: AgreementEntry | None = None) -> AgreementEntry:
    """Return the entry of one file; the entry says what is wrong with it.

    `before` is its earlier entry, which is returned if the bytes are the same.
    """
    if encodable(path.name) != path.name:
        return AgreementEntry(path, None, "", "invalid", "Its name is not UTF-8 text; rename it.")
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
    if before and before.raw == hashlib.sha256(data).hexdigest():
        return before
    return replace(_parsed(data), path=path)


def find(folder: Path, key: Key) -> AgreementEntry | None:
    """Return the entry of `key`, whatever its file is called."""
    return look(folder).by_key.get(key)


def existing(known: "AgreementFolder", key: Key) -> tuple[AgreementEntry, Agreement]:
    """Return the entry of a term and a symbol, and its agreement.

    Raises:
        NotFoundError: There is no such agreement that can be read.
    """
    entry = known.by_key.get(make_key(*key))
    if entry is None or entry.agreement is None:
        raise missing(*key, among=known.entries)
    return entry, entry.agreement


def missing(term: str, symbol: str = "", among: Iterable[AgreementEntry] = ()) -> NotFoundError:
    """Return the error for an agreement that is missing or in an unreadable file of `among`."""
    unread = [visible(entry.path.name) for entry in among if entry.agreement is None]
    name = f"{term}{f' → {symbol}' if symbol else ''}"
    if not unread:
        hint = "list_agreements and `code-intel map list` list the agreements."
        return NotFoundError(f"There is no agreement {name}.", hint=hint)
    likely = min(unread, key=lambda file: not file.startswith(term))
    return NotFoundError(
        f"There is no readable agreement {name}. Unreadable: {len(unread)}, such as {likely}.",
        hint="If one of these files has it, correct the file first: "
        "`code-intel map check` says what is wrong.",
    )


def relative(folder: Path, path: Path) -> str:
    """Return a file's name relative to the agreements folder."""
    return path.as_posix().removeprefix(f"{folder.as_posix()}/")


class Draft(NamedTuple):
    """An agreement about to be written.

    Attributes:
        path: Its file.
        data: The bytes to write; None if the file says the same already.
        digest: `AgreementEntry.digest` of the agreement after writing.
    """

    path: Path
    data: bytes | None
    digest: str


def draft(folder: Path, known: "AgreementFolder", agreement: Agreement) -> Draft:
    """Return what writing an agreement would change: the file that has its key, else a new one.

    Notes and unknown keys in the old file are kept.

    Raises:
        StorageError: A file that cannot be read is in the way, or the agreement is too large.
    """
    agreement = canonical(agreement)
    entry = known.by_key.get(key_of(agreement))
    if entry is None or entry.agreement is None:
        data = _readable(agreement, "")
        return Draft(new_path(folder, agreement), data, digest_of(data))
    agreement = _with_old_keys(agreement, entry.agreement)
    if not entry.also and canonical(entry.agreement) == agreement:
        return Draft(entry.path, None, entry.digest)
    old = read_plain(entry.path)
    data = _readable(agreement, notes_in(old))
    digests = [digest_of(data), *(load(path).digest for path in entry.also)]
    return Draft(entry.path, data if data != old else None, _digest_of_all(digests))


def write(folder: Path, agreement: Agreement) -> Path:
    """Write one agreement and return its path; see `write_all`."""
    return write_all(folder, [agreement])[0]


def write_all(
    folder: Path, agreements: Iterable[Agreement], known: AgreementFolder | None = None
) -> list[Path]:
    """Write agreements to the files with their keys, else to new files; return the paths in order.

    The caller holds `changes.lock_path`. Write nothing before all of them are known to be readable
    again. Of several agreements with one key, write the last. Do not touch a file that says the
    same already.

    Args:
        folder: The agreements folder.
        agreements: The agreements to write.
        known: The existing agreements, if the caller has just read them.

    Raises:
        StorageError: The disk refused, or a file that cannot be read is in the way.
    """
    known = known or look(folder)
    drafts = [draft(folder, known, agreement) for agreement in agreements]
    todo = {each.path: each.data for each in drafts if each.data is not None}
    last = {path.parent: path for path in todo}
    for path, data in todo.items():
        durable.replace(path, data, flushed=path == last[path.parent])
    return [each.path for each in drafts]


def rendered(agreement: Agreement) -> bytes:
    """Return the bytes of a new agreement that can be read again.

    Raises:
        StorageError: It cannot, or it is too large.
    """
    return _readable(canonical(agreement), "")


def rewritten(path: Path, agreement: Agreement) -> bytes:
    """Return the bytes of a file with another agreement and the notes that it has now.

    Raises:
        StorageError: They could not be read again, or would be too large.
    """
    return _readable(canonical(agreement), notes_in(read_plain(path)))


def new_path(folder: Path, agreement: Agreement) -> Path:
    """Return the path of a new agreement.

    If the file of that name has another term or symbol, a number makes the name unique.

    Raises:
        StorageError: An unreadable file is in the way.
    """
    first = path = folder / file_name(agreement.nl_term, agreement.symbol)
    for number in count(2):
        if not path.exists():
            break
        found = load(path)
        if found.agreement is None:
            raise StorageError(
                f"{visible(str(path))} exists already and cannot be read as an agreement: "
                f"{found.reason}",
                hint="Resolve its merge conflict or correct it, then try again.",
            )
        path = first.with_name(f"{first.stem}-{number}.md")
    return path


def notes_in(data: bytes) -> str:
    """Return the notes of a file in any encoding, with secrets masked; see `notes_of`."""
    return notes_of(decode(data) or "")


def _parsed(data: bytes) -> AgreementEntry:
    """Return the entry of a file's bytes, its path still empty.

    Secrets in it are masked where it is served and when it is written again.
    """
    raw = hashlib.sha256(data).hexdigest()
    found = AgreementEntry(Path(), None, digest_of(data), raw=raw, git_ids=(_git_ids(data),))
    text = decode(data)
    if text is None:
        conflict = re.search(rb"^<{7,} ", data, re.MULTILINE)
        reason = "It is not text in a known encoding. Save it as UTF-8."
        return replace(found, problem="conflict" if conflict else "invalid", reason=reason)
    try:
        return replace(found, agreement=read(text))
    except AgreementProblem as problem:
        return replace(found, problem=problem.kind, reason=problem.reason)


def _united(entries: list[AgreementEntry]) -> AgreementEntry:
    if len(entries) == 1:
        return entries[0]
    known = [(entry, entry.agreement) for entry in entries if entry.agreement]
    known.sort(key=lambda pair: (when(pair[1].learned_at), pair[0].path.name), reverse=True)
    first, *others = (entry for entry, _ in known)
    return AgreementEntry(
        path=first.path,
        agreement=unite([agreement for _, agreement in known]),
        digest=_digest_of_all([entry.digest for entry in entries]),
        git_ids=tuple(ids for entry in entries for ids in entry.git_ids),
        reason=f"Merged with {', '.join(visible(entry.path.name) for entry in others)}: "
        "the same term and symbol.",
        also=tuple(entry.path for entry in others),
    )


def digest_of(data: bytes) -> str:
    """Return the digest of a file's content, line ends aside."""
    return hashlib.sha256(data.replace(b"\r\n", b"\n")).hexdigest()


def _git_ids(data: bytes) -> frozenset[str]:
    """Return a content's git ids, by SHA-1 and SHA-256, as it is and with LF line ends."""
    blobs = (b"blob %d\0" % len(text) + text for text in {data, data.replace(b"\r\n", b"\n")})
    return frozenset(hashlib.new(kind, blob).hexdigest() for blob in blobs for kind in GIT_HASHES)


def _digest_of_all(digests: Sequence[str]) -> str:
    """Return the digest of an entry whose files have these."""
    if len(digests) == 1:
        return digests[0]
    return hashlib.sha256("\n".join(sorted(digests)).encode()).hexdigest()


def _readable(agreement: Agreement, notes: str) -> bytes:
    """Return the bytes to write, after reading them again as a check."""
    data = render(agreement, notes=notes).encode()
    if len(data) > MAX_AGREEMENT_BYTES:
        raise StorageError(
            "The agreement would be larger than 1 MiB.", hint="Shorten its evidence."
        )
    if reason := _parsed(data).reason:
        raise StorageError(
            f"The agreement could not be read again: {reason}", hint="Shorten its texts."
        )
    return data


def _with_old_keys(agreement: Agreement, old: Agreement) -> Agreement:
    return replace(agreement, extra=tuple((dict(old.extra) | dict(agreement.extra)).items()))
