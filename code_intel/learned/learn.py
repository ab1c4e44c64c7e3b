"""Turn a success into an agreement, confirm agreements, and add aliases.

The session decides whether a confirmation was earned (docs/decisions/0013).
"""

import unicodedata
from collections.abc import Sequence
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
from code_intel.learned.history.feedback import note_in
from code_intel.learned.history.state import State
from code_intel.learned.recall.recall import fold
from code_intel.learned.status.snapshot import SnapshotCache
from code_intel.learned.status.validity import is_confirmed
from code_intel.records import Agreement, FileReference

MAX_FIELD_CHARS = {"nl_term": 200, "symbol": 300, "alias": 200, "code_evidence": 4000}
"""Limits in characters; a longer text is pasted content and not a name or sentence."""

MAX_EVIDENCE = 50
MAX_ALIASES = 50
"""Limits of an agreement. The newest evidence stays; further aliases are only counted."""


@dataclass(frozen=True, slots=True)
class LearningResult:
    """The agreement that was written.

    Attributes:
        agreement_file: The Markdown file.
        key: Its term and symbol.
        created: Whether the key is new.
        digest: Content digest of the file.
        replaced: Whether unconfirmed claims were replaced; a copy of them is in the trash.
        refused: Why the words of the question did not become an alias, as a clause.
        note: What to say about learned_pairs.json, if anything.
    """

    agreement_file: Path
    key: Key
    created: bool
    digest: str
    replaced: bool = False
    refused: str = ""
    note: str = ""


def learn(
    settings: Settings,
    agreement: Agreement,
    *,
    confirmed: bool,
    now: datetime | None = None,
    cache: SnapshotCache | None = None,
) -> LearningResult:
    """Write an agreement and its pair; an existing one is updated in place.

    Evidence, files and aliases are united; numbers are the latest. New evidence that no session
    earned makes a confirmed agreement unconfirmed. What a session earned replaces an unconfirmed
    agreement instead of joining it.

    Args:
        settings: The project.
        agreement: What was learned; its `confirmed` is ignored.
        confirmed: Whether the session earned it.
        now: The time; fills `learned_at`.
        cache: What a server keeps of the agreements.

    Raises:
        UsageError: Term, symbol or evidence is missing, too long, or a name has characters that
            cannot be seen; names the field.
        StorageError: The disk refused; the agreement is as it was.
        BusyError: Another process is writing for too long.
    """
    now = now or datetime.now(UTC)
    agreement = checked(agreement, now)
    with changing(settings, now, cache) as change:
        known = change.known()
        key = agreements.key_of(agreement)
        entry = known.by_key.get(key)
        if confirmed:
            learned = _store_earned(change, entry, agreement)
            words, session_id = agreement.nl_term, agreement.session_id
            note_in(change.state, key, "confirmed", words=words, session_id=session_id, now=now)
            return learned
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
    now: datetime | None = None,
    cache: SnapshotCache | None = None,
) -> LearningResult:
    """Confirm an agreement that a session found by other words, for the symbol as it is now.

    The words become an alias, once per session, unless they are the term or `aliases` refuses them.
    If the agreement is confirmed and its symbol is as agreed, add only the alias, so that branches
    which each add one merge (docs/decisions/0007). Otherwise learn the session's evidence as
    `learn` does.

    Args:
        settings: The project.
        key: The agreement.
        alias: The words of the session's question.
        session_id: The session.
        digest: `Symbol.digest` of the present definition; empty if not known.
        body: Its `Symbol.body`, if that is its alone.
        evidence: What in the code shows it, as the session found it.
        files: The files that support it.
        now: The time.
        cache: What a server keeps of the agreements.

    Raises:
        UsageError: The alias or the evidence is missing, too long or not readable; names the field.
        NotFoundError: There is no such agreement.
    """
    now = now or datetime.now(UTC)
    alias = unicodedata.normalize("NFC", spoken("alias", alias))
    earned = Agreement(*key, tuple(evidence), tuple(files), session_id=session_id)
    earned = checked(replace(earned, digest=digest, body=body), now)
    with changing(settings, now, cache) as change:
        known = change.known()
        entry, old = agreements.existing(known, key)
        new, refused = _another_word(change.state, known, old, alias, session_id, now)
        if digest in {"", old.digest} and is_confirmed(settings, entry, change.state):
            same = canonical(replace(old, aliases=(*old.aliases, *new)))
            learned = _learned(change.write(same, confirmed=True, known=known), created=False)
        else:
            earned = replace(earned, similarity=old.similarity, aliases=new)
            learned = _store_earned(change, entry, earned)
        note_in(change.state, key, "confirmed", words=alias, session_id=session_id, now=now)
        return replace(learned, refused=refused)


def confirm(
    settings: Settings,
    key: Key,
    *,
    symbol_digest: str = "",
    symbol_body: str = "",
    now: datetime | None = None,
) -> LearningResult:
    """Confirm an agreement unchanged, for the symbol as it is now; drop the objections to it.

    Args:
        settings: The project.
        key: The agreement.
        symbol_digest: `Symbol.digest` of the present definition; empty keeps the old one.
        symbol_body: Its `Symbol.body`, if that is its alone.
        now: The time.

    Raises:
        NotFoundError: There is no such agreement.
    """
    now = now or datetime.now(UTC)
    with changing(settings, now) as change:
        known = change.known()
        _, old = agreements.existing(known, key)
        new = replace(old, confirmed=True)
        if symbol_digest:
            new = replace(new, digest=symbol_digest, body=symbol_body)
        written = change.write(new, confirmed=True, known=known)
        note_in(change.state, key, "confirmed", words="", session_id="", now=now)
    return _learned(written, created=False)


