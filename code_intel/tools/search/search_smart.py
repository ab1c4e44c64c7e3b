"""Implement the tool `search_smart`."""

import time
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from code_intel.errors import UsageError
from code_intel.records import VERIFICATION_SCORE, Freshness, Hit, SearchAnswer
from code_intel.session import short_circuit, steps
from code_intel.session.guidance import after_search, next_step
from code_intel.session.state import Session, Step
from code_intel.session.wording import fold
from code_intel.tools.context import decision_log
from code_intel.tools.context.corpus_service import check_query
from code_intel.tools.context.degraded import (
    MEANWHILE,
    no_answer,
    unavailable_data,
    unavailable_lines,
    unavailable_message,
)
from code_intel.tools.context.gateway import GatewayContext, LockedSession
from code_intel.tools.context.searchers import UnavailableCorpus, try_search
from code_intel.tools.context.symbol_facts import can_read_symbols
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.search.map_answers import last_map_answer, record_feedback
from code_intel.tools.search.map_verdict import MIN_MAP_HITS, JudgedAnswer, judge, symbol_now
from code_intel.tools.search.search_forest import forest_call
from code_intel.tools.wire.answers import logged_hits
from code_intel.tools.wire.hit_answers import hit_answer
from code_intel.tools.wire.next_calls import call_text, verification_call
from code_intel.tools.wire.suspicion import flags_of


async def search_smart(
    context: GatewayContext,
    query: Annotated[
        str, Field(max_length=4000, description="Default: the session's own words.")
    ] = "",
    top_k: Annotated[int, Field(ge=1, le=50, description="Maximum hits.")] = 5,
    session_id: SessionId = None,
) -> Answer:
    """Search the map (the project's agreements), then the forest (its source) if nothing matches.

    Only a search without query can change the phase: to READY (files may be written) at a score of
    {ready} if all guards pass, to VERIFICATION at {verification}. `guards` lists what failed. Hits
    from the forest are hypotheses to verify.
    """
    session, handle = await context.read_session(session_id, "search_smart")
    query = query.strip() or (session.own_words if session else "")
    if not query:
        raise UsageError(
            "There is nothing to search for: no query was given, and there is no session.",
            hint="Call search_smart with a query, or with the session_id from start_session.",
            details={"field": "query"},
        )
    check_query(query)
    since = time.monotonic()
    answer, missing = await try_search(
        context.searcher, "map", context.searcher.search_map(query, max(top_k, MIN_MAP_HITS))
    )
    judged = None
    if answer is not None:
        judged = await judge(context, session, query, answer, since=since)
        if _is_answered_by_map(judged, session):
            async with context.optional_session(handle, "search_smart") as locked:
                session = await _record_hit(locked, judged, query, session)
            shown = replace(answer, hits=judged.hits[:top_k])
            return _from_map(query, shown, judged, session)
        answer = replace(answer, hits=judged.hits)
    found, forest_missing = await try_search(
        context.searcher, "forest", context.searcher.search_forest(query, top_k)
    )
    missing += forest_missing
    if answer is None and found is None:
        raise no_answer(missing)
    async with context.optional_session(handle, "search_smart") as locked:
        session = await _record_miss(locked, judged, query, found)
    if found is None and answer is not None:
        return _from_map_alone(query, answer, top_k, session, missing)
    return _from_forest(query, found or SearchAnswer(()), answer, session, missing)


def _is_answered_by_map(judged: JudgedAnswer, session: Session | None) -> bool:
    """Return whether a hit is good enough and the session has not rejected its symbol."""
    if judged.verdict.phase is None or judged.best is None or judged.best.agreement is None:
        return False
    return session is None or symbol_now(judged.best.agreement) not in session.refuted


async def _record_hit(
    locked: LockedSession | None, judged: JudgedAnswer, query: str, judged_session: Session | None
) -> Session | None:
    """Record a hit; it changes the phase only if the session still is as `judged_session`."""
    if locked is None or judged.best is None or judged.best.agreement is None:
        return None
    agreement = judged.best.agreement
    call_step = steps.called(
        "search_smart",
        query,
        found=1,
        files=judged.files,
        symbols=(symbol_now(agreement),),
        map_results=logged_hits(judged.hits),
    )

    def judgement(session: Session) -> tuple[Step | None, list[Step]]:
        if judged_session is None or (session.frame, session.risk) != (
            judged_session.frame,
            judged_session.risk,
        ):
            return None, [call_step]
        step = short_circuit.map_step(
            session,
            judged.verdict,
            query=query,
            nl_term=agreement.nl_term,
            symbol=symbol_now(agreement),
            agreed=agreement.symbol,
            score=judged.best.score if judged.best else None,
            symbol_defined=judged.symbol_defined,
            files=judged.files,
        )
        return step, _present_steps(call_step, step)

    step = await locked.decide(judgement)
    if step is not None:
        await record_feedback(
            locked.context, locked.session, "offered", last_map_answer(locked.session)
        )
    await locked.context.note(
        locked.session,
        *decision_log.map_decisions(judged.best, judged.verdict, step, "search_smart"),
    )
    return locked.session


