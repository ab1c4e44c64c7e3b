"""Implement the tool `query`."""

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
from code_intel.session.requirements import has_evidence
from code_intel.session.router import CallPlan, PlannedCall, SearchScope
from code_intel.session.state import Print, Session, Step
from code_intel.tools.context.corpus_service import check_query
from code_intel.tools.context.degraded import unavailable_lines
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.prints import Passage, prints_in
from code_intel.tools.context.searchers import try_search
from code_intel.tools.context.source_file import project_path_of
from code_intel.tools.context.symbol_facts import defined_symbols
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.search.findings import FOREST, CallFinding, Output, merged
from code_intel.tools.search.query_terms import file_ranks, search_terms
from code_intel.tools.search.run_calls import TOOLS, calls_of, run
from code_intel.tools.wire.answers import (
    MAX_SEARCH_TOKENS,
    index_data,
    index_text,
    logged_hits,
    tokens,
)
from code_intel.tools.wire.paging import AnswerPage, Cursor, page, start_of
from code_intel.tools.wire.suspicion import note_of

MAX_PAGE_PLACES = 12
"""Places in one answer. The session counts only these as looked at."""
MIN_PLACE_TOKENS = 700
"""Tokens reserved for places, however long the plan is."""
MAX_SHOWN_QUESTION_CHARS = 200
"""Maximum length of the question in the answer."""
QUERY_SESSION_CHANGED_NOTE = (
    "The session changed during this call, so nothing was recorded in it. Call again."
)


class _QueryCall(NamedTuple):
    """A call of `query`: the question, its session and the plan of calls."""

    question: str
    session: Session | None
    plan: CallPlan
    cursor: tuple[object, ...]


class _Fallback(NamedTuple):
    """The result of searching the forest, or the reason why it was not searched."""

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
        Field(description="Purpose; default: the session's intent."),
    ] = "",
    path: Annotated[str, Field(description="Only below this folder or file.")] = ".",
    symbol: Annotated[
        str, Field(max_length=300, description="A symbol that the question is about.")
    ] = "",
    file_path: Annotated[str, Field(description="A file that the question is about.")] = "",
    show_plan: Annotated[bool, Field(description="Whether to list the searches as well.")] = True,
    cursor: Cursor = "",
    session_id: SessionId = None,
) -> Answer:
    """Answer a question with several searches (definitions, references, text) merged into one list.

    Looks up names in the question as symbols, searches the files for its words (Japanese words also
    in English), and looks for evidence for parts of the query frame that have none. If nothing is
    found, the forest (the project's source) is searched; its hits are hypotheses.
    """
    check_query(question, "question")
    session, handle = await context.read_session(session_id, "query")
    scope = await run_in_thread(_scope, context, path, file_path)
    intent_name = intent or (session.intent.value if session else "QUESTION")
    plan = await run_in_thread(_plan, context, question, symbol, intent_name, scope, session)
    key = (question, intent, path, symbol, file_path)
    call = _QueryCall(question, session, plan, key)
    start = start_of(cursor, *key)
    outputs = await run(plan.steps, calls_of(context), context.report)
    ranks = await run_in_thread(
        file_ranks, context.forest.store, question, bases(context.forest.config)
    )
    found = merged(outputs, ranks)
    fallback = await _fallback(context, question, scope, session) if not found else _Fallback()
    if fallback.output:
        outputs, found = [*outputs, fallback.output], merged([*outputs, fallback.output])
    index = await run_in_thread(context.forest.freshness)
    decisions = _decisions(call, outputs, fallback)
    head = _head(call, outputs, fallback, decisions, index, show_plan=show_plan)
    budget = max(MIN_PLACE_TOKENS, MAX_SEARCH_TOKENS - tokens(json.dumps(head, ensure_ascii=False)))
    shown = page(
        found, start, lambda finding: finding.data, *key, limit=MAX_PAGE_PLACES, budget=budget
    )
    notes = await _record(context, handle, call, outputs, found[shown.start : shown.end])
    await context.note(session, *decisions)
    return _answer(head, shown, len(found), fallback, index, notes)


