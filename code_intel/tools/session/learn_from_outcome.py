"""Learn from a success: agreements, aliases, or nothing (docs/decisions/0013).

What the session changed decides, as git knows it; see `session.learning` for the rules.
"""

import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from code_intel.errors import CodeIntelError, NotFoundError, UsageError
from code_intel.index.corpus import priority
from code_intel.learned.aliases import contradicts
from code_intel.learned.files.agreements import make_key
from code_intel.learned.files.frames import SlotPairs
from code_intel.learned.files.rename import rename
from code_intel.learned.history.state import ANOTHER_SYMBOL
from code_intel.learned.learn import (
    MAX_FIELD_CHARS,
    LearningResult,
    Revise,
    learn,
    reconfirm,
    unrevised,
)
from code_intel.learned.recall.requests import pairs_to_keep
from code_intel.learned.revised_evidence import revised
from code_intel.learned.status.agreement_status import AgreementStatus, standings_of
from code_intel.learned.status.definitions import facts_of
from code_intel.learned.status.validity import lookup_name, places_of
from code_intel.records import Agreement, Definition, FileReference
from code_intel.session.learning import (
    LearnedAs,
    LearningVerdict,
    SymbolOutcome,
    has_confirmed,
    is_related,
    judge_symbol,
    names_of,
    symbols_to_learn,
    why_no_symbol,
)
from code_intel.session.plausibility import is_plausible
from code_intel.session.state import MappedSymbol, Session
from code_intel.session.understanding.reading import is_read
from code_intel.session.wording import symbol_parts
from code_intel.tools.context.freshness import NOTHING_WRITTEN, MapSync, refresh_map, refresh_source
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.plausible import ClaimedSymbol, plausibility_facts
from code_intel.tools.context.prints import current_lines
from code_intel.tools.context.source_file import index_path_of, project_path_of
from code_intel.tools.context.symbol_facts import definitions_of, nearest, sole_body
from code_intel.tools.search.map_answers import (
    SILENCED,
    MapAnswer,
    accepted_answer,
    last_map_answer,
    record_feedback,
    silenced_by,
    with_current_name,
)
from code_intel.tools.session.edits import Edits, changed_definitions, edits_since

Pair = tuple[str, str]
"""A term and its symbol."""

MAX_AGREEMENT_FILES = 50
MAX_CHANGED_FILES = 50
NOTHING_CHANGED = (
    "Nothing learned: nothing has changed in the project since the session began, so there is no "
    "success to learn from. Once the change is there, record it again with the same session_id."
)


class LearnedOutcome(NamedTuple):
    """The result of learning.

    Attributes:
        pairs: The pairs that were written.
        earned: Those of them that were confirmed.
        created: Those of them for which an agreement was created.
        files: The files of the agreements.
        map_sync: Whether the map's index was updated.
        note: What was learned, or why nothing was.
        silenced: What a rejection silences; see `silenced_by`.
    """

    pairs: tuple[Pair, ...] = ()
    earned: tuple[Pair, ...] = ()
    created: tuple[Pair, ...] = ()
    files: tuple[Path, ...] = ()
    map_sync: MapSync = NOTHING_WRITTEN
    note: str = ""
    silenced: Mapping[str, Any] = MappingProxyType({})


class _Work(NamedTuple):
    """A session at its end: what it changed, and the agreement that led it, if any."""

    context: GatewayContext
    session: Session
    edits: Edits
    answer: MapAnswer | None
    files: tuple[str, ...] = ()

    @property
    def term(self) -> str:
        return self.session.frame.value("target_feature") if self.session.frame else ""

    def is_offered(self, symbol: str) -> bool:
        """Return whether the session was led to READY or VERIFICATION by this symbol."""
        answer = self.answer
        return answer is not None and lookup_name(answer.current_symbol) == lookup_name(symbol)

    def agreement_for(self, symbol: str) -> MapAnswer | None:
        """Return the agreement to confirm for a symbol: it led the session, or was accepted."""
        if self.is_offered(symbol):
            return self.answer
        accepted = self.session.accepted_for(symbol)
        return accepted and accepted_answer(self.session, accepted)


