"""Implement the tool `check_write_target`."""

from typing import Annotated

from pydantic import Field

from code_intel.session.write_gate import check_write
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.declaration import Answer, SessionId


async def check_write_target(
    context: GatewayContext,
    file_path: Annotated[str, Field(min_length=1, description="Relative to the project.")],
    allow_new_files: Annotated[bool, Field(description="Whether it may be created.")] = True,
    session_id: SessionId = None,
) -> Answer:
    """Check whether this session may write to a file. Call it before every edit.

    Writing is allowed only in READY, to explored files and to new files beside them.
    """
    async with context.session(session_id, "check_write_target") as locked:
        verdict = await run_in_thread(
            check_write, locked.session, context.root, file_path, allow_new=allow_new_files
        )
    data = {
        "allowed": verdict.allowed,
        "file_path": file_path,
        "error": verdict.error or None,
        "explored_files": list(verdict.explored_files),
        "hint": verdict.hint,
        "current_phase": locked.session.phase.value,
    }
    start = "Allowed" if verdict.allowed else f"Not allowed ({verdict.error})"
    return Answer(data, f"{start}: {file_path}. {verdict.hint}".strip())
