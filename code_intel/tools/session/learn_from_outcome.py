"""Learn from a success: an agreement, an alias, or nothing (docs/decisions/0013)."""

import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from code_intel.errors import NotFoundError, UsageError
from code_intel.learned.aliases import contradicts
from code_intel.learned.files.agreements import make_key
from code_intel.learned.files.frames import SlotPairs
from code_intel.learned.files.rename import rename
from code_intel.learned.history.state import ANOTHER_SYMBOL
from code_intel.learned.learn import MAX_FIELD_CHARS, LearningResult, learn, reconfirm
from code_intel.learned.recall.requests import pairs_to_keep
from code_intel.learned.status.agreement_status import standings_of
from code_intel.learned.status.definitions import facts_of
from code_intel.learned.status.validity import lookup_name
from code_intel.records import Agreement, FileReference
from code_intel.session import learning
from code_intel.session.state import Session
from code_intel.tools.context.edits import edits_since
from code_intel.tools.context.freshness import NOTHING_WRITTEN, MapSync, refresh_map, refresh_source
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.project_files import changed_in
from code_intel.tools.context.symbol_facts import definitions_of, nearest, sole_body
from code_intel.tools.search.map_answers import (
    MapAnswer,
    last_map_answer,
    record_feedback,
    with_current_name,
)

Pair = tuple[str, str]
"""A term and its symbol."""


class LearnedOutcome(NamedTuple):
    """The result of learning.

    Attributes:
        pairs: The pairs that were written.
        earned: Those of them that were confirmed.
        created: Those of them for which an agreement was created.
        files: The files of the agreements.
        map_sync: Whether the map's index was updated.
        note: What was learned, or why nothing was.
    """

    pairs: tuple[Pair, ...] = ()
    earned: tuple[Pair, ...] = ()
    created: tuple[Pair, ...] = ()
    files: tuple[Path, ...] = ()
    map_sync: MapSync = NOTHING_WRITTEN
    note: str = ""


async def learn_from_success(
    context: GatewayContext, session: Session, *, insist: bool
) -> LearnedOutcome:
    """Write the pairs that the session has earned; with `insist`, write the others as unconfirmed.

    A pair whose symbol means the opposite of its term must be confirmed by a person.
    """
    await refresh_source(context, session.explored_files)
    changed = await run_in_thread(changed_in, context.root, session)
    if changed is not False:
        await _record_use(context, session)
    is_earned, reason = learning.may_learn(session, git_changed=changed)
    pairs = learning.pairs_to_learn(session, corroborated=is_earned or not insist)
    undefined = await run_in_thread(_undefined, context, session, pairs)
    session, pairs = await run_in_thread(_renamed, context, session, pairs, undefined)
    contradictory = await run_in_thread(_contradictory, context, pairs)
    earned = tuple(p for p in pairs if is_earned and p not in {*undefined, *contradictory})
    chosen = pairs if insist else tuple(p for p in pairs if is_earned and p not in undefined)
    reasons = [
        *filter(None, [reason]),
        *_objections(undefined, contradictory),
    ]
    if not chosen:
        return LearnedOutcome(note=f"Nothing learned: {'; '.join(reasons)}.")
    written = [await _write(context, session, pair, confirmed=pair in earned) for pair in chosen]
    synced = [await refresh_map(context, item.agreement_file) for item in written]
    files = tuple(dict.fromkeys(item.agreement_file for item in written))
    notes = ["The next search will find it."] if earned else []
    if left := set(pairs) - set(earned):
        notes.append(
            f"{'Unconfirmed' if left & set(chosen) else 'Not learned'}: {'; '.join(reasons)}."
        )
    notes += _learning_notes(written)
    sync = next((item for item in synced if item.state != "done"), synced[0])
    created = tuple(p for p, item in zip(chosen, written, strict=True) if item.created)
    return LearnedOutcome(chosen, earned, created, files, sync, " ".join(notes))


def _objections(undefined: Sequence[Pair], contradictory: Sequence[Pair]) -> Iterator[str]:
    for _, symbol in undefined:
        yield f"{symbol} is no longer defined"
    for pair in contradictory:
        if pair not in undefined:
            yield (
                f"in {' → '.join(pair)} the symbol means the opposite of the term; a person can "
                f"confirm the pair with `code-intel map confirm {shlex.join(pair)}`"
            )


def _undefined(context: GatewayContext, session: Session, pairs: Sequence[Pair]) -> list[Pair]:
    """Return the pairs whose symbol this session has renamed or deleted."""
    if context.forest.freshness().state not in {"fresh", "stale"}:
        return []
    files = tuple(FileReference(file) for file in session.explored_files)
    facts = {pair: facts_of(context.forest, Agreement(*pair, (), files)) for pair in pairs}
    return [pair for pair, known in facts.items() if known.complete and not known.definitions]