def _scope(context: GatewayContext, path: str, file_path: str) -> SearchScope:
    """Return the search scope, confined to the project."""
    relative = confined(context.root, path)
    file = confined(context.root, file_path, "file_path") if file_path.strip() else ""
    return SearchScope(relative, file, (context.root / relative).is_file())


def _plan(
    context: GatewayContext,
    question: str,
    symbol: str,
    intent: str,
    scope: SearchScope,
    session: Session | None,
) -> CallPlan:
    frame = session.frame if session else None
    missing = missing_slots(frame, router.intent_of(intent))
    slots = [
        search_terms(
            context.forest.store,
            f"{slot.value} {slot.quote}" if slot.quote != slot.value else slot.value,
            slot=slot.name,
        )
        for slot in (frame.slots if frame else ())
        if session and not has_evidence(session, slot.name)
    ]
    return router.plan(
        search_terms(context.forest.store, question, symbol=symbol),
        slots,
        intent,
        missing=missing if frame else SLOTS,
        scope=scope,
        available=TOOLS,
    )


async def _fallback(
    context: GatewayContext, question: str, scope: SearchScope, session: Session | None
) -> _Fallback:
    """Search the forest if the session's phase allows it."""
    if session and FOREST not in phases.allowed_tools(session):
        reason = (
            "this session has not searched the map yet; search_smart searches the map, then the "
            "forest"
            if (session.phase, FOREST) in phases.AFTER_MAP_MISS
            else f"{FOREST} is not allowed in {session.phase}"
        )
        return _Fallback(reason=f"Nothing was found, and {reason}.")
    folder, _, file = scope.path.rpartition("/") if scope.is_file else (scope.path, "", "")
    directory = "" if folder == "." else folder
    work = context.searcher.search_forest(question, MAX_PAGE_PLACES // 2, directory, file)
    answer, missing = await try_search(context.searcher, "forest", work)
    if answer is None:
        return _Fallback(reason=f"Nothing was found. {unavailable_lines(missing)[0]}")
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
    step = PlannedCall(FOREST, "what the question may mean", 1, {"query": question})
    reason = f"No definition, reference or text was found, so the forest was searched. {VERIFY}"
    data = {"results": rows, "returned": logged_hits(answer.hits)}
    return _Fallback(True, reason, Output(step, data))  # noqa: FBT003 - a NamedTuple


def _decisions(call: _QueryCall, outputs: Sequence[Output], fallback: _Fallback) -> list[Decision]:
    """Return the rows of the decision log, in order."""
    names = ", ".join(f"{step.tool} {_target(step)}" for step in call.plan.steps)
    rows = [Decision("plan_made", names or "no call", call.plan.reasoning, "query")]
    for skipped in call.plan.skipped:
        slot = f" for {skipped.slot}" if skipped.slot else ""
        rows.append(Decision("step_skipped", f"{skipped.tool}{slot}", skipped.why, "query"))
    for output in outputs:
        call_text = f"{output.step.tool} {_target(output.step)}"
        if output.error:
            rows.append(Decision("step_failed", call_text, output.error, "query"))
        elif output.is_vague:
            reason = "too many results: only those with exactly this name count as looked at"
            rows.append(Decision("step_discounted", call_text, reason, "query"))
    if fallback.reason:
        kind: Any = "fallback_taken" if fallback.triggered else "fallback_refused"
        rows.append(Decision(kind, FOREST, fallback.reason, "query"))
    return rows


def _target(step: PlannedCall) -> str:
    """Return the main argument of a call, for the journal."""
    names = ("symbol", "pattern", "query", "file_path", "path")
    return str(next(step.params[name] for name in names if name in step.params))


async def _record(
    context: GatewayContext,
    handle: str | None,
    call: _QueryCall,
    outputs: Sequence[Output],
    shown: Sequence[CallFinding],
) -> list[str]:
    """Record in the session the calls whose places are shown; return warnings."""
    if call.session is None:
        return []
    before = call.session
    targets = [_target(o.step) for o in outputs if o.step.tool == "find_references"]
    defined = frozenset(await defined_symbols(context, targets))
    printed = await run_in_thread(
        prints_in,
        context,
        [
            Passage(
                project_path_of(context, place.file_path), place.start_line, place.content_snippet
            )
            for place in shown
        ],
    )

    def judgement(session: Session) -> tuple[list[str], list[Step]]:
        # Results for an earlier phase or query frame are not evidence for the current one.
        if (session.phase_seq, session.frame) != (before.phase_seq, before.frame):
            return [QUERY_SESSION_CHANGED_NOTE], []
        return [], list(_calls(call, outputs, shown, defined, printed))

    async with context.session(handle, "query") as locked:
        return await locked.decide(judgement)


def _calls(
    call: _QueryCall,
    outputs: Sequence[Output],
    shown: Sequence[CallFinding],
    defined: Container[str],
    printed: Sequence[Print],
) -> Iterable[Step]:
    """Yield the steps to record in the session: the calls of the plan, then `query` itself.

    Only places that are shown count as looked at. A call is omitted if it found places but none of
    them is shown. Vague results (see `Output.is_vague`) and hits of the forest are not facts.
    """
    facts: dict[CallFinding, None] = {}
    for index, output in enumerate(outputs):
        found = [finding for finding in shown if index in finding.found_by]
        if output.rows and not found:
            continue
        seen = output.looked_at(found)
        facts |= {} if output.step.tool == FOREST else dict.fromkeys(seen)
        yield steps.called(
            output.step.tool,
            _target(output.step),
            ok=not output.error,
            found=len(found),
            files=[finding.file_path for finding in seen],
            symbols=_symbols(output, seen, defined),
            slot="" if found and not seen else output.step.slot,
            forest_results=output.data.get("returned"),
        )
    yield steps.called(
        "query",
        call.question,
        found=len(facts),
        files=[finding.file_path for finding in facts],
        symbols=[finding.symbol_name for finding in facts if finding.symbol_name],
        printed=printed,
    )


def _symbols(output: Output, seen: Sequence[CallFinding], defined: Container[str]) -> list[str]:
    """Return the symbols that a call found; for references, the target if it is defined."""
    if output.step.tool == "find_references":
        return [target for target in (_target(output.step),) if seen and target in defined]
    return [finding.symbol_name for finding in seen if finding.symbol_name]


def _head(
    call: _QueryCall,
    outputs: Sequence[Output],
    fallback: _Fallback,
    decisions: Sequence[Decision],
    index: Freshness,
    *,
    show_plan: bool,
) -> dict[str, Any]:
    """Return all fields of the answer except its places."""
    session, question = call.session, call.question
    return {
        "question": question
        if len(question) <= MAX_SHOWN_QUESTION_CHARS
        else f"{question[:MAX_SHOWN_QUESTION_CHARS]}…",
        "reasoning": call.plan.reasoning,
        "needs_bootstrap": index.state in {"missing", "building"},
        "plan": [_planned(step) for step in call.plan.steps] if show_plan else [],
        "step_outputs": [_output(output) for output in outputs],
        "decision_log": [decision.data for decision in decisions],
        "cache_status": index.state,
        "fallback_triggered": fallback.triggered,
        "fallback_reason": fallback.reason,
        "current_phase": session.phase.value if session else None,
        "index": index_data(index),
    }


def _planned(step: PlannedCall) -> dict[str, Any]:
    params = {name: value for name, value in step.params.items() if value not in (".", False)}
    data: dict[str, Any] = {
        "tool": step.tool,
        "purpose": step.purpose,
        "priority": step.priority,
        "params": params,
    }
    return data | ({"slot": step.slot} if step.slot else {})


def _output(output: Output) -> dict[str, Any]:
    data: dict[str, Any] = {"tool": output.step.tool, "found": len(output.rows)}
    return data | ({"error": output.error} if output.error else {})


def _answer(
    head: dict[str, Any],
    shown: AnswerPage,
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
        lines.append("Nothing likely. Use other words, a symbol, or search_text for exact text.")
    lines += [fallback.reason] if fallback.reason else []
    lines += shown.rest(total)
    if head["needs_bootstrap"]:
        lines.append("The index is not complete. Call again in a few seconds.")
    return Answer(data, "\n".join(lines) + index_text(index)).noting(*notes)
