"""Draft the outcome of a session that has changed files and recorded no outcome.

A draft holds the agreements that a success would teach. If the session has confirmed no symbol, as
when only hooks know of it, these are proposed from the definitions that it has changed.
"""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from code_intel.errors import CodeIntelError
from code_intel.index.corpus import priority
from code_intel.learned.history.drafts import (
    OutcomeDraft,
    read_draft,
    remove_draft,
    write_draft,
)
from code_intel.learned.learn import MAX_FIELD_CHARS
from code_intel.learned.recall.requests import pairs_to_keep
from code_intel.records import Agreement, Definition, FileReference
from code_intel.session.plausibility import is_plausible, score
from code_intel.session.state import Session
from code_intel.tools.context.freshness import refresh_source
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.plausible import ClaimedSymbol, plausibility_facts
from code_intel.tools.context.project_files import fingerprint
from code_intel.tools.context.source_file import index_path_of, project_path_of
from code_intel.tools.context.symbol_facts import agreed_symbols, sole_body
from code_intel.tools.session.audit_writes import permitted_changes, unpermitted_changes
from code_intel.tools.session.edits import Edits, changed_definitions, edits_since
from code_intel.tools.session.learn_from_outcome import agreements_to_learn

MAX_FILES = 20
"""Maximum number of changed files in which definitions are compared."""
MAX_JUDGED = 30
"""Maximum number of changed definitions that are judged."""
MAX_PROPOSED = 3
"""Maximum number of agreements that are proposed from changed definitions."""


class DraftedOutcome(NamedTuple):
    """The draft of a session, if it has changed anything.

    Attributes:
        draft: The draft; None if nothing has changed.
        permitted: The changed files that the write gate has allowed.
        news: The files written without permission that the draft before did not have.
    """

    draft: OutcomeDraft | None = None
    permitted: tuple[str, ...] = ()
    news: tuple[str, ...] = ()


async def draft_outcome(context: GatewayContext, session: Session, handle: str) -> DraftedOutcome:
    """Write the draft of a session's outcome, instead of the one before; end nothing.

    Raises:
        BusyError: Another process held a lock for too long.
        StorageError: The draft could not be written.
    """
    settings = context.settings
    edits = await run_in_thread(edits_since, context, session)
    if not edits.files:
        await run_in_thread(remove_draft, settings, session.name)
        return DraftedOutcome()
    permitted = await run_in_thread(permitted_changes, context, session, edits)
    mark = await run_in_thread(_fingerprint, session, edits, permitted)
    before = await run_in_thread(read_draft, settings, session.name)
    if before and before.fingerprint == mark and not before.is_closed:
        return DraftedOutcome(before, permitted)
    if before and before.fingerprint == mark:
        draft = before._replace(is_closed=False, drafted_at=_now())
    else:
        unpermitted = await run_in_thread(unpermitted_changes, context, session, edits, permitted)
        agreements = await _agreements(context, session, edits)
        draft = OutcomeDraft(
            session.name, handle, _now(), edits.files, unpermitted, agreements, mark
        )
    await run_in_thread(write_draft, settings, draft)
    known = before.unpermitted if before else ()
    return DraftedOutcome(draft, permitted, tuple(f for f in draft.unpermitted if f not in known))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _fingerprint(session: Session, edits: Edits, permitted: Sequence[str]) -> str:
    """Return a text that changes with all that a draft depends on."""
    symbols = [symbol.name for symbol in session.symbols if symbol.confirmed]
    files = [(file, fingerprint(edits.root, file, hashed=False)) for file in edits.files or ()]
    text = repr((session.phase, session.frame, symbols, session.learned, files, permitted))
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


async def _agreements(
    context: GatewayContext, session: Session, edits: Edits
) -> tuple[Agreement, ...]:
    """Return what a success would teach; nothing if that cannot be found out."""
    files = [file for file in edits.files or () if not priority(file)][:MAX_FILES]
    try:
        await refresh_source(context, [index_path_of(context, file) for file in files])
        found = await agreements_to_learn(context, session, edits)
        return found or await _proposed(context, session, edits, files)
    except CodeIntelError as error:
        context.warnings.append(f"Nothing was drafted to learn: {error.message}")
        return ()


async def _proposed(
    context: GatewayContext, session: Session, edits: Edits, files: Sequence[str]
) -> tuple[Agreement, ...]:
    """Propose the plausible ones of the changed definitions, the most plausible first.

    An agreement needs a term: the target feature, or the request if that is short.
    """
    term = " ".join(session.own_words.split())
    if any(symbol.confirmed for symbol in session.symbols) or not session.intent.writes:
        return ()
    if not term or len(term) > MAX_FIELD_CHARS["nl_term"]:
        return ()
    paths = [index_path_of(context, file) for file in files]
    defined = await run_in_thread(context.forest.store.defined_in, paths)
    changed = _innermost(await run_in_thread(changed_definitions, context, edits, defined))
    claims = [ClaimedSymbol(definition) for definition in changed[:MAX_JUDGED]]
    facts = await plausibility_facts(context, session, claims)
    rated = [
        (score(fact), claim.definition)
        for fact, claim in zip(facts, claims, strict=True)
        if is_plausible(fact)
    ]
    rated.sort(key=lambda each: each[0], reverse=True)
    best = [definition for _, definition in rated[:MAX_PROPOSED]]
    agreed = await agreed_symbols(context, term, [each.qualified for each in best])
    return tuple(
        [
            Agreement(
                nl_term=term,
                symbol=each.qualified,
                evidence=(f"A session changed `{each.qualified}` for this request.",),
                files=(FileReference(project_path_of(context, each.file), each.line),),
                intent=session.intent.value,
                session_id=session.name,
                digest=each.digest,
                body=await sole_body(context, [each]),
                frame=pairs_to_keep((), session.query),
            )
            for each in best
            if each.qualified not in agreed
        ]
    )


def _innermost(definitions: Sequence[Definition]) -> list[Definition]:
    """Return the definitions that contain no other one of these."""
    return [
        outer
        for outer in definitions
        if not any(
            inner.file == outer.file
            and outer.line <= inner.line
            and inner.end_line <= outer.end_line
            and (inner.line, inner.end_line) != (outer.line, outer.end_line)
            for inner in definitions
        )
    ]