def _learned(written: WriteResult, *, created: bool, replaced: bool = False) -> LearningResult:
    entry = written.entry
    assert entry.key is not None  # noqa: S101 - it has just been written
    return LearningResult(entry.path, entry.key, created, entry.digest, replaced, note=written.note)


def _another_word(
    state: State, known: AgreementFolder, old: Agreement, alias: str, session_id: str, now: datetime
) -> tuple[tuple[str, ...], str]:
    """Count an alias; return those that the file does not have yet, and why it was refused."""
    if is_term(alias, old):
        return (), ""
    everything = (entry.agreement for entry in known.entries)
    refused = why_no_alias(alias, old, (other for other in everything if other))
    if refused:
        return (), refused
    state.see_alias(agreements.key_of(old), alias, session_id, now)
    is_new = fold(alias) not in map(fold, old.aliases) and len(old.aliases) < MAX_ALIASES
    return ((alias,) if is_new else ()), ""


def checked(agreement: Agreement, now: datetime) -> Agreement:
    """Return a valid agreement with masked secrets and its time filled in.

    Raises:
        UsageError: Something is missing, too long or unreadable; names the field.
    """
    evidence = tuple(filter(str.strip, map(without_hidden, map(masked, agreement.evidence))))
    if not evidence:
        raise UsageError(
            "code_evidence is empty.",
            hint="Say in a sentence what in the code shows it.",
            details={"field": "code_evidence"},
        )
    if not merge_agreements.is_time(agreement.learned_at):
        raise UsageError("learned_at is not an ISO 8601 time.", details={"field": "learned_at"})
    for item in evidence:
        _bounded("code_evidence", item)
    return replace(
        agreement,
        nl_term=spoken("nl_term", agreement.nl_term),
        symbol=spoken("symbol", agreement.symbol),
        evidence=evidence,
        aliases=tuple(spoken("alias", alias) for alias in agreement.aliases if alias.strip()),
        learned_at=agreement.learned_at or now.isoformat(),
    )


def spoken(field: str, text: str) -> str:
    """Return a name on one line, with single spaces.

    Raises:
        UsageError: It is empty, too long, or has an invisible character; names the field.
    """
    text = " ".join(masked(text).split())
    if not text:
        raise UsageError(f"{field} is empty.", details={"field": field})
    if hidden := hidden_character(text):
        raise UsageError(
            f"{field} has a character that cannot be seen, {code_point(hidden)}.",
            hint="Write it without control, bidirectional and zero-width characters.",
            details={"field": field},
        )
    return _bounded(field, text)


def _bounded(field: str, text: str) -> str:
    if len(text) > MAX_FIELD_CHARS[field]:
        raise UsageError(
            f"{field} has {counted(len(text), 'character')}; "
            f"at most {MAX_FIELD_CHARS[field]} are allowed.",
            details={"field": field},
        )
    return text


def _store_earned(
    change: MapChange, entry: AgreementEntry | None, earned: Agreement
) -> LearningResult:
    """Write what a session has earned: replace an unconfirmed agreement, join a confirmed one."""
    old = entry.agreement if entry else None
    new = canonical(replace(earned, confirmed=True))
    replaced = False
    if entry and old and is_confirmed(change.settings, entry, change.state):
        new = replace(_united(old, earned), confirmed=True)
    elif entry and old:
        seen = change.state.alias_sessions().get(agreements.key_of(old), {})
        kept = (alias for alias in old.aliases if fold(alias) in seen)
        aliases = (*earned.aliases, *kept)
        new = canonical(replace(new, aliases=aliases))
        replaced = merge_agreements.adds(old, new)
        if replaced:
            trash.copy(change.settings, entry.path, now=change.now)
        for twin in entry.also:  # its claims would be united with those that are confirmed
            trash.move(change.settings, twin, now=change.now)
    written = change.write(new, confirmed=True)
    return _learned(written, created=old is None, replaced=replaced)


def _added(old: Agreement | None, new: Agreement) -> Agreement:
    """Return the agreement after the unconfirmed `new` was added to `old`."""
    if old is None:
        return canonical(replace(new, confirmed=False))
    both = _united(old, new)
    substance = (both.evidence, both.files, both.aliases, both.digest)
    if substance == (old.evidence, old.files, old.aliases, old.digest):
        return old
    return replace(both, confirmed=False)


def _united(old: Agreement, new: Agreement) -> Agreement:
    return canonical(
        replace(
            new,
            evidence=tuple(dict.fromkeys((*old.evidence, *new.evidence)))[-MAX_EVIDENCE:],
            files=_files(old.files, new.files),
            aliases=(*old.aliases, *new.aliases),
            digest=new.digest or old.digest,
            body=new.body if new.digest else old.body,
            frame=new.frame or old.frame,
            intent=new.intent or old.intent,
            extra=tuple((dict(old.extra) | dict(new.extra)).items()),
        )
    )


def _files(
    old: tuple[FileReference, ...], new: tuple[FileReference, ...]
) -> tuple[FileReference, ...]:
    """Return the files of both; where a file is named in both, the new line counts."""
    named = {file.path for file in new}
    return (*(file for file in old if file.path not in named), *new)
