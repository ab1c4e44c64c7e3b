"""Implement the tool `search_smart`."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from code_intel.errors import UsageError
from code_intel.records import VERIFICATION_SCORE, Freshness, Hit, SearchAnswer
from code_intel.session import short_circuit
from code_intel.session.guidance import after_search, next_step
from code_intel.session.state import Session, Step
from code_intel.session.wording import fold
from code_intel.tools.context.corpus_service import check_query
from code_intel.tools.context.degraded import (
    MEANWHILE,
    no_answer,
    unavailable_data,
    unavailable_lines,
    unavailable_message,
)
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.guidance import with_guidance
from code_intel.tools.context.place_answers import ShownPlace, prints_of_places
from code_intel.tools.context.places import Place
from code_intel.tools.context.searchers import UnavailableCorpus
from code_intel.tools.context.symbol_facts import can_read_symbols
from code_intel.tools.declaration import BY_NAME, Answer, SessionId
from code_intel.tools.search.agreed_places import agreed_code
from code_intel.tools.search.candidates import shown_candidates
from code_intel.tools.search.elsewhere.rows import elsewhere_lines, elsewhere_row
from code_intel.tools.search.map_then_forest import Lookup, look_up, map_call, record
from code_intel.tools.search.map_verdict import JudgedAnswer
from code_intel.tools.search.search_forest import forest_call, with_places
from code_intel.tools.wire.agreement_rows import agreement_data, agreement_lines
from code_intel.tools.wire.answers import MAX_SEARCH_TOKENS
from code_intel.tools.wire.hit_answers import hit_answer
from code_intel.tools.wire.next_calls import call_text, submission_call, verification_call
from code_intel.tools.wire.note_rows import note_data, note_line
from code_intel.tools.wire.suspicion import flags_of, note_of

MIN_HIT_TOKENS = 400
"""Budget of the hits beside the code of agreements."""
ANSWERED = "An agreement answers this; the forest was not searched."


async def search_smart(
    context: GatewayContext,
    query: Annotated[
        str, Field(max_length=4000, description="Default: the session's own words.")
    ] = "",
    top_k: Annotated[
        int, Field(ge=1, le=50, description="Maximum hits.", json_schema_extra=BY_NAME)
    ] = 5,
    session_id: SessionId = None,
) -> Answer:
    """Search by meaning: the map (the project's agreements), then the forest (its source).

    Only a search without query can change the phase: to READY at a score of {ready} if all guards
    pass, to VERIFICATION at {verification}. Hits of the forest are hypotheses.
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
    found = await look_up(context, session, query, top_k, asks_others=True)
    if found.map is None and found.forest is None:
        raise no_answer(found.missing)
    fair, found, weak = await agreed_code(context, found, MAX_SEARCH_TOKENS - MIN_HIT_TOKENS)
    shown = [*fair, *weak]
    if found.forest is not None:
        found = found._replace(forest=await with_places(context, query, found.forest))
    first = fair[0].place if fair and not found.is_hit else None
    if session is None:
        return _answer(found, top_k, None, shown, first)
    if session.frame is None:
        context.warnings.append(_without_frame(context))
    step = await _call_step(context, session, found, shown)
    async with context.optional_session(handle, "search_smart") as locked:
        if locked is not None:
            session = await record(locked, found, step)
    answer = _answer(found, top_k, session, shown, first)
    return await with_guidance(context, session, answer)


def _without_frame(context: GatewayContext) -> str:
    """Return a note on a session whose request was not split into slots."""
    tools = ("set_query_frame",) if "set_query_frame" in context.offered else ()
    remedy = " or ".join(("the slots of start_session", *tools))
    return f"This session has no query frame. With {remedy}, a search can tell the feature apart."


async def _call_step(
    context: GatewayContext, session: Session, found: Lookup, shown: Sequence[ShownPlace]
) -> Step:
    """Return the journal's record of the call and of what the answer prints."""
    printed = await run_in_thread(prints_of_places, context, shown)
    candidates = shown_candidates(found, session)
    if found.is_hit:
        return map_call("search_smart", found, printed, candidates)
    map_hits = found.judged.hits if found.judged else None
    hits = found.forest or SearchAnswer(())
    return await forest_call(
        context,
        "search_smart",
        found.query,
        hits,
        map_hits,
        budget=hit_budget(shown),
        printed=printed,
        candidates=candidates,
        elsewhere=found.others,
    )


def _answer(
    found: Lookup,
    top_k: int,
    session: Session | None,
    shown: Sequence[ShownPlace],
    first: Place | None,
) -> Answer:
    """Return the answer; `first` is the code of the best candidate if that is a fair one."""
    answer = _found_answer(found, top_k, session, hit_budget(shown))
    candidates = [] if found.is_hit else [agreement_data(hit) for hit in found.known]
    notes = [] if found.is_hit else [note_data(hit) for hit in found.notes]
    places = [item.data for item in shown]
    elsewhere = [elsewhere_row(hit) for hit in found.others]
    call = submission_call(session, first.symbol, first.file) if first else {}
    lines = (
        note_of([*candidates, *notes, *places, *elsewhere]),
        *agreement_lines(candidates),
        *map(note_line, notes),
        *(item.text for item in shown),
        *elsewhere_lines(elsewhere),
        call_text(call),
    )
    added = {"map": candidates, "notes": notes, "places": places, "other_agreements": elsewhere}
    data = {**answer.data, **{name: rows for name, rows in added.items() if rows}, **call}
    return replace(answer, data=data, text="\n".join(filter(None, (answer.text, *lines))))


def hit_budget(shown: Iterable[ShownPlace]) -> int:
    """Return the tokens that are left for the hits beside the code of agreements."""
    return max(MAX_SEARCH_TOKENS - sum(item.cost for item in shown), MIN_HIT_TOKENS)


def _found_answer(found: Lookup, top_k: int, session: Session | None, budget: int) -> Answer:
    if found.is_hit and found.map is not None and found.judged is not None:
        shown = replace(found.map, hits=found.map.hits[:top_k])
        return _from_map(found.query, shown, found.judged, session, budget)
    if found.forest is None and found.map is not None:
        return _from_map_alone(found.query, found.map, top_k, session, found.missing)
    forest = found.forest or SearchAnswer(())
    return _from_forest(found.query, forest, found.map, session, found.missing, budget)


def _from_map(
    query: str,
    answer: SearchAnswer,
    judged: JudgedAnswer,
    session: Session | None,
    budget: int,
) -> Answer:
    phase = session.phase if session else judged.verdict.phase
    guards = list(judged.verdict.failed)
    if session and fold(query) != fold(session.own_words):
        message = (
            f"{ANSWERED} The query is not the session's target feature, so the phase does not "
            f"change. Omit query to search for “{session.own_words}”."
        )
    else:
        message = hit_message(guards)
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
    return hit_answer(answer, fields, before=[message], nothing="", after=after, budget=budget)


def hit_message(guards: Sequence[str]) -> str:
    """Say that an agreement answers, and which guards it fails."""
    reasons = "; ".join(
        f"{item['guard']} ({item['reason']})" for item in short_circuit.explain(guards)
    )
    return f"{ANSWERED} This does not lead to READY: {reasons}." if guards else ANSWERED


def _from_forest(
    query: str,
    found: SearchAnswer,
    map_answer: SearchAnswer | None,
    session: Session | None,
    missing: tuple[UnavailableCorpus, ...],
    budget: int,
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
        budget=budget,
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
