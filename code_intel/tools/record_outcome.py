"""Tool `record_outcome`."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, Field

from code_intel import durable
from code_intel.errors import StorageError
from code_intel.git import changed_since
from code_intel.learned.learn import Learned, add_alias, learn, record_use
from code_intel.records import Agreement, FileReference
from code_intel.session import learning, steps
from code_intel.session.state import MappedSymbol, Session, Step
from code_intel.tools.declaration import Answer
from code_intel.tools.desk import Desk, thread
from code_intel.tools.map_index import refresh_map, refresh_source
from code_intel.tools.symbol_facts import definitions_of

Names = Annotated[list[Annotated[str, Field(max_length=300)]], Field(max_length=50)]


class Analysis(BaseModel):
    """What came of the work, and why."""

    root_cause: Annotated[
        str, Field(max_length=4000, description="What the matter was, in one sentence.")
    ] = ""
    failure_point: Literal["EXPLORATION", "SEMANTIC", "VERIFICATION", "READY"] | None = None
    related_symbols: Names = []
    related_files: Names = []
    user_feedback_summary: Annotated[str, Field(max_length=4000)] = ""


_EMPTY = Analysis()


class Taught(NamedTuple):
    """What a success has written: pairs, files, and whether the map already finds them."""

    pairs: tuple[tuple[str, str], ...] = ()
    files: tuple[Path, ...] = ()
    map_sync: str = "nothing to sync"
    note: str = ""


async def record_outcome(
    desk: Desk,
    outcome: Annotated[
        Literal["success", "failure", "partial"], Field(description="How it ended.")
    ],
    analysis: Annotated[Analysis, Field(description="What came of it, and why.")] = _EMPTY,
    session_id: Annotated[
        str | None, Field(description="The session; default: this connection's last.")
    ] = None,
    trigger_message: Annotated[str, Field(description="What the user said when it ended.")] = "",
    insist: Annotated[
        bool,
        Field(description="Write an unconfirmed agreement even if the session has not earned one."),
    ] = False,
) -> Answer:
    """Record how a session ended; a success that was earned becomes an agreement, findable at once.

    Earned means: a write intent, READY reached by understanding or verification, a confirmed symbol that
    the session itself has found, and a change in the explored files. Anything else is only recorded.
    """
    async with desk.session(session_id, "record_outcome") as held:
        session = held.session
        record = _record(session, outcome, analysis, trigger_message)
        log = desk.settings.state / "logs" / "outcomes.jsonl"
        await thread(_append, log, record)
        taught = Taught(note="Only successes are learned.")
        if outcome == "success":
            taught = await _teach(desk, session, insist=insist)
        learned = [steps.learned(*pair) for pair in taught.pairs]
        noted: list[Step] = [*learned, steps.outcome(outcome, analysis.model_dump())]
        await held.append(*noted)
    files = [file.name for file in taught.files]
    message = f"Recorded {outcome}. {taught.note}"
    data = {
        "success": True,
        "session_id": session.id,
        "log_file": str(log.relative_to(desk.root)),
        "record_id": record["record_id"],
        "cached_pairs": [{"nl_term": term, "symbol": symbol} for term, symbol in taught.pairs],
        "agreement_files": files,
        "agreement_file": files[0] if files else None,
        "map_updated": bool(files),
        "map_sync": taught.map_sync,
        "cache_note": taught.note,
        "note": taught.note,
    }
    return Answer(data, message)


async def _teach(desk: Desk, session: Session, *, insist: bool) -> Taught:
    """Learn what the session has earned."""
    await refresh_source(desk, session.explored_files)
    changed = await thread(changed_since, desk.root, session.started_at, session.explored_files)
    may, reason = learning.may_learn(session, git_changed=changed)
    await _note_use(desk, session, changed=changed)
    pairs = learning.pairs_to_learn(session)
    if not pairs or not (may or insist):
        return Taught(note=f"Nothing learned: {reason or 'no confirmed symbol'}.")
    written: list[Learned] = []
    for term, symbol in pairs:
        mapped = session.symbol(symbol)
        assert mapped is not None  # noqa: S101 - pairs come from the session's symbols
        written.append(await _write(desk, session, term, mapped, confirmed=may))
    synced = [await refresh_map(desk, item.agreement_file) for item in written]
    note = "The next question finds it at once." if may else f"Unconfirmed: {reason}."
    deferred = next((state for state in synced if state != "done"), "done")
    return Taught(
        pairs, tuple(dict.fromkeys(item.agreement_file for item in written)), deferred, note
    )


async def _write(
    desk: Desk, session: Session, term: str, mapped: MappedSymbol, *, confirmed: bool
) -> Learned:
    """Write one pair: another word for the agreement that answered this session, or an agreement."""
    answered = session.short_circuit
    if (
        confirmed
        and answered.get("symbol") == mapped.name
        and answered.get("nl_term") not in {"", term}
    ):
        key = (str(answered["nl_term"]), mapped.name)
        return await thread(add_alias, desk.settings, key, term, session.id)
    definitions = (await definitions_of(desk, [mapped.name])).get(mapped.name, [])
    places = [FileReference(d.file, d.line) for d in definitions[:3]]
    named = {place.path for place in places}
    places += [FileReference(file) for file in session.explored_files if file not in named]
    agreement = Agreement(
        nl_term=term,
        symbol=mapped.name,
        evidence=(mapped.evidence,),
        files=tuple(places),
        similarity=mapped.confidence,
        intent=session.intent.value,
        session_id=session.id,
        digest=definitions[0].digest if definitions else "",
        frame=tuple((slot.name, slot.value) for slot in session.frame.slots)
        if session.frame
        else (),
    )
    return await thread(learn, desk.settings, agreement, confirmed=confirmed)


async def _note_use(desk: Desk, session: Session, *, changed: bool | None) -> None:
    """A success on top of an agreement, with a change to show, keeps that agreement young."""
    answered = session.short_circuit
    if session.ready_by and answered.get("nl_term") and changed is not False:
        key = (str(answered["nl_term"]), str(answered["symbol"]))
        await thread(record_use, desk.settings, key)


def _record(session: Session, outcome: str, analysis: Analysis, trigger: str) -> dict[str, Any]:
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return {
        "record_id": f"outcome_{session.id}_{now}",
        "session_id": session.id,
        "timestamp": now,
        "outcome": outcome,
        "phase_at_outcome": session.phase.value,
        "intent": session.intent.value,
        "devrag_used": any(
            call.tool in {"search_forest", "search_smart"} for call in session.calls
        ),
        "confidence_was": "low" if session.missing else "high",
        "trigger_message": trigger,
        "analysis": analysis.model_dump(),
    }


def _append(log: Path, record: dict[str, Any]) -> None:
    """Append one line, in one write, under the lock."""
    line = json.dumps(record, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
    with durable.locked(log.with_name(f"{log.name}.lock")):
        try:
            handle = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                os.write(handle, line)
                os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as error:
            raise StorageError(f"{log} cannot be written: {error.strerror or error}.") from error
