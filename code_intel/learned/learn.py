"""Write agreements after a success, confirm them, and add aliases.

The caller decides whether a session has earned a confirmation (docs/decisions/0013).
"""

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from code_intel.chunking.agreement import canonical
from code_intel.config import Settings
from code_intel.errors import UsageError
from code_intel.foundation.redaction import masked
from code_intel.foundation.text import code_point, counted, hidden_character, without_hidden
from code_intel.learned.aliases import is_term, why_no_alias
from code_intel.learned.files import agreements, merge_agreements, trash
from code_intel.learned.files.agreements import AgreementEntry, AgreementFolder, Key
from code_intel.learned.files.changes import MapChange, WriteResult, changing
from code_intel.learned.files.frames import SlotPairs, with_frames
from code_intel.learned.history.feedback import note_in
from code_intel.learned.history.state import State
from code_intel.learned.recall.recall import fold
from code_intel.learned.status.snapshot import SnapshotCache
from code_intel.learned.status.validity import is_confirmed
from code_intel.records import Agreement, FileReference

MAX_FIELD_CHARS = {"nl_term": 200, "symbol": 300, "alias": 200, "code_evidence": 4000}
"""Limits in characters; a longer text is pasted content rather than a name or a sentence."""

MAX_EVIDENCE = 50
MAX_ALIASES = 50
"""Limits of an agreement. The newest evidence is kept; further aliases are not added."""

Revise = Callable[[str], str]
"""Returns a sentence of evidence so that it is true of the current code."""


def unrevised(evidence: str) -> str:
    """Return the evidence as it is."""
    return evidence


@dataclass(frozen=True, slots=True)
class LearningResult:
    """The agreement that was written.

    Attributes:
        agreement_file: The Markdown file.
        key: The key of the agreement.
        created: Whether the key is new.
        digest: The content digest of the file.
        replaced: Whether unconfirmed claims were replaced; a copy of them is in the trash.
        kept: Whether a confirmed agreement was left unchanged, because new claims are unconfirmed.
        refused: Why the query did not become an alias, as a clause; empty if it did.
        note: A note about learned_pairs.json; usually empty.
    """

    agreement_file: Path
    key: Key
    created: bool
    digest: str
    replaced: bool = False
    kept: bool = False
    refused: str = ""
    note: str = ""


def learn(
    settings: Settings,
    agreement: Agreement,
    *,
    confirmed: bool,
    revise: Revise = unrevised,
    now: datetime | None = None,
    cache: SnapshotCache | None = None,
    dry: bool = False,
) -> LearningResult:
    """Write an agreement and its pair; update an existing agreement in place.

    Evidence, files and aliases are combined; other values are the new ones. If the session has not
    earned a confirmation, a confirmed agreement is left unchanged. If it has, the new agreement
    replaces an unconfirmed one instead of being merged with it.

    Args:
        settings: The project.
        agreement: The agreement; its `confirmed` is ignored.
        confirmed: Whether the session has earned a confirmation.
        revise: Checks each sentence of older evidence against the code after the session's edit.
        now: The current time, used as `learned_at` if that is empty.
        cache: A cache of the agreements, for servers.
        dry: Whether to return the result without writing anything.

    Raises:
        UsageError: The term, the symbol or the evidence is missing or too long, or contains
            invisible characters; the error names the field.
        StorageError: A file could not be written; the agreement has not changed.
        BusyError: Another process holds the lock for too long.
    """
    now = now or datetime.now(UTC)
    agreement = checked(agreement, now)
    with changing(settings, now, cache, dry=dry) as change:
        known = change.known()
        key = agreements.key_of(agreement)
        entry = known.by_key.get(key)
        if confirmed:
            learned = _store_earned(change, entry, agreement, revise)
            term, session_id = agreement.nl_term, agreement.session_id
            note_in(change.state, key, "confirmed", words=term, session_id=session_id, now=now)
            return learned
        if entry and entry.agreement and is_confirmed(settings, entry, change.state):
            return LearningResult(entry.path, key, created=False, digest=entry.digest, kept=True)
        new = _added(entry.agreement if entry else None, agreement)
        written = change.write(new, confirmed=False, known=known)
    return _learned(written, created=entry is None)