class _Learnable(NamedTuple):
    """A symbol to learn: its facts, its definitions (the one that changed first), the verdict."""

    facts: SymbolOutcome
    definitions: tuple[Definition, ...]
    verdict: LearningVerdict


async def learn_from_success(
    context: GatewayContext, session: Session, *, insist: bool, files: Sequence[str] = ()
) -> LearnedOutcome:
    """Write what the session's changes teach; with `insist`, the rest as unconfirmed agreements.

    `files` says which definition is meant of a name that several files define.
    """
    edits = await run_in_thread(edits_since, context, session)
    if session.intent.writes and edits.files == () and not insist:
        return LearnedOutcome(note=NOTHING_CHANGED)
    touched = [*(edits.files or ())[:MAX_CHANGED_FILES], *session.explored_files]
    await refresh_source(context, [index_path_of(context, file) for file in touched])
    answer = await run_in_thread(with_current_name, context, last_map_answer(session))
    session = await run_in_thread(_with_current_names, context, session, edits, answer)
    work = _Work(context, session, edits, answer, tuple(map(session.relative, files)))
    found = await _learnable(work, insist=insist)
    silenced, note = await _count_use(work, found)
    notes = [note]
    written = [(each, await _write(work, each)) for each in found if _is_written(each)]
    pairs = tuple((work.term, each.facts.symbol) for each, _ in written)
    results = [result for _, result in written]
    if not any(work.is_offered(symbol) for _, symbol in pairs) and (renewed := await _renew(work)):
        results.append(renewed)
        notes.append(f"The agreement {' → '.join(renewed.key)} is renewed.")
    notes += _notes(work, found, results)
    if not results:
        return LearnedOutcome(note=" ".join(filter(None, notes)), silenced=silenced)
    synced = [await refresh_map(context, item.agreement_file) for item in results]
    return LearnedOutcome(
        pairs,
        tuple(p for p, each in zip(pairs, written, strict=True) if _is_earned(each[0])),
        tuple(p for p, each in zip(pairs, written, strict=True) if each[1].created),
        tuple(dict.fromkeys(item.agreement_file for item in results)),
        next((item for item in synced if item.state != "done"), synced[0]),
        " ".join(filter(None, notes)),
        silenced,
    )


async def agreements_to_learn(
    context: GatewayContext, session: Session, edits: Edits
) -> tuple[Agreement, ...]:
    """Return the new agreements that a success of the session would write; write nothing.

    A symbol of an existing agreement that led the session is left out. The index must contain the
    changed files.
    """
    answer = await run_in_thread(with_current_name, context, last_map_answer(session))
    session = await run_in_thread(_with_current_names, context, session, edits, answer)
    work = _Work(context, session, edits, answer)
    found = [
        each
        for each in await _learnable(work, insist=False)
        if _is_written(each) and not each.facts.agreed and not each.facts.offered
    ]
    return tuple([await _agreement(work, each, await _revision_of(work, each)) for each in found])


def _is_written(each: _Learnable) -> bool:
    return each.verdict.result is not LearnedAs.NOTHING


def _is_earned(each: _Learnable) -> bool:
    return each.verdict.result is LearnedAs.CONFIRMED


def _with_current_names(
    context: GatewayContext, session: Session, edits: Edits, answer: MapAnswer | None
) -> Session:
    """Return the session with the current names of the symbols that it has renamed."""
    confirmed = [symbol.name for symbol in session.symbols if symbol.confirmed]
    gone = [name for name in confirmed if not _is_defined(context, session, name)]
    names = {name: new for name in gone if (new := edits.renamed(name))}
    if answer and answer.symbol in gone and answer.current_symbol != answer.symbol:
        names[answer.symbol] = answer.current_symbol
    if not names:
        return session
    symbols = tuple(
        symbol._replace(name=names.get(symbol.name, symbol.name)) for symbol in session.symbols
    )
    calls = tuple(
        call._replace(symbols=tuple(names.get(name, name) for name in call.symbols))
        for call in session.calls
    )
    return session._replace(symbols=symbols, calls=calls)


