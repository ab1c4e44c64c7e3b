"""Implement the tool `check_write_target`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from code_intel.config.client_files import CLIENT_FILES
from code_intel.session import steps
from code_intel.session.open_files import WriteFacts
from code_intel.session.phases import Phase
from code_intel.session.state import Session
from code_intel.session.write_gate import WriteVerdict, check_write, real_files
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
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
        facts = await _facts(context, locked.session, files)
        verdicts = await run_in_thread(
            _check_all, locked.session, context.root, files, facts, allow_new=allow_new_files
        )
        allowed = dict.fromkeys(verdict.file for verdict in verdicts if verdict.file)
        if new := [file for file in allowed if file not in locked.session.permitted_files]:
            await locked.append(steps.permitted(new))
    rows = [
        {
            "file_path": file,
            "allowed": verdict.allowed,
            "error": verdict.error or None,
            "hint": verdict.hint,
        }
        for file, verdict in zip(files, verdicts, strict=True)
    ]
    first = next((row for row in rows if not row["allowed"]), rows[0])
    data = {
        **first,
        "explored_files": [] if first["allowed"] else list(verdicts[0].explored_files),
        "current_phase": locked.session.phase.value,
        **({} if isinstance(file_path, str) else {"targets": rows}),
    }
    return Answer(data, "\n".join(map(_line, rows)))


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
            client_files=CLIENT_FILES.values(),
            facts=facts,
        )
        for file in files
    ]


def _line(row: Mapping[str, Any]) -> str:
    start = "Allowed" if row["allowed"] else f"Not allowed ({row['error']})"
    return f"{start}: {row['file_path']}. {row['hint']}".strip()