def reconfirm(
    settings: Settings,
    key: Key,
    *,
    alias: str,
    session_id: str,
    digest: str,
    body: str = "",
    evidence: Sequence[str],
    files: Sequence[FileReference],
    frame: SlotPairs = (),
    revise: Revise = unrevised,
    now: datetime | None = None,
    cache: SnapshotCache | None = None,
) -> LearningResult:
    """Confirm an agreement that a session found with another query, for the symbol's current code.

    The query becomes an alias unless it is the term or `aliases` refuses it. If the agreement is
    confirmed and its symbol has not changed, only the alias and the request are added, so that
    branches which each add some can be merged (docs/decisions/0007). Otherwise the session's
    evidence is written as by `learn`.

    Args:
        settings: The project.
        key: The key of the agreement.
        alias: The session's query.
        session_id: The session.
        digest: The `Symbol.digest` of the current definition; empty if not known.
        body: The `Symbol.body` of the definition, if no other symbol has the same.
        evidence: What the session found in the code that supports the agreement.
        files: The files that support it.
        frame: The (slot, value) pairs of the session's request.
        revise: As in `learn`.
        now: The current time.
        cache: A cache of the agreements, for servers.

    Raises:
        UsageError: The alias or the evidence is missing, too long or contains invisible
            characters; the error names the field.
        NotFoundError: There is no such agreement.
    """
    now = now or datetime.now(UTC)
    alias = unicodedata.normalize("NFC", spoken("alias", alias))
    earned = Agreement(*key, tuple(evidence), tuple(files), session_id=session_id, frame=frame)
    earned = checked(replace(earned, digest=digest, body=body), now)
    with changing(settings, now, cache) as change:
        known = change.known()
        entry, old = agreements.existing(known, key)
        new, refused = _count_alias(change.state, known, old, alias, session_id, now)
        if digest in {"", old.digest} and is_confirmed(settings, entry, change.state):
            frames = with_frames(old.frame, frame)
            same = canonical(replace(old, aliases=(*old.aliases, *new), frame=frames))
            learned = _learned(change.write(same, confirmed=True, known=known), created=False)
        else:
            earned = replace(earned, similarity=old.similarity, aliases=new)
            learned = _store_earned(change, entry, earned, revise)
        note_in(change.state, key, "confirmed", words=alias, session_id=session_id, now=now)
        return replace(learned, refused=refused)


def confirm(
    settings: Settings,
    key: Key,
    *,
    symbol_digest: str = "",
    symbol_body: str = "",
    place: FileReference | None = None,
    now: datetime | None = None,
    cache: SnapshotCache | None = None,
    dry: bool = False,
) -> LearningResult:
    """Confirm an agreement for the symbol's current code, and end the objections to it.

    Args:
        settings: The project.
        key: The key of the agreement.
        symbol_digest: The `Symbol.digest` of the current definition; empty to keep the old one.
        symbol_body: The `Symbol.body` of the definition, if no other symbol has the same.
        place: The definition that is meant; its file becomes the agreement's first one.
        now: The current time.
        cache: A cache of the agreements, for servers.
        dry: Whether to return the result without writing anything.

    Raises:
        NotFoundError: There is no such agreement.
    """
    now = now or datetime.now(UTC)
    with changing(settings, now, cache, dry=dry) as change:
        known = change.known()
        _, old = agreements.existing(known, key)
        new = replace(old, confirmed=True)
        if place:
            rest = (file for file in old.files if file.path != place.path)
            new = replace(new, files=(place, *rest))
        if symbol_digest:
            new = replace(new, digest=symbol_digest, body=symbol_body)
        written = change.write(new, confirmed=True, known=known)
        note_in(change.state, key, "confirmed", words="", session_id="", now=now)
    return _learned(written, created=False)


def _learned(written: WriteResult, *, created: bool, replaced: bool = False) -> LearningResult:
    entry = written.entry
    assert entry.key is not None  # noqa: S101 - it has just been written
    return LearningResult(entry.path, entry.key, created, entry.digest, replaced, note=written.note)


def _count_alias(
    state: State, known: AgreementFolder, old: Agreement, alias: str, session_id: str, now: datetime
) -> tuple[tuple[str, ...], str]:
    """Record that a session used an alias; return the alias if it is new, or why it is refused."""
    if is_term(alias, old):
        return (), ""
    everything = (entry.agreement for entry in known.entries)
    refused = why_no_alias(alias, old, (other for other in everything if other))
    if refused:
        return (), refused
    state.record_alias(agreements.key_of(old), alias, session_id, now)
    is_new = fold(alias) not in map(fold, old.aliases) and len(old.aliases) < MAX_ALIASES
    return ((alias,) if is_new else ()), ""