def _is_defined(context: GatewayContext, session: Session, symbol: str) -> bool:
    """Return whether a symbol is defined, or whether the index cannot tell."""
    if context.forest.freshness().state not in {"fresh", "stale"}:
        return True
    files = tuple(FileReference(file) for file in session.explored_files)
    known = facts_of(context.forest, Agreement("term", symbol, (), files))
    return bool(known.definitions) or not known.complete


async def _learnable(work: _Work, *, insist: bool) -> list[_Learnable]:
    """Judge each symbol that the session has confirmed."""
    context, session = work.context, work.session
    names = symbols_to_learn(session)
    definitions = await definitions_of(context, names)
    rivals = await definitions_of(context, names_of(work.term))
    found = []
    for name in names:
        places = await run_in_thread(_meant, work, name, definitions.get(name, []))
        several = len({definition.file for definition in places}) > 1
        changed = await run_in_thread(changed_definitions, context, work.edits, places)
        ordered = tuple(dict.fromkeys((*changed, *places)))
        standing = await run_in_thread(_standing, context, (work.term, name))
        agreed = bool(standing and standing.confirmed)
        accepted = await run_in_thread(_is_accepted, work, name)
        facts = SymbolOutcome(
            symbol=name,
            defined=await run_in_thread(_is_defined, context, session, name),
            places=places_of(places) if several else "",
            changed=None if work.edits.files is None else bool(changed),
            offered=work.is_offered(name) or accepted,
            plausible=agreed or accepted or await _is_plausible(work, name, ordered),
            rivals=tuple(
                definition.qualified
                for rival, places in rivals.items()
                if rival not in symbol_parts(name)
                for definition in places[:1]
                if not is_related(definition.qualified, name)
            ),
            opposite=contradicts(work.term, name) and not agreed,
            agreed=agreed,
        )
        found.append(_Learnable(facts, ordered, judge_symbol(session, facts, insist=insist)))
    return found


def _meant(work: _Work, name: str, found: Sequence[Definition]) -> list[Definition]:
    """Return the definitions of a symbol that the session means; this blocks.

    Of several files, it is the one named by the caller or the submission, else the only one in
    which the session changed it, else the only one in which it read it. Otherwise all are returned.
    """
    context, session = work.context, work.session
    files = {d: project_path_of(context, d.file) for d in found}
    mapped = session.symbol(name)
    lines = current_lines(context, session) if len(set(files.values())) > 1 else {}
    choices = (
        [d for d in found if files[d] in work.files],
        [d for d in found if mapped and files[d] == mapped.file],
        changed_definitions(context, work.edits, found),
        [d for d in found if is_read(d.line, d.end_line, lines.get(files[d], frozenset()))],
        nearest(found, _places(context, work)),
    )
    sole = (each[0].file for each in choices if len({d.file for d in each}) == 1)
    file = next(sole, "")
    return [d for d in found if file in {"", d.file}]


def _places(context: GatewayContext, work: _Work) -> list[str]:
    """Return the changed files, or those that the session explored, as the index names them."""
    files = work.edits.files or work.session.explored_files
    return [index_path_of(context, file) for file in files]


def _standing(context: GatewayContext, pair: Pair) -> AgreementStatus | None:
    """Return the status of the agreement of a term and a symbol, or None."""
    if not all(pair):
        return None
    key = make_key(*pair)
    return standings_of(context.settings, context.forest, [key], cache=context.map_cache).get(key)


def _is_accepted(work: _Work, name: str) -> bool:
    """Return whether the session accepted an agreement for a symbol, and it is still confirmed."""
    accepted = work.session.accepted_for(name)
    standing = accepted and _standing(work.context, (accepted.nl_term, accepted.agreed))
    return bool(standing and standing.confirmed)


async def _is_plausible(work: _Work, name: str, definitions: Sequence[Definition]) -> bool:
    """Return whether the symbol is a plausible place for the request; True if unknown."""
    if not definitions or not work.session.intent.writes:
        return True
    mapped = work.session.symbol(name)
    claim = ClaimedSymbol(definitions[0], mapped.quote if mapped else "")
    try:
        (facts,) = await plausibility_facts(work.context, work.session, [claim])
    except CodeIntelError:
        return True
    return is_plausible(facts)


