"""Tool `query`."""

import json
from collections.abc import Container, Iterable, Sequence
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from code_intel.forest.text.grep import confined
from code_intel.foundation.text import visible
from code_intel.index.walk import bases
from code_intel.learned.history.decisions import Decision
from code_intel.records import Freshness
from code_intel.session import phases, router, steps
from code_intel.session.frame import SLOTS, missing_slots
from code_intel.session.guidance import VERIFY
from code_intel.session.requirements import slot_evidenced
from code_intel.session.router import CallPlan, PlannedCall, SearchScope
from code_intel.session.state import Session, Step
from code_intel.tools.context.corpus_service import check_query
from code_intel.tools.context.degraded import unavailable_lines
from code_intel.tools.context.gateway import GatewayContext, thread
from code_intel.tools.context.searchers import try_search
from code_intel.tools.context.symbol_facts import defined_symbols
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.search.findings import FOREST, Finding, Output, merged
from code_intel.tools.search.query_terms import asked_of, ranks
from code_intel.tools.search.run_calls import RUN, calls_of, run
from code_intel.tools.wire.answers import BUDGET, index_data, index_text, logged_hits, tokens
from code_intel.tools.wire.paging import Cursor, Page, page, start_of
from code_intel.tools.wire.suspicion import note_of

MOST_SHOWN = 12
"""Places of one answer; a session has looked at these and at no others."""
LEAST = 700
"""Tokens that places may take however long the plan is."""
LONGEST = 200
"""Characters of the question that are told again."""
MOVED = "The session went on while this ran, so nothing of it was noted there: ask again."


class _Asked(NamedTuple):
    """What is asked, in which session, and what is to be done."""

    question: str
    session: Session | None
    plan: CallPlan
    cursor: tuple[object, ...]


class _Fallback(NamedTuple):
    """Whether the forest was asked, why or why not, and what it said."""

    triggered: bool = False
    reason: str = ""
    output: Output | None = None


async def query(
    context: GatewayContext,
    question: Annotated[
        str, Field(min_length=1, max_length=4000, description="What to find out, in any language.")
    ],
    intent: Annotated[
        Literal["", "IMPLEMENT", "MODIFY", "DELETE", "INVESTIGATE", "QUESTION", "EXPLORE"],
        Field(description="What for; default: the session's intent."),
    ] = "",
    path: Annotated[str, Field(description="Only below this folder or file.")] = ".",
    symbol: Annotated[str, Field(max_length=300, description="A symbol it is about.")] = "",
    file_path: Annotated[str, Field(description="The file it is about.")] = "",
    show_plan: Annotated[bool, Field(description="Also say which calls were made.")] = True,
    cursor: Cursor = "",
    session_id: SessionId = None,
) -> Answer:
    """Answer a question by the calls it takes: definitions, references and text, in one list of places.

    Names in the question are looked up as symbols, its words as text, Japanese ones in the English of code;
    slots of the query frame without evidence are asked with their own words. Each call counts in the session
    as if you had made it, for the places shown. When nothing is found, the forest is asked (after a map miss):
    its hits are hypotheses.
    """
    check_query(question, "question")
    session, handle = await context.read_session(session_id, "query")
    place = await thread(_place, context, path, file_path)
    intent_name = intent or (session.intent.value if session else "QUESTION")
    made = await thread(_plan, context, question, symbol, intent_name, place, session)
    key = (question, intent, path, symbol, file_path)
    asked = _Asked(question, session, made, key)
    start = start_of(cursor, *key)
    outputs = await run(made.steps, calls_of(context), context.report)
    best = await thread(ranks, context.forest.store, question, bases(context.forest.config))
    found = merged(outputs, best)
    fallback = await _fallback(context, question, place, session) if not found else _Fallback()
    if fallback.output:
        outputs, found = [*outputs, fallback.output], merged([*outputs, fallback.output])
    index = await thread(context.forest.freshness)
    decided = _decisions(asked, outputs, fallback)
    head = _head(asked, outputs, fallback, decided, index, show_plan=show_plan)
    budget = max(LEAST, BUDGET - tokens(json.dumps(head, ensure_ascii=False)))
    shown = page(found, start, lambda one: one.data, *key, most=MOST_SHOWN, budget=budget)
    notes = await _noted(context, handle, asked, outputs, found[shown.start : shown.end])
    await context.note(session, *decided)
    return _answer(head, shown, len(found), fallback, index, notes)


