"""Tool `search_smart`."""

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
from code_intel.tools.context.symbol_facts import readable
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.search.map_answers import last_map_answer, record_feedback
from code_intel.tools.search.map_verdict import MIN_MAP_HITS, JudgedAnswer, judge, symbol_now
from code_intel.tools.search.search_forest import forest_call
from code_intel.tools.wire.answers import (
    cut_text,
    fit,
    hit_data,
    hits_text,
    index_data,
    index_text,
    logged_hits,
)
from code_intel.tools.wire.suspicion import flags_of


async def search_smart(
    context: GatewayContext,
    query: Annotated[
        str, Field(max_length=4000, description="Default: the session's own words.")
    ] = "",
    top_k: Annotated[int, Field(ge=1, le=50, description="Maximum number of hits.")] = 5,
    session_id: SessionId = None,
) -> Answer:
    """Search the map first and, if it does not know, the forest: the first search of every session.

    Without query it asks with the session's own words (the target feature), and only then may a hit
    move the phase: score >= {ready} and every guard to READY, {verification} to
    VERIFICATION. Otherwise hits come from the source and are hypotheses. guards lists what kept a
    good score from READY. If map or forest does not answer, the other does; unavailable says which,
    why, and when it is tried again.
    """
    session, handle = await context.read_session(session_id, "search_smart")
    words = query.strip() or (session.own_words if session else "")
    if not words:
        raise UsageError(
            "There is nothing to ask: no query was given, and no session has words of its own.",
            hint="Call search_smart with a query, or with the session_id from start_session.",
            details={"field": "query"},
        )
    check_query(words)
    since = time.monotonic()
    answer, missing = await try_search(
        context.searcher, "map", context.searcher.search_map(words, max(top_k, MIN_MAP_HITS))
    )
    judged = None
    if answer is not None:
        judged = await judge(context, session, answer, since=since)
        if _spares_the_search(judged, session):
            async with context.perhaps(handle, "search_smart") as held:
                session = await _note_hit(held, judged, words, session)
            shown = replace(answer, hits=judged.hits[:top_k])
            return _from_map(words, shown, judged, session)
        answer = replace(answer, hits=judged.hits)
    found, more = await try_search(
        context.searcher, "forest", context.searcher.search_forest(words, top_k)
    )
    missing += more
    if answer is None and found is None:
        raise no_answer(missing)
    async with context.perhaps(handle, "search_smart") as held:
        session = await _note_miss(held, judged, words, found)
    if found is None and answer is not None:
        return _map_alone(words, answer, top_k, session, missing)
    return _from_forest(words, found or SearchAnswer(()), answer, session, missing)


def _spares_the_search(judged: JudgedAnswer, session: Session | None) -> bool:
    """Return whether a hit makes the forest unnecessary; not if the session rejected its symbol."""
    if judged.verdict.phase is None or judged.best is None or judged.best.agreement is None:
        return False
    return session is None or symbol_now(judged.best.agreement) not in session.refuted


async def _note_hit(
    held: LockedSession | None, judged: JudgedAnswer, words: str, seen: Session | None
) -> Session | None:
    """Record a hit; it moves the session only if that is still as it was judged (`seen`)."""
    if held is None or judged.best is None or judged.best.agreement is None:
        return None
    agreement = judged.best.agreement
    noted = steps.called(
        "search_smart",
        words,
        found=1,
        files=judged.files,
        symbols=(symbol_now(agreement),),
        map_results=logged_hits(judged.hits),
    )

    def judgement(session: Session) -> tuple[Step | None, list[Step]]:
        if seen is None or (session.frame, session.risk) != (seen.frame, seen.risk):
            return None, [noted]
        step = short_circuit.map_step(
            session,
            judged.verdict,
            query=words,
            nl_term=agreement.nl_term,
            symbol=symbol_now(agreement),
            agreed=agreement.symbol,
            score=judged.best.score if judged.best else None,
            symbol_defined=judged.symbol_defined,
            files=judged.files,
        )
        return step, _steps(noted, step)

    step = await held.decide(judgement)
    if step is not None:
        await record_feedback(held.context, held.session, "offered", last_map_answer(held.session))
    await held.context.note(
        held.session, *decision_log.map_decisions(judged.best, judged.verdict, step, "search_smart")
    )
    return held.session


async def _note_miss(
    held: LockedSession | None, judged: JudgedAnswer | None, words: str, found: SearchAnswer | None
) -> Session | None:
    """Record the search; a map that did not answer (`judged` is None) has not missed."""
    if held is None:
        return None
    known = judged.hits if judged else None
    noted = forest_call("search_smart", words, found or SearchAnswer(()), known)
    if judged is None:
        return await held.append(noted)
    symbol = symbol_now(judged.best.agreement) if judged.best and judged.best.agreement else ""
    step = short_circuit.map_step(held.session, judged.verdict, query=words, symbol=symbol)
    decided = decision_log.map_decisions(judged.best, judged.verdict, step, "search_smart")
    await held.context.note(held.session, *decided)
    return await held.append(*_steps(noted, step))