async def _write(work: _Work, each: _Learnable) -> LearningResult:
    """Confirm the agreement that answered this session if it fits the pair, or write a new one."""
    context = work.context
    revise = await _revision_of(work, each)
    agreement = await _agreement(work, each, revise)
    earned = _is_earned(each)
    answer = work.agreement_for(each.facts.symbol) if each.facts.offered else None
    if earned and answer:
        with suppress(NotFoundError, UsageError):  # deleted in the meantime: learn it again
            return await _confirm_again(context, answer, agreement, revise, alias=True)
    return await run_in_thread(
        learn,
        context.settings,
        agreement,
        confirmed=earned,
        revise=revise,
        cache=context.map_cache,
    )


async def _agreement(work: _Work, each: _Learnable, revise: Revise) -> Agreement:
    """Return the agreement that a symbol of the session teaches."""
    session, name = work.session, each.facts.symbol
    mapped = session.symbol(name)
    assert mapped is not None  # noqa: S101 - the names are those of the session's symbols
    first = each.definitions[0] if each.definitions else None
    return Agreement(
        nl_term=work.term,
        symbol=name,
        evidence=(revise(_evidence(mapped)),),
        files=_files(work, each.definitions),
        similarity=mapped.confidence,
        intent=session.intent.value,
        session_id=session.name,
        digest=first.digest if first else "",
        body=await sole_body(work.context, each.definitions),
        frame=_request_to_keep(session),
    )


async def _revision_of(work: _Work, each: _Learnable) -> Revise:
    first = each.definitions[0] if each.definitions else None
    return await run_in_thread(_revision, work, first)


def _evidence(mapped: MappedSymbol) -> str:
    """Return the sentence of evidence, with its quote in backticks."""
    quote = mapped.quote.strip()
    if not quote or "`" in quote or "\n" in quote or quote in mapped.evidence:
        return mapped.evidence
    return f"{mapped.evidence} `{quote}`".strip()


def _files(work: _Work, definitions: Sequence[Definition]) -> tuple[FileReference, ...]:
    """Return the files that define the symbol, and those that the session has changed."""
    places = [FileReference(d.file, d.line) for d in definitions[:3]]
    named = {place.path for place in places}
    changed = (file for file in work.edits.files or () if work.session.intent.writes)
    others = [FileReference(file) for file in changed if file not in named]
    return tuple((places + others)[:MAX_AGREEMENT_FILES])


def _revision(work: _Work, definition: Definition | None) -> Revise:
    """Return how evidence about a definition is checked against its current code."""
    if definition is None:
        return unrevised
    file = project_path_of(work.context, definition.file)
    before, after = work.edits.lines_of(file, definition)
    return partial(revised, before=before, after=after)


async def _confirm_again(
    context: GatewayContext, answer: MapAnswer, agreement: Agreement, revise: Revise, *, alias: bool
) -> LearningResult:
    """Confirm the agreement that answered this session; add the query as an alias if asked."""
    if answer.current_symbol != answer.symbol:  # renamed in the code; the session has verified it
        await run_in_thread(
            rename,
            context.settings,
            (answer.nl_term, answer.symbol),
            symbol=answer.current_symbol,
            cache=context.map_cache,
        )
    words = answer.query if len(answer.query) <= MAX_FIELD_CHARS["alias"] else agreement.nl_term
    return await run_in_thread(
        reconfirm,
        context.settings,
        (answer.nl_term, answer.current_symbol),
        alias=words if alias else answer.nl_term,
        session_id=agreement.session_id,
        digest=agreement.digest,
        body=agreement.body,
        evidence=agreement.evidence,
        files=agreement.files,
        frame=agreement.frame,
        revise=revise,
        cache=context.map_cache,
    )


def _request_to_keep(session: Session) -> SlotPairs:
    slots = session.frame.slots if session.frame else ()
    return pairs_to_keep(((slot.name, slot.value) for slot in slots), session.query)