def _renamed(
    context: GatewayContext, session: Session, pairs: Sequence[Pair], undefined: Sequence[Pair]
) -> tuple[Session, tuple[Pair, ...]]:
    """Return the session and the pairs with the current names of symbols that were renamed."""
    edits = edits_since(context, session) if undefined else None
    names = {symbol: edits.renamed(symbol) for _, symbol in undefined} if edits else {}
    current = {name: names.get(name) or name for _, name in pairs}
    symbols = (item._replace(name=current.get(item.name, item.name)) for item in session.symbols)
    renamed = ((term, current[name]) for term, name in pairs)
    return session._replace(symbols=tuple(symbols)), tuple(dict.fromkeys(renamed))


def _contradictory(context: GatewayContext, pairs: Sequence[Pair]) -> list[Pair]:
    """Return the unconfirmed pairs whose symbol means the opposite of the term."""
    doubtful = [pair for pair in pairs if contradicts(*pair)]
    keys = (make_key(*pair) for pair in doubtful)
    standings = standings_of(context.settings, context.forest, keys, cache=context.map_cache)
    confirmed = {key for key, standing in standings.items() if standing.confirmed}
    return [pair for pair in doubtful if make_key(*pair) not in confirmed]


def _learning_notes(written: list[LearningResult]) -> list[str]:
    notes = []
    if any(item.replaced for item in written):
        notes.append("Unconfirmed claims were replaced; a copy is in .code-intel/trash.")
    if any(item.kept for item in written):
        notes.append("A confirmed agreement stays as it is.")
    notes += [
        f"The query was not added as an alias: {item.refused}." for item in written if item.refused
    ]
    notes += dict.fromkeys(item.note for item in written if item.note)
    return notes


async def _write(
    context: GatewayContext, session: Session, pair: Pair, *, confirmed: bool
) -> LearningResult:
    """Confirm the agreement that answered this session if it fits the pair, or write a new one."""
    term, symbol = pair
    mapped = session.symbol(symbol)
    assert mapped is not None  # noqa: S101 - pairs come from the session's symbols
    all_definitions = (await definitions_of(context, [symbol])).get(symbol, [])
    definitions = nearest(all_definitions, session.explored_files)
    places = [FileReference(d.file, d.line) for d in definitions[:3]]
    named = {place.path for place in places}
    places += [FileReference(file) for file in session.explored_files if file not in named]
    agreement = Agreement(
        nl_term=term,
        symbol=symbol,
        evidence=(mapped.evidence,),
        files=tuple(places),
        similarity=mapped.confidence,
        intent=session.intent.value,
        session_id=session.name,
        digest=definitions[0].digest if definitions else "",
        body=await sole_body(context, definitions),
        frame=_request_to_keep(session),
    )
    answer = await run_in_thread(with_current_name, context, last_map_answer(session))
    if confirmed and answer and lookup_name(answer.current_symbol) == lookup_name(symbol):
        with suppress(NotFoundError, UsageError):  # deleted in the meantime: learn it again
            return await _confirm_again(context, answer, agreement)
    return await run_in_thread(
        learn, context.settings, agreement, confirmed=confirmed, cache=context.map_cache
    )


async def _confirm_again(
    context: GatewayContext, answer: MapAnswer, agreement: Agreement
) -> LearningResult:
    """Confirm the agreement that answered this session; add the query as an alias."""
    if answer.current_symbol != answer.symbol:  # renamed in the code; the session has verified it
        await run_in_thread(
            rename,
            context.settings,
            (answer.nl_term, answer.symbol),
            symbol=answer.current_symbol,
            cache=context.map_cache,
        )
    return await run_in_thread(
        reconfirm,
        context.settings,
        (answer.nl_term, answer.current_symbol),
        alias=answer.query if len(answer.query) <= MAX_FIELD_CHARS["alias"] else agreement.nl_term,
        session_id=agreement.session_id,
        digest=agreement.digest,
        body=agreement.body,
        evidence=agreement.evidence,
        files=agreement.files,
        frame=agreement.frame,
        cache=context.map_cache,
    )


def _request_to_keep(session: Session) -> SlotPairs:
    slots = session.frame.slots if session.frame else ()
    return pairs_to_keep(((slot.name, slot.value) for slot in slots), session.query)


async def _record_use(context: GatewayContext, session: Session) -> None:
    """Record that the agreement which led to a successful change was accepted or rejected.

    It was rejected if the session confirmed another symbol and changed none of the agreement's
    files.
    """
    answer = last_map_answer(session)
    if answer is None or not session.intent.writes:
        return
    if session.ready_by not in {"map", "verification"}:
        return
    of_agreement = session._replace(explored_files=answer.files, planned_files=())
    files_unchanged = await run_in_thread(changed_in, context.root, of_agreement) is not True
    if files_unchanged and learning.chose_another(session, answer.current_symbol):
        await record_feedback(context, session, "rejected", answer, ANOTHER_SYMBOL)
    else:
        await record_feedback(context, session, "accepted", answer)