def checked(agreement: Agreement, now: datetime) -> Agreement:
    """Return a valid agreement, with secrets masked and `learned_at` filled in.

    Raises:
        UsageError: A field is missing, too long or invalid; the error names it.
    """
    evidence = tuple(filter(str.strip, map(without_hidden, map(masked, agreement.evidence))))
    if not evidence:
        raise UsageError(
            "code_evidence is empty.",
            hint="Say in a sentence what in the code supports the agreement.",
            details={"field": "code_evidence"},
        )
    if not merge_agreements.is_time(agreement.learned_at):
        raise UsageError("learned_at is not an ISO 8601 time.", details={"field": "learned_at"})
    for item in evidence:
        _require_length("code_evidence", item)
    return replace(
        agreement,
        nl_term=spoken("nl_term", agreement.nl_term),
        symbol=spoken("symbol", agreement.symbol),
        evidence=evidence,
        aliases=tuple(spoken("alias", alias) for alias in agreement.aliases if alias.strip()),
        learned_at=agreement.learned_at or now.isoformat(),
    )


def spoken(field: str, text: str) -> str:
    """Return a name on one line, with single spaces and secrets masked.

    Raises:
        UsageError: The name is empty, too long or contains an invisible character.
    """
    text = " ".join(masked(text).split())
    if not text:
        raise UsageError(f"{field} is empty.", details={"field": field})
    if hidden := hidden_character(text):
        raise UsageError(
            f"{field} contains the invisible character {code_point(hidden)}.",
            hint="Write it without control, bidirectional and zero-width characters.",
            details={"field": field},
        )
    _require_length(field, text)
    return text


def _require_length(field: str, text: str) -> None:
    if len(text) > MAX_FIELD_CHARS[field]:
        raise UsageError(
            f"{field} has {counted(len(text), 'character')}; "
            f"the limit is {MAX_FIELD_CHARS[field]}.",
            details={"field": field},
        )


def _store_earned(
    change: MapChange, entry: AgreementEntry | None, earned: Agreement, revise: Revise
) -> LearningResult:
    """Write a confirmed agreement: replace an unconfirmed one, but merge with a confirmed one."""
    old = entry.agreement if entry else None
    new = canonical(replace(earned, confirmed=True))
    replaced = False
    if entry and old and is_confirmed(change.settings, entry, change.state):
        old = replace(old, evidence=tuple(map(revise, old.evidence)))
        new = replace(_merged(old, earned), confirmed=True)
    elif entry and old:
        seen = change.state.alias_sessions().get(agreements.key_of(old), {})
        kept = (alias for alias in old.aliases if fold(alias) in seen)
        aliases = (*earned.aliases, *kept)
        new = canonical(replace(new, aliases=aliases))
        replaced = merge_agreements.claims_more(old, new)
        if replaced:
            trash.copy(change.settings, entry.path, now=change.now, files=change.files)
        for twin in entry.other_paths:  # would otherwise be merged with the confirmed agreement
            change.to_trash(twin)
    written = change.write(new, confirmed=True)
    return _learned(written, created=old is None, replaced=replaced)


def _added(old: Agreement | None, new: Agreement) -> Agreement:
    """Return `old` merged with the unconfirmed `new`; unconfirmed if that adds any claims."""
    if old is None:
        return canonical(replace(new, confirmed=False))
    merged = _merged(old, new)
    claims = (merged.evidence, merged.files, merged.aliases, merged.digest, merged.role)
    if claims == (old.evidence, old.files, old.aliases, old.digest, old.role):
        return old
    return replace(merged, confirmed=False)


def _merged(old: Agreement, new: Agreement) -> Agreement:
    return canonical(
        replace(
            new,
            evidence=tuple(dict.fromkeys((*old.evidence, *new.evidence)))[-MAX_EVIDENCE:],
            files=_files(old.files, new.files),
            aliases=(*old.aliases, *new.aliases),
            digest=new.digest or old.digest,
            body=new.body if new.digest else old.body,
            frame=with_frames(old.frame, new.frame),
            intent=new.intent or old.intent,
            role=new.role or old.role,
            extra=tuple((dict(old.extra) | dict(new.extra)).items()),
        )
    )


def _files(
    old: tuple[FileReference, ...], new: tuple[FileReference, ...]
) -> tuple[FileReference, ...]:
    """Return the files of both; for a file in both, with the line number of `new`."""
    new_paths = {file.path for file in new}
    return (*(file for file in old if file.path not in new_paths), *new)
