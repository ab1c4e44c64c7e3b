"""Implement the tool `record_outcome`."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field

from code_intel.errors import CodeIntelError
from code_intel.foundation.git import head
from code_intel.foundation.text import visible
from code_intel.learned.history import outcomes
from code_intel.learned.history.drafts import remove_draft
from code_intel.learned.withdraw import withdraw
from code_intel.session import steps
from code_intel.session.state import Session
from code_intel.tools.context.freshness import refresh_map
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.declaration import BY_NAME, UNLISTED, Answer, SessionId, from_json
from code_intel.tools.search.map_answers import last_map_answer, record_feedback
from code_intel.tools.session.audit_writes import (
    permitted_changes,
    unpermitted_changes,
    unpermitted_note,
)
from code_intel.tools.session.edits import edits_since
from code_intel.tools.session.learn_from_outcome import LearnedOutcome, learn_from_success
from code_intel.tools.session.learn_notes import (
    MAX_NOTES,
    ConventionItem,
    DecisionItem,
    learn_notes,
    notes_sentence,
)

Names = Annotated[
    list[Annotated[str, Field(max_length=300)]],
    Field(max_length=50),
    BeforeValidator(from_json),
]


class Analysis(BaseModel):
    """The result of the work and its cause."""

    root_cause: Annotated[
        str, Field(max_length=4000, description="The cause, in one sentence.")
    ] = ""
    failure_point: Annotated[
        Literal["EXPLORATION", "SEMANTIC", "VERIFICATION", "READY"] | None,
        Field(json_schema_extra=UNLISTED),
    ] = None
    related_symbols: Annotated[Names, Field(json_schema_extra=UNLISTED)] = []
    related_files: Annotated[
        Names,
        Field(description="The files that are meant.", json_schema_extra=UNLISTED),
    ] = []
    user_feedback_summary: Annotated[str, Field(max_length=4000, json_schema_extra=UNLISTED)] = ""


_EMPTY = Analysis()
ENDED = "The session has ended; start_session begins the next one."


async def record_outcome(
    context: GatewayContext,
    outcome: Annotated[
        Literal["success", "failure", "partial"],
        Field(description="How the session ended.", json_schema_extra=BY_NAME),
    ],
    analysis: Annotated[
        Analysis, Field(description="The result.", json_schema_extra=BY_NAME)
    ] = _EMPTY,
    session_id: SessionId = None,
    trigger_message: Annotated[
        str, Field(description="The user's last message.", json_schema_extra=UNLISTED)
    ] = "",
    insist: Annotated[
        bool,
        Field(description="Learn an unconfirmed agreement if none was earned."),
    ] = False,
    conventions: Annotated[
        list[Annotated[ConventionItem, BeforeValidator(from_json)]],
        Field(max_length=MAX_NOTES, description="Rules of this project that the work showed."),
        BeforeValidator(from_json),
    ] = [],
    decisions: Annotated[
        list[Annotated[DecisionItem, BeforeValidator(from_json)]],
        Field(max_length=MAX_NOTES, description="What was decided in this session."),
        BeforeValidator(from_json),
    ] = [],
) -> Answer:
    """End a session with its outcome; record again with its session_id to correct it.

    A success becomes an agreement (which symbol a term means) if a confirmed symbol changed. If an
    agreement alone led to READY, a failure counts against it. Conventions and decisions are kept,
    unconfirmed. `note` says what was learned.
    """
    async with context.session(session_id, "record_outcome") as locked:
        session = locked.session
        corrected = await _undo(context, session, outcome)
        unpermitted = await _unpermitted(context, session)
        record = outcome_record(session, outcome, analysis, trigger_message)
        # Record the outcome first, because learning writes several files and may fail.
        log = await run_in_thread(
            outcomes.append, outcomes.folder_of(context.settings.state), record
        )
        session = await locked.append(steps.outcome(outcome, analysis.model_dump(), unpermitted))
        error = None
        if outcome == "success":
            result, error = await _learn(
                context, session, insist=insist, files=analysis.related_files
            )
        else:
            result = LearnedOutcome(note=await _note_failure(context, session, outcome))
        if learned := [
            steps.learned(*pair, confirmed=pair in result.earned, created=pair in result.created)
            for pair in result.pairs
        ]:
            await locked.append(*learned)
    notes = await learn_notes(context, session, [*conventions, *decisions])
    await _end_draft(context, session)
    commit = await run_in_thread(_what_to_commit, context.root, result.files)
    audit = unpermitted_note(unpermitted)
    said = notes_sentence(notes)
    note = " ".join(filter(None, (corrected, result.note, said, audit, commit, ENDED)))
    files = [file.name for file in result.files]
    data = {
        "success": True,
        "session_id": locked.handle,
        "log_file": str(log.relative_to(context.root)),
        "record_id": record["record_id"],
        "cached_pairs": [{"nl_term": term, "symbol": symbol} for term, symbol in result.pairs],
        "agreement_files": files,
        "agreement_file": files[0] if files else None,
        "map_updated": bool(files),
        **result.map_sync.data,
        "cache_note": note,
        "cache_error": error,
        "note": note,
        **({"silenced": dict(result.silenced)} if result.silenced else {}),
        **({"unpermitted_files": unpermitted} if unpermitted else {}),
        **({"notes": notes} if notes else {}),
    }
    return Answer(data, f"Recorded {outcome}. {note}")


def _what_to_commit(root: Path, files: Sequence[Path]) -> str:
    """Return which agreements to commit; empty if none was written, or without git."""
    if not files or head(root) is None:
        return ""
    paths = (file.relative_to(root) if file.is_relative_to(root) else file for file in files)
    return f"Commit {', '.join(visible(path.as_posix()) for path in paths)} with your change."


async def _undo(context: GatewayContext, session: Session, outcome: str) -> str:
    """Undo what an earlier, different outcome of the session has taught; return a note."""
    if not session.ended or session.outcomes[-1].outcome == outcome:
        return ""
    done = await run_in_thread(
        withdraw, context.settings, session.name, session.created, cache=context.map_cache
    )
    for item in done:
        await refresh_map(context, item.path)
    notes = [f"This corrects the outcome {session.outcomes[-1].outcome}."]
    notes += [
        f"The agreement {' → '.join(item.key)} that it had created is in the trash; "
        f"`code-intel map trash restore {item.trashed}` restores it."
        for item in done
    ]
    return " ".join(notes)


async def _unpermitted(context: GatewayContext, session: Session) -> list[str]:
    """Return the files that the session wrote without permission, `steps.MAX_LISTED` at most."""
    if session.ended:  # its outcome is only corrected
        return []
    edits = await run_in_thread(edits_since, context, session)
    permitted = await run_in_thread(permitted_changes, context, session, edits)
    found = await run_in_thread(unpermitted_changes, context, session, edits, permitted)
    return list(found[: steps.MAX_LISTED])


async def _end_draft(context: GatewayContext, session: Session) -> None:
    """Remove the draft of a session whose outcome is recorded."""
    try:
        await run_in_thread(remove_draft, context.settings, session.name)
    except CodeIntelError as error:
        context.warnings.append(f"The draft of the outcome was not removed: {error.message}")


async def _learn(
    context: GatewayContext, session: Session, *, insist: bool, files: Sequence[str]
) -> tuple[LearnedOutcome, str | None]:
    """Learn from a success; return the result and the error, if learning failed."""
    try:
        return await learn_from_success(context, session, insist=insist, files=files), None
    except CodeIntelError as error:
        note = f"Not learned: {error.message} {error.hint} Then call record_outcome again."
        return LearnedOutcome(note=note), error.message


async def _note_failure(context: GatewayContext, session: Session, outcome: str) -> str:
    """Count a failure against the agreement if that alone led to READY; return a note."""
    answer = last_map_answer(session)
    if outcome != "failure" or answer is None or session.ready_by != "map":
        return "Only successes are learned."
    await record_feedback(context, session, "failed", answer)
    return (
        "Only successes are learned. The failure counts against the agreement "
        f"{answer.nl_term} → {answer.symbol}."
    )


def outcome_record(
    session: Session, outcome: str, analysis: Analysis, trigger: str
) -> dict[str, Any]:
    """Return the entry of the log of outcomes."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    answer = last_map_answer(session)
    # search_smart searches the forest only after the map has missed.
    searches = {"search_forest", "search_smart"} if session.map_missed else {"search_forest"}
    return {
        "record_id": f"outcome_{session.name}_{now}",
        "session_id": session.name,
        "timestamp": now,
        "outcome": outcome,
        "phase_at_outcome": session.phase.value,
        "intent": session.intent.value,
        "devrag_used": any(call.tool in searches for call in session.calls),
        "confidence_was": _confidence(session),
        "ready_by": session.ready_by,
        "band": answer.band if answer else "forest",
        "trigger_message": trigger,
        "analysis": analysis.model_dump(),
    }


def _confidence(session: Session) -> str:
    """Return the confidence of the session's understanding; empty if none was submitted."""
    if session.missing:
        return "low"
    return "high" if session.ready_by in {"map", "understanding", "verification"} else ""