def _place(context: GatewayContext, path: str, file_path: str) -> SearchScope:
    """Return where to look, both confined to the project."""
    below = confined(context.root, path)
    file = confined(context.root, file_path, "file_path") if file_path.strip() else ""
    return SearchScope(below, file, (context.root / below).is_file())


def _plan(
    context: GatewayContext,
    question: str,
    symbol: str,
    intent: str,
    place: SearchScope,
    session: Session | None,
) -> CallPlan:
    frame = session.frame if session else None
    missing = missing_slots(frame, router.intent_of(intent))
    slots = [
        asked_of(
            context.forest.store,
            f"{slot.value} {slot.quote}" if slot.quote != slot.value else slot.value,
            slot=slot.name,
        )
        for slot in (frame.slots if frame else ())
        if session and not slot_evidenced(session, slot.name)
    ]
    return router.plan(
        asked_of(context.forest.store, question, symbol=symbol),
        slots,
        intent,
        missing=missing if frame else SLOTS,
        place=place,
        available=RUN,
    )


async def _fallback(
    context: GatewayContext, question: str, place: SearchScope, session: Session | None
) -> _Fallback:
    """Ask the forest where the phase lets a session ask it."""
    if session and FOREST not in phases.allowed_tools(session):
        why = (
            "the map has not been asked in this session: search_smart asks it, then the forest"
            if (session.phase, FOREST) in phases.AFTER_MAP_MISS
            else f"{FOREST} is not allowed in {session.phase}"
        )
        return _Fallback(reason=f"Nothing was found, and {why}.")
    folder, _, file = place.path.rpartition("/") if place.is_file else (place.path, "", "")
    below = "" if folder == "." else folder
    work = context.searcher.search_forest(question, MOST_SHOWN // 2, below, file)
    answer, missing = await try_search(context.searcher, "forest", work)
    if answer is None:
        return _Fallback(reason=f"Nothing was found, and {unavailable_lines(missing)[0]}")
    rows = [
        {
            "document": hit.document,
            "start_line": hit.start_line,
            "end_line": hit.end_line,
            "symbol": hit.symbol,
            "chunk": hit.chunk,
        }
        for hit in answer.hits
    ]
    step = PlannedCall(FOREST, "what may be meant", 1, {"query": question})
    reason = f"No definition, reference or text was found: the forest was asked. {VERIFY}"
    told = {"results": rows, "returned": logged_hits(answer.hits)}
    return _Fallback(True, reason, Output(step, told))  # noqa: FBT003 - a NamedTuple


def _decisions(asked: _Asked, outputs: Sequence[Output], fallback: _Fallback) -> list[Decision]:
    """Return what was decided, in the order in which it was."""
    names = ", ".join(f"{step.tool} {_target(step)}" for step in asked.plan.steps)
    made = [Decision("plan_made", names or "no call", asked.plan.reasoning, "query")]
    for skipped in asked.plan.skipped:
        of = f" for {skipped.slot}" if skipped.slot else ""
        made.append(Decision("step_skipped", f"{skipped.tool}{of}", skipped.why, "query"))
    for output in outputs:
        what = f"{output.step.tool} {_target(output.step)}"
        if output.error:
            made.append(Decision("step_failed", what, output.error, "query"))
        elif output.vague:
            why = "found so much that only what has exactly that name counts as looked at"
            made.append(Decision("step_discounted", what, why, "query"))
    if fallback.reason:
        kind: Any = "fallback_taken" if fallback.triggered else "fallback_refused"
        made.append(Decision(kind, FOREST, fallback.reason, "query"))
    return made


def _target(step: PlannedCall) -> str:
    """Return what a call asks for, as the journal names it."""
    names = ("symbol", "pattern", "query", "file_path", "path")
    return str(next(step.params[name] for name in names if name in step.params))


async def _noted(
    context: GatewayContext,
    handle: str | None,
    asked: _Asked,
    outputs: Sequence[Output],
    shown: Sequence[Finding],
) -> list[str]:
    """Note the calls in the session, as far as their places were shown; return what went wrong with that."""
    if asked.session is None:
        return []
    before = asked.session
    sought = [_target(one.step) for one in outputs if one.step.tool == "find_references"]
    defined = frozenset(await defined_symbols(context, sought))

    def judgement(session: Session) -> tuple[list[str], list[Step]]:
        # What was found for another phase or another frame is evidence for neither.
        if (session.phase_seq, session.frame) != (before.phase_seq, before.frame):
            return [MOVED], []
        return [], list(_calls(asked, outputs, shown, defined))

    async with context.session(handle, "query") as held:
        return await held.decide(judgement)


def _calls(
    asked: _Asked, outputs: Sequence[Output], shown: Sequence[Finding], defined: Container[str]
) -> Iterable[Step]:
    """Yield the calls of a plan as the session is told of them, and the question itself last.

    A place that is not shown was not looked at; a call none of whose places are shown is not told, unless it
    found nothing. Of what is found everywhere, or merely listed, nothing was looked at, and it is no more an
    answer than the forest's hypotheses.
    """
    facts: dict[Finding, None] = {}
    for place, output in enumerate(outputs):
        mine = [finding for finding in shown if place in finding.found_by]
        if output.rows and not mine:
            continue
        seen = output.looked_at(mine)
        facts |= {} if output.step.tool == FOREST else dict.fromkeys(seen)
        yield steps.called(
            output.step.tool,
            _target(output.step),
            ok=not output.error,
            found=len(mine),
            files=[finding.file_path for finding in seen],
            symbols=_symbols(output, seen, defined),
            slot="" if mine and not seen else output.step.slot,
            forest_results=output.data.get("returned"),
        )
    yield steps.called(
        "query",
        asked.question,
        found=len(facts),
        files=[finding.file_path for finding in facts],
        symbols=[finding.symbol_name for finding in facts if finding.symbol_name],
    )


def _symbols(output: Output, seen: Sequence[Finding], defined: Container[str]) -> list[str]:
    """Return the symbols that a call has found: those it names, or, if it is defined, whose uses it found."""
    if output.step.tool == "find_references":
        return [target for target in (_target(output.step),) if seen and target in defined]
    return [finding.symbol_name for finding in seen if finding.symbol_name]


def _head(
    asked: _Asked,
    outputs: Sequence[Output],
    fallback: _Fallback,
    decided: Sequence[Decision],
    index: Freshness,
    *,
    show_plan: bool,
) -> dict[str, Any]:
    """Return the answer without its places."""
    session, question = asked.session, asked.question
    return {
        "question": question if len(question) <= LONGEST else f"{question[:LONGEST]}…",
        "reasoning": asked.plan.reasoning,
        "needs_bootstrap": index.state in {"missing", "building"},
        "plan": [_planned(step) for step in asked.plan.steps] if show_plan else [],
        "step_outputs": [_output(output) for output in outputs],
        "decision_log": [one.data for one in decided],
        "cache_status": index.state,
        "fallback_triggered": fallback.triggered,
        "fallback_reason": fallback.reason,
        "current_phase": session.phase.value if session else None,
        "index": index_data(index),
    }


def _planned(step: PlannedCall) -> dict[str, Any]:
    params = {name: value for name, value in step.params.items() if value not in (".", False)}
    told: dict[str, Any] = {
        "tool": step.tool,
        "purpose": step.purpose,
        "priority": step.priority,
        "params": params,
    }
    return told | ({"slot": step.slot} if step.slot else {})


def _output(output: Output) -> dict[str, Any]:
    told: dict[str, Any] = {"tool": output.step.tool, "found": len(output.rows)}
    return told | ({"error": output.error} if output.error else {})


def _answer(
    head: dict[str, Any],
    shown: Page,
    total: int,
    fallback: _Fallback,
    index: Freshness,
    notes: list[str],
) -> Answer:
    rows = sorted(shown.rows, key=lambda row: -row["confidence"])
    data = head | {"results": rows, "total_results": total, **shown.data()}
    lines = [note_of(rows)] if note_of(rows) else []
    lines += [
        f"{visible(row['file_path'])}:{row['start_line']}  {visible(row['symbol_name'])}"
        f"  [{row['source_tool']}]\n   {visible(row['content_snippet'])}"
        for row in rows
    ]
    if not rows:
        lines.append("Nothing found; try other words, a symbol, or search_text.")
    lines += [fallback.reason] if fallback.reason else []
    lines += shown.rest(total)
    if head["needs_bootstrap"]:
        lines.append("The index is not complete: ask again in some seconds.")
    return Answer(data, "\n".join(lines) + index_text(index)).noting(*notes)
