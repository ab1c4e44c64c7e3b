"""Implement the tool `revert_to_exploration`."""

from typing import Annotated

from pydantic import Field

from code_intel.session import steps
from code_intel.session.guidance import next_step
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.declaration import BY_NAME, Answer, SessionId
from code_intel.tools.search.map_answers import (
    SILENCED,
    last_map_answer,
    record_feedback,
    silenced_by,
    silenced_text,
)


async def revert_to_exploration(
    context: GatewayContext,
    reason: Annotated[
        str,
        Field(max_length=1000, description="What was misunderstood.", json_schema_extra=BY_NAME),
    ] = "",
    session_id: SessionId = None,
) -> Answer:
    """Return to EXPLORATION because a hypothesis or an agreement is wrong.

    The map's agreement on which the session relied is silenced for this query.
    """
    async with context.session(session_id, "revert_to_exploration") as locked:
        offer = last_map_answer(locked.session)
        session = await locked.append(steps.revert(reason or "no reason given"))
        rejected = await record_feedback(context, session, "rejected", offer, "revert")
    message = f"{session.phase}. {SILENCED if rejected else ''}{next_step(session)}"
    if not (rejected and offer):
        return locked.answer(message, next_phase=session.phase.value)
    silenced = silenced_by(offer)
    text = message + silenced_text(silenced)
    return locked.answer(message, text, next_phase=session.phase.value, silenced=silenced)
