"""Implement the tool `start_session`."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from code_intel.errors import SessionError, UsageError
from code_intel.foundation.git import head
from code_intel.session import journal, steps
from code_intel.session.phases import Intent
from code_intel.session.state import CodePlace, Session, Step
from code_intel.tools.context.client_sessions import MAX_KEY_CHARS
from code_intel.tools.context.gateway import GatewayContext, LockedSession, run_in_thread
from code_intel.tools.context.guidance import with_guidance
from code_intel.tools.context.place_answers import ShownPlace, prints_of_places
from code_intel.tools.context.project_files import baseline
from code_intel.tools.declaration import BY_NAME, UNLISTED, Answer
from code_intel.tools.search.agreed_places import AgreedCode, agreed_code
from code_intel.tools.search.candidates import shown_candidates
from code_intel.tools.search.found_places import MAX_SHOWN_PLACES, places_of_hits
from code_intel.tools.search.map_then_forest import Lookup, look_up, record
from code_intel.tools.session.adopt_session import adopt_session
from code_intel.tools.session.related_files import related_files
from code_intel.tools.session.set_query_frame import Slot, slots_of
from code_intel.tools.session.start_answer import Start
from code_intel.tools.wire.answers import MAX_ROW_TOKENS, logged_hits, tokens
from code_intel.tools.wire.next_calls import reading_call

START_TOKENS = 2500
"""Default budget of an answer: two whole functions, three places, and what is related."""
READS_TOKENS = 80
"""Maximum tokens of the call that reads tests, documents and the change log."""
MIN_FOR_READS = 1000
"""Minimum budget of an answer that has this call."""
MAX_REQUEST_CHARS = 4000
FOREST_HITS = 8
"""Number of files to search for; some cannot be shown."""


async def start_session(
    context: GatewayContext,
    intent: Annotated[
        Literal["IMPLEMENT", "MODIFY", "DELETE", "INVESTIGATE", "QUESTION", "EXPLORE"],
        Field(description="Only the first three can write."),
    ],
    query: Annotated[
        str,
        Field(
            min_length=1, max_length=MAX_REQUEST_CHARS, description="The user's request, verbatim."
        ),
    ],
    target_feature: Annotated[
        Slot,
        Field(description="quote: copied from query; value: what it says, in its words."),
    ] = None,
    trigger_condition: Annotated[
        Slot, Field(description="When it happens.", json_schema_extra=BY_NAME)
    ] = None,
    observed_issue: Annotated[
        Slot, Field(description="What is wrong.", json_schema_extra=BY_NAME)
    ] = None,
    desired_action: Annotated[
        Slot, Field(description="What to do.", json_schema_extra=BY_NAME)
    ] = None,
    token_budget: Annotated[
        int,
        Field(ge=300, le=MAX_ROW_TOKENS, description="Maximum tokens.", json_schema_extra=BY_NAME),
    ] = START_TOKENS,
    repo_path: Annotated[
        str,
        Field(
            description="The project folder; it must be the project of this server.",
            json_schema_extra=UNLISTED,
        ),
    ] = ".",
    client_session: Annotated[
        str,
        Field(
            max_length=MAX_KEY_CHARS,
            description="The client's session. The client's hook sets it.",
            json_schema_extra=UNLISTED,
        ),
    ] = "",
) -> Answer:
    """Start a session and search for the request. Call this first.

    Returns the best places of the source with callers and tests, or what the map (the project's
    agreements) knows, and the next call. Files may be written only in READY.
    """
    await run_in_thread(_check_project, context.root, repo_path)
    handle = await begin_session(context, intent, query)
    if client_session:
        await adopt_session(context, client_session, handle)
    given = slots_of(target_feature, trigger_condition, observed_issue, desired_action)
    async with context.session(handle, "start_session") as locked:
        refused = await _set_frame(locked, given)
        session = locked.session
    found = await _search(context, session)
    start = Start(handle, session, found, refused)
    reserved = READS_TOKENS if token_budget >= MIN_FOR_READS and session.intent.writes else 0
    used = tokens(json.dumps(start.data, ensure_ascii=False)) + reserved
    budget = max(token_budget - used, 0)
    agreed = await agreed_code(context, found, budget)
    found = agreed.found
    shown = await with_forest(context, session.all_words, agreed, budget)
    step = await call_step(context, session, found, shown)
    async with context.session(handle, "start_session") as locked:
        if session.frame is None:  # slots let the map answer, as a later set_query_frame may
            session = await locked.append(step)
        else:
            session = await record(locked, found, step)
    start = start._replace(session=session, found=found, shown=tuple(shown))
    if reserved:
        start = start._replace(reads=await _reads(context, session, start))
    return await with_guidance(context, session, Answer(start.data, start.text))


def _check_project(root: Path, repo_path: str) -> None:
    given = os.path.realpath(root / repo_path)
    if not os.path.isdir(given):  # noqa: PTH112 - Path.is_dir raises if the name is too long
        raise UsageError(
            f"repo_path {repo_path[:200]} is not a folder.", details={"field": "repo_path"}
        )
    if given != os.path.realpath(root):
        raise UsageError(
            f"repo_path {repo_path[:200]} is not the project of this server.",
            hint=f"Omit repo_path, because this server serves {root}. Start another server for "
            "another project.",
            details={"field": "repo_path"},
        )


async def begin_session(context: GatewayContext, intent: str, query: str) -> str:
    """Create a session's journal, and return the session's handle."""

    def create() -> str:
        before, commit = baseline(context.root), head(context.root)
        return journal.create(
            context.sessions,
            Intent(intent),
            query,
            baseline=before,
            commit=commit,
            demands=context.settings.demands,
        ).handle

    handle = await run_in_thread(create)
    context.remember(handle)
    return handle


async def _set_frame(
    locked: LockedSession, slots: Mapping[str, Mapping[str, Any]]
) -> dict[str, str]:
    """Set the slots that are valid, and return what was wrong with the others, by slot.

    If a value is refused, its quote becomes the value; if that is refused, the slot is left out.
    """
    errors = await _refused_slots(locked, slots)
    if not errors:
        return {}
    quoted = {
        name: {**slot, "value": slot["quote"]}
        for name, slot in slots.items()
        if name not in errors or slot["value"] != slot["quote"]
    }
    changes = {
        name: f"{error}; {'its quote is the value now' if name in quoted else 'it is left out'}"
        for name, error in errors.items()
    }
    valid = {name: quoted[name] if name in errors else slots[name] for name in quoted}
    return changes | await _set_frame(locked, valid)


async def _refused_slots(
    locked: LockedSession, slots: Mapping[str, Mapping[str, Any]]
) -> dict[str, str]:
    """Set all slots, or none and return the errors by slot."""
    try:
        if slots:
            await locked.decide(lambda session: (None, steps.set_frame(session, slots)))
    except SessionError as error:
        return {item["slot"]: item["error"] for item in error.details["validation_errors"]}
    return {}


async def _search(context: GatewayContext, session: Session) -> Lookup:
    """Ask map and forest; commands that search neither get an empty answer."""
    if context.upstream is None:
        return Lookup(session.own_words, session, None, None)
    return await look_up(
        context,
        session,
        session.own_words,
        FOREST_HITS,
        forest_query=session.all_words,
        asks_others=True,
    )


async def with_forest(
    context: GatewayContext,
    question: str,
    agreed: AgreedCode,
    budget: int,
    *,
    limit: int = MAX_SHOWN_PLACES,
    with_relations: bool = True,
) -> list[ShownPlace]:
    """Return the code of the agreements and, unless one answers, the forest's places.

    The order is that of their worth: the code of weak candidates comes last.
    """
    places, found = agreed.places, agreed.found
    if found.is_hit:
        return [*places, *agreed.weak]
    hits = found.forest.hits if found.forest else ()
    left = max(budget - sum(place.cost for place in (*places, *agreed.weak)), 0)
    others = await places_of_hits(
        context, hits, question, left, limit=limit, with_relations=with_relations
    )
    shown = {(item.place.file, item.place.symbol): item for item in places}
    for item in (*others, *agreed.weak):
        shown.setdefault((item.place.file, item.place.symbol), item)
    return list(shown.values())


async def _reads(context: GatewayContext, session: Session, start: Start) -> tuple[str, ...]:
    """Return the places of tests, documents and the change log to read next, within the budget."""
    first = start.first_symbol
    if first is None:
        return ()
    symbol = CodePlace(first.place.symbol, first.place.file)
    shown = {item.place.file for item in start.shown}
    places = (await related_files(context, session, [symbol], shown)).places
    while places and tokens(json.dumps(reading_call(places), ensure_ascii=False)) > READS_TOKENS:
        places = places[:-1]
    return places


async def call_step(
    context: GatewayContext,
    session: Session,
    found: Lookup,
    shown: Sequence[ShownPlace],
    tool: str = "start_session",
) -> Step:
    """Return the journal's record of the search and of what the answer prints."""
    hits = found.forest.hits if found.forest else ()
    return steps.called(
        tool,
        found.query,
        found=len(shown),
        files=[item.place.file for item in shown],
        symbols=[item.place.symbol for item in shown if item.place.symbol],
        map_results=logged_hits(found.judged.hits) if found.judged else None,
        forest_results=None if found.is_hit else logged_hits(hits),
        printed=await run_in_thread(prints_of_places, context, shown),
        candidates=shown_candidates(found, session),
        elsewhere=logged_hits(found.others),
    )