async def _record_miss(
    locked: LockedSession | None,
    judged: JudgedAnswer | None,
    query: str,
    found: SearchAnswer | None,
) -> Session | None:
    """Record the search. It is no miss of the map if the map did not answer (`judged` is None)."""
    if locked is None:
        return None
    map_hits = judged.hits if judged else None
    call_step = await forest_call(
        locked.context, "search_smart", query, found or SearchAnswer(()), map_hits
    )
    if judged is None:
        return await locked.append(call_step)
    symbol = symbol_now(judged.best.agreement) if judged.best and judged.best.agreement else ""
    step = short_circuit.map_step(locked.session, judged.verdict, query=query, symbol=symbol)
    decided = decision_log.map_decisions(judged.best, judged.verdict, step, "search_smart")
    await locked.context.note(locked.session, *decided)
    return await locked.append(*_present_steps(call_step, step))


def _present_steps(call_step: Step, step: Step | None) -> list[Step]:
    return [call_step, step] if step else [call_step]


def _from_map(
    query: str, answer: SearchAnswer, judged: JudgedAnswer, session: Session | None
) -> Answer:
    phase = session.phase if session else judged.verdict.phase
    message = "An agreement answers this; the forest was not searched."
    guards = list(judged.verdict.failed)
    if session and fold(query) != fold(session.own_words):
        message += (
            " The query is not the session's target feature, so the phase does not change. "
            f"Omit query to search for “{session.own_words}”."
        )
    elif guards:
        reasons = "; ".join(
            f"{item['guard']} ({item['reason']})" for item in short_circuit.explain(guards)
        )
        message += f" This does not lead to READY: {reasons}."
    action = next_step(session) if session else "Read the agreement and its files."
    fields = {
        "source": "map",
        "status": "PREVIOUS_SUCCESS",
        "query": query,
        "message": message,
        "next_action": action,
        "next_phase": phase.value if phase else None,
        "guards": guards,
        "guard_details": short_circuit.explain(guards),
        "explored_files": list(session.explored_files) if session else [],
        "hypotheses_to_verify": [h.text for h in session.hypotheses] if session else [],
        **verification_call(session),
    }
    after = "\n".join(filter(None, (action, call_text(fields))))
    return hit_answer(answer, fields, before=[message], nothing="", after=after)


def _from_forest(
    query: str,
    found: SearchAnswer,
    map_answer: SearchAnswer | None,
    session: Session | None,
    missing: tuple[UnavailableCorpus, ...],
) -> Answer:
    best = _best_agreement_hit(map_answer) if map_answer else None
    map_message = (
        _map_message(best, map_answer.index) if map_answer else unavailable_message(missing)
    )
    action = after_search(
        session, found=any(hit.symbol and can_read_symbols([hit.document]) for hit in found.hits)
    )
    fields = {
        "source": "forest",
        "message": map_message,
        "next_action": action,
        **_hypothesis_fields(query, best, session, missing),
    }
    return hit_answer(
        found,
        fields,
        before=[map_message, *unavailable_lines(missing), _pair_text(best)],
        nothing=f"Nothing in the forest matches “{query}”.",
        after=action,
    )


def _from_map_alone(
    query: str,
    answer: SearchAnswer,
    top_k: int,
    session: Session | None,
    missing: tuple[UnavailableCorpus, ...],
) -> Answer:
    """Answer with hits of the map, because the forest did not answer."""
    best = _best_agreement_hit(answer)
    message = f"{_map_message(best, answer.index)} {unavailable_message(missing)}"
    fields = {
        "source": "map",
        "message": message,
        "next_action": MEANWHILE,
        **_hypothesis_fields(query, best, session, missing),
    }
    return hit_answer(
        replace(answer, hits=answer.hits[:top_k]),
        fields,
        before=[message, *unavailable_lines(missing)],
        nothing="",
        after=MEANWHILE,
    )


def _hypothesis_fields(
    query: str,
    best: Hit | None,
    session: Session | None,
    missing: tuple[UnavailableCorpus, ...],
) -> dict[str, object]:
    """Return the fields of an answer that changes no phase; `best` is the map's best hit."""
    return {
        "status": "HYPOTHESIS",
        "query": query,
        "next_phase": session.phase.value if session else None,
        "guards": [],
        "best_map_score": best.score if best else None,
        "best_map": _pair(best),
        **unavailable_data(missing),
    }


def _best_agreement_hit(answer: SearchAnswer) -> Hit | None:
    return next((hit for hit in answer.hits if hit.agreement is not None), None)


def _pair(best: Hit | None) -> dict[str, object] | None:
    """Return the map's best agreement as data, because messages must not contain text of files."""
    if best is None or best.agreement is None or not best.score:
        return None
    nl_term, symbol = best.agreement.nl_term, best.agreement.symbol
    return {"nl_term": nl_term, "symbol": symbol, **flags_of(nl_term, symbol)}


def _pair_text(best: Hit | None) -> str:
    pair = _pair(best)
    return f"best_map: {pair['nl_term']} → {pair['symbol']}" if pair else ""


def _map_message(best: Hit | None, index: Freshness) -> str:
    """Explain why the map's best hit was not good enough."""
    if best is None or best.agreement is None or not best.score:
        return "No agreement matches."
    if any(reason.startswith("embedding") for reason in index.degraded):
        return "best_map matches by keyword only. Without an embedding model, that is not enough."
    return f"best_map scores too low ({best.score:.2f}; needed: {VERIFICATION_SCORE:.2f})."
