"""Implement the tool `submit_semantic`."""

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, Field

from code_intel.session import evidence
from code_intel.session.guidance import GREENFIELD
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.context.symbol_facts import can_read_symbols, defines_code
from code_intel.tools.declaration import BY_NAME, UNLISTED, Answer, SessionId, from_json
from code_intel.tools.wire.next_calls import call_text, verification_call

HINT = (
    "Confirm each with a quote of code that this session has printed, or with a call made from now "
    "on for a symbol, file or word that the hypothesis names."
)


class HypothesisItem(BaseModel):
    """One hypothesis."""

    text: Annotated[
        str,
        Field(
            min_length=1,
            description="A sentence that names a symbol or file.",
        ),
    ]
    confidence: Annotated[Literal["high", "medium", "low"], Field(json_schema_extra=UNLISTED)] = (
        "medium"
    )


def _bare(value: object) -> object:
    """Convert a bare string to a hypothesis of medium confidence."""
    value = from_json(value)
    return {"text": value} if isinstance(value, str) else value


async def submit_semantic(
    context: GatewayContext,
    hypotheses: Annotated[
        list[Annotated[HypothesisItem, BeforeValidator(_bare)]],
        Field(description="What the code must still prove.", json_schema_extra=BY_NAME),
    ],
    devrag_reason: Annotated[
        str,
        Field(
            description="Why exploration was not enough.",
            json_schema_extra={"enum": [reason.value for reason in evidence.ForestReason]},
        ),
    ],
    search_queries: Annotated[
        list[str],
        Field(description="The queries that you searched for.", json_schema_extra=UNLISTED),
    ] = [],
    session_id: SessionId = None,
) -> Answer:
    """Submit hypotheses, in SEMANTIC. It leads to VERIFICATION, where each needs evidence."""
    async with context.session(session_id, "submit_semantic") as locked:
        pairs = [(h.text, h.confidence) for h in hypotheses]
        await locked.decide(
            lambda session: (None, [evidence.submit_semantic(session, pairs, devrag_reason)])
        )
        session = locked.session
    texts = [h.text for h in session.hypotheses]
    files = session.seen_files
    symbols = await defines_code(context, files) and can_read_symbols(files)
    tools = "find_definitions, find_references or search_text" if symbols else "search_text"
    noun = "hypothesis" if len(texts) == 1 else "hypotheses"
    message = (
        f"{session.phase}: check {len(texts)} {noun} with {tools}, then call submit_verification."
        + (f" {GREENFIELD}" if session.greenfield else "")
    )
    call = verification_call(session)
    return locked.answer(
        message,
        f"{message} {HINT}\n{call_text(call)}",
        next_phase=session.phase.value,
        hypotheses_to_verify=texts,
        search_queries=search_queries,
        hint=HINT,
        **call,
    )
