"""Tool `revert_to_exploration`."""

from typing import Annotated

from pydantic import Field

from code_intel.session import steps
from code_intel.session.guidance import next_step
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.search.map_answers import last_map_answer, record_feedback


async def revert_to_exploration(
    context: GatewayContext,
    reason: Annotated[str, Field(max_length=1000, description="What was misunderstood.")] = "",
    session_id: SessionId = None,
) -> Answer:
    """Go back to EXPLORATION, when a hypothesis or an agreement turned out to be about something else.

    After an answer of the map it says that the agreement is not what these words mean: they will not lead
    there again until a success shows otherwise.
    """
    async with context.session(session_id, "revert_to_exploration") as held:
        offer = last_map_answer(held.session)
        session = await held.append(steps.revert(reason or "no reason given"))
        await record_feedback(context, session, "rejected", offer, "revert")
    message = f"{session.phase}. {next_step(session)}"
    data = {
        "success": True,
        "session_id": held.handle,
        "next_phase": session.phase.value,
        "message": message,
    }
    return Answer(data, message)
