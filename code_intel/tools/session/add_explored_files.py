"""Implement the tool `add_explored_files`."""

from typing import Annotated

from pydantic import Field

from code_intel.session import steps
from code_intel.session.paths import plain_path
from code_intel.tools.context.freshness import refresh_source
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.project_files import FileList, existing_files, spelled_files
from code_intel.tools.context.symbol_facts import can_read_symbols
from code_intel.tools.declaration import Answer, SessionId


async def add_explored_files(
    context: GatewayContext,
    files: Annotated[
        FileList, Field(min_length=1, description="Files to write to, relative to the project.")
    ],
    session_id: SessionId = None,
) -> Answer:
    """Add files that may be written in the READY phase, after a search has returned them.

    First find the file with find_definitions, find_references, or search_text with path, in this
    session. Then add it here; from then on check_write_target allows it.
    """
    files = await run_in_thread(spelled_files, context.root, files)
    existing = await run_in_thread(existing_files, context.root, files)
    await refresh_source(context, [plain_path(file) for file in existing])
    async with context.session(session_id, "add_explored_files") as locked:
        code = [file for file in existing if can_read_symbols([file])]
        await locked.decide(
            lambda session: (None, [steps.add_explored(session, files, existing, code)])
        )
        session = locked.session
    message = f"Explored now: {', '.join(session.explored_files)}."
    return locked.answer(
        message,
        current_phase=session.phase.value,
        explored_files=list(session.explored_files),
    )