def _steps(noted: Step, step: Step | None) -> list[Step]:
    return [noted, step] if step else [noted]


def _from_map(
    words: str, answer: SearchAnswer, judged: JudgedAnswer, session: Session | None
) -> Answer:
    shown, cut = fit(answer.hits, cut=answer.truncated)
    phase = session.phase if session else judged.verdict.phase
    message = "An agreement answers this; the forest was not asked."
    guards = list(judged.verdict.failed)
    if session and fold(words) != fold(session.own_words):
        message += (
            " It was asked with other words than the session's and moves no phase: "
            f"ask without query for “{session.own_words}”."
        )
    elif guards:
        whys = "; ".join(
            f"{item['guard']} ({item['reason']})" for item in short_circuit.explained(guards)
        )
        message += f" Not READY: {whys}."
    action = next_step(session) if session else "Read the agreement and its files."
    data = {
        "source": "map",
        "status": "PREVIOUS_SUCCESS",
        "query": words,
        "results": [hit_data(hit, text) for hit, text in shown],
        "message": message,
        "next_action": action,
        "next_phase": phase.value if phase else None,
        "guards": guards,
        "guard_details": short_circuit.explained(guards),
        "explored_files": list(session.explored_files) if session else [],
        "hypotheses_to_verify": [h.text for h in session.hypotheses] if session else [],
        "truncated": cut,
        "index": index_data(answer.index),
    }
    return Answer(
        data,
        f"{message}\n{hits_text(shown)}{cut_text(cut=cut)}\n{action}{index_text(answer.index)}",
    )


def _from_forest(
    words: str,
    found: SearchAnswer,
    map_answer: SearchAnswer | None,
    session: Session | None,
    missing: tuple[UnavailableCorpus, ...],
) -> Answer:
    shown, cut = fit(found.hits, cut=found.truncated)
    known = _known(map_answer) if map_answer else None
    said = _said(known, map_answer.index) if map_answer else unavailable_message(missing)
    action = after_search(
        session, found=any(hit.symbol and readable([hit.document]) for hit, _ in shown)
    )
    data = {
        "source": "forest",
        "status": "HYPOTHESIS",
        "query": words,
        "results": [hit_data(hit, text) for hit, text in shown],
        "message": f"{said} {action}",
        "next_action": action,
        "next_phase": session.phase.value if session else None,
        "guards": [],
        "best_map_score": known.score if known else None,
        "best_map": _pair(known),
        "truncated": cut,
        "index": index_data(found.index),
        **unavailable_data(missing),
    }
    body = (
        f"{hits_text(shown)}{cut_text(cut=cut)}\n{action}"
        if shown
        else f"The forest has nothing for “{words}”. {action}"
    )
    why = "".join(f"\n{line}" for line in unavailable_lines(missing))
    return Answer(data, f"{said}{why}{_pair_text(known)}\n{body}{index_text(found.index)}")


def _map_alone(
    words: str,
    answer: SearchAnswer,
    top_k: int,
    session: Session | None,
    missing: tuple[UnavailableCorpus, ...],
) -> Answer:
    """Answer with hits of the map, since the forest did not answer."""
    shown, cut = fit(answer.hits[:top_k], cut=answer.truncated)
    known = _known(answer)
    message = f"{_said(known, answer.index)} {unavailable_message(missing)}"
    why = "".join(f"\n{line}" for line in unavailable_lines(missing))
    data = {
        "source": "map",
        "status": "HYPOTHESIS",
        "query": words,
        "results": [hit_data(hit, text) for hit, text in shown],
        "message": message,
        "next_action": MEANWHILE,
        "next_phase": session.phase.value if session else None,
        "guards": [],
        "best_map_score": known.score if known else None,
        "best_map": _pair(known),
        "truncated": cut,
        "index": index_data(answer.index),
        **unavailable_data(missing),
    }
    body = f"{hits_text(shown)}{cut_text(cut=cut)}\n{MEANWHILE}{index_text(answer.index)}"
    return Answer(data, f"{message}{why}\n{body}")


def _known(answer: SearchAnswer) -> Hit | None:
    return next((hit for hit in answer.hits if hit.agreement is not None), None)


def _pair(known: Hit | None) -> dict[str, object] | None:
    """Return the map's best agreement as data; no message may contain text of a file."""
    if known is None or known.agreement is None or not known.score:
        return None
    nl_term, symbol = known.agreement.nl_term, known.agreement.symbol
    return {"nl_term": nl_term, "symbol": symbol, **flags_of(nl_term, symbol)}


def _pair_text(known: Hit | None) -> str:
    pair = _pair(known)
    return f"\nbest_map: {pair['nl_term']} → {pair['symbol']}" if pair else ""


def _said(known: Hit | None, index: Freshness) -> str:
    """Say what the map found, although it was not enough."""
    if known is None or known.agreement is None or not known.score:
        return "The map does not know this."
    if any(reason.startswith("embedding") for reason in index.degraded):
        return "By its words alone the map would say best_map; without a model it is never sure."
    return (
        f"The map is not sure of best_map ({known.score:.2f}; {VERIFICATION_SCORE:.2f} would do)."
    )
