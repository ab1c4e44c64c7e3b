"""Implement the tool `add_explored_files`."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, Field

from code_intel.session import steps
from code_intel.session.paths import plain_path
from code_intel.session.understanding.files import FileClaim
from code_intel.tools.context.freshness import refresh_source
from code_intel.tools.context.gateway import GatewayContext, LockedSession, run_in_thread
from code_intel.tools.context.project_files import existing_files, spelled_files
from code_intel.tools.context.symbol_facts import can_read_symbols
from code_intel.tools.declaration import Answer, SessionId, from_json
from code_intel.tools.session.open_by_quote import open_by_quote


class QuotedFileItem(BaseModel):
    """A file to write."""

    file: Annotated[str, Field(max_length=1000, description="Relative to the project.")]
    explanation: Annotated[str, Field(max_length=2000, description="Why, in one sentence.")] = ""
    quote: Annotated[str, Field(max_length=4000, description="Its lines, verbatim.")] = ""


async def add_explored_files(
    context: GatewayContext,
    files: Annotated[
        list[
            Annotated[str, Field(max_length=1000)]
            | Annotated[QuotedFileItem, BeforeValidator(from_json)]
        ],
        Field(min_length=1, max_length=200, description="Files to write to."),
    ],
    session_id: SessionId = None,
) -> Answer:
    """Allow writes to files in READY that check_write_target does not allow, each with a quote.

    First print the lines that the change needs. The quote is judged as submit_understanding judges
    that of a symbol. Under the demands of counts, it is enough that a call has returned the file.
    """
    items = [QuotedFileItem(file=item) if isinstance(item, str) else item for item in files]
    names = await run_in_thread(spelled_files, context.root, [item.file for item in items])
    async with context.session(session_id, "add_explored_files") as locked:
        if locked.session.demands == "counts":
            await _add(context, locked, names)
        else:
            claims = [
                FileClaim(file, item.explanation, item.quote)
                for file, item in zip(names, items, strict=True)
            ]
            step = await open_by_quote(context, locked.session, claims)
            await locked.decide(lambda _: (None, [step]))
        session = locked.session
    message = f"Explored now: {', '.join(session.explored_files)}."
    return locked.answer(
        message,
        current_phase=session.phase.value,
        explored_files=list(session.explored_files),
    )


async def _add(context: GatewayContext, locked: LockedSession, files: Sequence[str]) -> None:
    """Add files that a call of the session has returned."""
    existing = await run_in_thread(existing_files, context.root, files)
    await refresh_source(context, [plain_path(file) for file in existing])
    code = [file for file in existing if can_read_symbols([file])]
    await locked.decide(
        lambda session: (None, [steps.add_explored(session, files, existing, code)])
    )
