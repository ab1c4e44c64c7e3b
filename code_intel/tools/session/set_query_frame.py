"""Implement the tool `set_query_frame`."""

from typing import Annotated

from pydantic import BaseModel, Field

from code_intel.session import steps
from code_intel.session.frame import SLOTS, investigation_guidance, missing_slots
from code_intel.session.guidance import risk_reason, risk_text
from code_intel.session.phases import Phase, allowed_tools
from code_intel.session.progress import describe_requirements
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.declaration import Answer, SessionId


class SlotValue(BaseModel):
    """One slot of the query frame.

    Its fields have no descriptions, because every tool with slots would repeat them four times.

    Attributes:
        value: What the quote says about this slot, using only words from the quote.
        quote: Copied word for word from the user's request.
    """

    value: str
    quote: str


Slot = SlotValue | None


def slots_of(*values: Slot) -> dict[str, dict[str, str]]:
    """Return the filled slots by name; `values` are in the order of `frame.SLOTS`."""
    named = zip(SLOTS, values, strict=True)
    return {name: slot.model_dump() for name, slot in named if slot is not None}


async def set_query_frame(
    context: GatewayContext,
    target_feature: Annotated[
        Slot,
        Field(
            description="The feature in question. quote: copied from the request; value: what the "
            "quote says, in its words."
        ),
    ] = None,
    trigger_condition: Annotated[Slot, Field(description="When it happens.")] = None,
    observed_issue: Annotated[Slot, Field(description="What is wrong.")] = None,
    desired_action: Annotated[Slot, Field(description="What to do.")] = None,
    session_id: SessionId = None,
) -> Answer:
    """Set the query frame: what the user's request says, in four slots with quotes from it.

    Omit slots that the request does not mention. If a quote is wrong, the frame is refused. The
    frame determines what you must look at before you may write.
    """
    slots = slots_of(target_feature, trigger_condition, observed_issue, desired_action)
    async with context.session(session_id, "set_query_frame") as locked:
        await locked.decide(lambda session: (None, steps.set_frame(session, slots)))
        session = locked.session
    assert session.frame is not None  # noqa: S101 - just set
    missing = list(missing_slots(session.frame, session.intent))
    allowed = allowed_tools(session, context.offered or None)
    guidance = investigation_guidance(session.frame, session.intent, allowed)
    exploring = session.phase is Phase.EXPLORATION
    requirements = f" {describe_requirements(session)}" if exploring else ""
    message = (
        f"{risk_text(session)}{requirements} "
        f"Next: search_smart, which searches the map for “{session.own_words}”."
    )
    return locked.answer(
        message,
        current_phase=session.phase.value,
        query_frame={
            "raw_query": session.frame.raw_query,
            **{name: session.frame.value(name) or None for name in SLOTS},
            "validated_slots": [slot.name for slot in session.frame.slots],
            "slot_sources": session.frame.slot_sources,
        },
        risk_level=session.risk.value,
        **risk_reason(session),
        missing_slots=missing,
        investigation_guidance={slot: list(tools) for slot, tools in guidance.items()},
    )
