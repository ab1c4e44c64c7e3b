"""Implement the tool `check_write_target`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from code_intel.config.client_files import GUARDED_FILES
from code_intel.session import steps
from code_intel.session.open_files import WriteFacts
from code_intel.session.phases import Phase
from code_intel.session.state import Session
from code_intel.session.write_gate import WriteVerdict, check_write, hints_of, real_files
from code_intel.tools.context.decision_log import denied_writes
from code_intel.tools.context.gateway import GatewayContext, LockedSession, run_in_thread
from code_intel.tools.context.guidance import with_guidance
from code_intel.tools.context.write_facts import write_facts
from code_intel.tools.declaration import BY_NAME, UNLISTED, Answer, SessionId, from_json

MAX_TARGETS = 50
WriteTargets = Annotated[
    list[Annotated[str, Field(min_length=1)]], Field(min_length=1, max_length=MAX_TARGETS)
]


async def check_write_target(
    context: GatewayContext,
    file_path: Annotated[
        Annotated[str, Field(min_length=1)] | WriteTargets,
        Field(
            description="Relative to the project; one file or several.", json_schema_extra=BY_NAME
        ),
        BeforeValidator(from_json),
    ],
    allow_new_files: Annotated[
        bool, Field(description="Whether it may be created.", json_schema_extra=UNLISTED)
    ] = True,
    session_id: SessionId = None,
) -> Answer:
    """Check whether this session may write to files. Call it before you edit them.

    In READY, these are printed files that define, use, test or name the confirmed symbols, and new
    files beside them. A file stays open once it was allowed.
    """
    files = [file_path] if isinstance(file_path, str) else file_path
    async with context.session(session_id, "check_write_target") as locked:
        verdicts, hints = await judge_writes(locked, files, allow_new=allow_new_files)
    session = locked.session
    if isinstance(file_path, str):
        answer = _answer(session, file_path, verdicts[0])
    else:
        answer = _answer_several(session, files, verdicts, hints)
    allowed = [verdict.file for verdict in verdicts if verdict.file]
    return await with_guidance(context, session, answer, allowed) if allowed else answer


async def judge_writes(
    locked: LockedSession, files: Sequence[str], *, allow_new: bool = True, denies: bool = True
) -> tuple[Sequence[WriteVerdict], Sequence[str]]:
    """Return the verdict about each file and the next steps, and record what is allowed.

    The log of decisions gets what is not allowed, unless this only advises (`denies` is False).
    """
    context, session = locked.context, locked.session
    facts = await _facts(context, session, files)
    verdicts = await run_in_thread(
        _check_all, session, context.root, files, facts, allow_new=allow_new
    )
    allowed = dict.fromkeys(verdict.file for verdict in verdicts if verdict.file)
    if new := [file for file in allowed if file not in session.permitted_files]:
        await locked.append(steps.permitted(new))
    if denies:
        await context.note(session, *denied_writes(session, files, verdicts, locked.tool))
    return verdicts, hints_of(verdicts, facts)


def _row(file: str, verdict: WriteVerdict, hint: str) -> dict[str, Any]:
    error = verdict.error or None
    return {"file_path": file, "allowed": verdict.allowed, "error": error, "hint": hint}


def _answer(session: Session, file: str, verdict: WriteVerdict) -> Answer:
    data = {
        **_row(file, verdict, verdict.hint),
        "explored_files": [] if verdict.allowed else list(verdict.explored_files),
        "current_phase": session.phase.value,
    }
    start = "Allowed" if verdict.allowed else f"Not allowed ({verdict.error})"
    return Answer(data, f"{start}: {file}. {verdict.hint}".strip())


def _answer_several(
    session: Session, files: Sequence[str], verdicts: Sequence[WriteVerdict], hints: Sequence[str]
) -> Answer:
    """Answer each file in one line, and state each next step once."""
    pairs = list(zip(files, verdicts, strict=True))
    file, first = next((pair for pair in pairs if not pair[1].allowed), pairs[0])
    data = {
        **_row(file, first, " ".join(hints)),
        "current_phase": session.phase.value,
        "targets": [_row(*pair, pair[1].why_closed) for pair in pairs],
    }
    allowed = [file for file, verdict in pairs if verdict.allowed]
    lines = [f"Allowed: {', '.join(allowed)}."] if allowed else []
    lines += [
        f"Not allowed ({verdict.error}): {file} {verdict.why_closed}".rstrip() + "."
        for file, verdict in pairs
        if not verdict.allowed
    ]
    return Answer(data, "\n".join([*lines, *hints]))


async def _facts(
    context: GatewayContext, session: Session, files: Sequence[str]
) -> WriteFacts | None:
    """Return the facts for the write gate; None under the demands of counts."""
    if session.demands == "counts":
        return None
    if session.phase is not Phase.READY or not session.intent.writes:
        return WriteFacts()
    return await write_facts(context, session, real_files(context.root, files))


def _check_all(
    session: Session,
    root: Path,
    files: Sequence[str],
    facts: WriteFacts | None,
    *,
    allow_new: bool,
) -> list[WriteVerdict]:
    return [
        check_write(
            session,
            root,
            file,
            allow_new=allow_new,
            client_files=GUARDED_FILES,
            facts=facts,
        )
        for file in files
    ]