async def _offered_definitions(work: _Work) -> list[Definition]:
    """Return the changed definitions of the symbol with which the map led the session."""
    assert work.answer is not None  # noqa: S101 - the callers check it
    name = work.answer.current_symbol
    found = (await definitions_of(work.context, [name])).get(name, [])
    agreed = work.session.short_circuit.get("files", ())
    places = [d for d in found if project_path_of(work.context, d.file) in agreed] or nearest(
        found, _places(work.context, work)
    )
    return await run_in_thread(changed_definitions, work.context, work.edits, places)


async def _renew(work: _Work) -> LearningResult | None:
    """Confirm the agreement that led this session to READY for the code that the session wrote."""
    answer = work.answer
    if answer is None or work.session.ready_by != "map" or not work.session.intent.writes:
        return None
    standing = await run_in_thread(_standing, work.context, (answer.nl_term, answer.symbol))
    definitions = await _offered_definitions(work)
    if not definitions or not standing or not standing.confirmed or not standing.entry.agreement:
        return None
    revise = await run_in_thread(_revision, work, definitions[0])
    evidence = standing.entry.agreement.evidence
    agreement = Agreement(
        nl_term=answer.nl_term,
        symbol=answer.current_symbol,
        evidence=tuple(map(revise, evidence)) or (f"`{definitions[0].signature}`",),
        files=_files(work, definitions),
        session_id=work.session.name,
        digest=definitions[0].digest,
        body=await sole_body(work.context, definitions),
        frame=_request_to_keep(work.session),
    )
    with suppress(NotFoundError, UsageError):  # deleted or renamed in the meantime
        return await _confirm_again(work.context, answer, agreement, revise, alias=False)
    return None


async def _count_use(work: _Work, found: Sequence[_Learnable]) -> tuple[Mapping[str, Any], str]:
    """Count the success for or against the agreement that led the session.

    Return what a rejection silences, and a note.

    It counts for it if its own symbol has changed or was quoted, and against it if something else
    has changed instead. Tests and documents that mention the symbol count for neither.
    """
    context, session, answer = work.context, work.session, work.answer
    if answer is None or session.ready_by not in {"map", "verification"}:
        return {}, ""
    if await _offered_definitions(work) or has_confirmed(session, answer.current_symbol):
        if session.intent.writes:
            await record_feedback(context, session, "accepted", answer)
        return {}, ""
    changed = [file for file in work.edits.files or () if not priority(file)]
    if not session.intent.writes or not changed:
        return {}, ""
    if any(each.facts.changed for each in found):
        await record_feedback(context, session, "rejected", answer, ANOTHER_SYMBOL)
        return silenced_by(answer), SILENCED.strip()
    await record_feedback(context, session, "failed", answer, ANOTHER_SYMBOL)
    return {}, (
        f"The success counts against the agreement {answer.nl_term} → {answer.symbol}, because "
        "something else has changed."
    )


def _notes(
    work: _Work, found: Sequence[_Learnable], written: Sequence[LearningResult]
) -> list[str]:
    """Return what was learned, and why not more."""
    notes = ["The next search will find it."] if any(map(_is_earned, found)) else []
    for each in found:
        pair = (work.term, each.facts.symbol)
        if each.verdict.result is LearnedAs.UNCONFIRMED:
            confirm = f"`code-intel map confirm {shlex.join(pair)}` confirms it"
            notes.append(f"Unconfirmed: {each.verdict.why}; {confirm}.")
    why = [each.verdict.why for each in found if not _is_written(each)]
    why = why or ([] if found or written else [why_no_symbol(work.session)])
    if why:
        notes.append(f"{'Not' if written else 'Nothing'} learned: {'; '.join(dict.fromkeys(why))}.")
    if any(item.replaced for item in written):
        notes.append("Unconfirmed claims were replaced; a copy is in .code-intel/trash.")
    if any(item.kept for item in written):
        notes.append("A confirmed agreement stays as it is.")
    notes += [
        f"The query was not added as an alias: {item.refused}." for item in written if item.refused
    ]
    notes += dict.fromkeys(item.note for item in written if item.note)
    return notes
