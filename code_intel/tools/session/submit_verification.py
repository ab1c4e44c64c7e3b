"""Implement the tool `submit_verification`."""

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, Field

from code_intel.session import evidence
from code_intel.session.guidance import next_step
from code_intel.session.phases import Phase
from code_intel.session.state import CORROBORATION_TOOLS, Session, Step
from code_intel.session.understanding.demands import read_call
from code_intel.session.understanding.reading import unread_lines
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.guidance import with_guidance
from code_intel.tools.context.prints import current_lines
from code_intel.tools.context.project_files import spelled_files
from code_intel.tools.context.quoted_code import quoted_code
from code_intel.tools.context.source_file import project_path_of
from code_intel.tools.context.symbol_facts import (
    agreed_symbols,
    can_read_symbols,
    created_since,
    defines_code,
    definitions_of,
    symbol_scores,
)
from code_intel.tools.declaration import BY_NAME, UNLISTED, Answer, SessionId, from_json
from code_intel.tools.search.map_answers import (
    SILENCED,
    MapAnswer,
    last_map_answer,
    record_feedback,
    silenced_by,
    silenced_text,
    with_current_name,
)

MAX_COMPARED_SYMBOLS = 50
"""Maximum number of symbols to compare with the target feature."""


class EvidenceItem(BaseModel):
    """What supports an answer: a quote of printed code, or a call."""

    quote: Annotated[str, Field(max_length=4000, description="Printed code, verbatim.")] = ""
    tool: Annotated[str, Field(description="Or the tool that you called.")] = ""
    target: Annotated[str, Field(description="Its symbol or pattern.")] = ""
    result: Annotated[str, Field(description="What it shows.")] = ""
    files: Annotated[list[str], BeforeValidator(from_json), Field(json_schema_extra=UNLISTED)] = []


class VerifiedItem(BaseModel):
    """The answer to one hypothesis."""

    hypothesis: Annotated[str, Field(description="Word for word.")]
    status: Literal["confirmed", "rejected"]
    evidence: Annotated[EvidenceItem, BeforeValidator(from_json)]


async def submit_verification(
    context: GatewayContext,
    verified: Annotated[
        list[Annotated[VerifiedItem, BeforeValidator(from_json)]],
        Field(description="One answer for every hypothesis.", json_schema_extra=BY_NAME),
    ],
    session_id: SessionId = None,
) -> Answer:
    """Confirm or reject every hypothesis, in VERIFICATION.

    A confirmation needs a quote of code that this session has printed, or a call in this phase that
    found something. One leads to READY. If all are rejected, the session returns to EXPLORATION,
    and the map's agreement counts as wrong.
    """
    answers = [
        evidence.HypothesisAnswer(
            item.hypothesis,
            item.status,
            evidence.CallEvidence(
                item.evidence.tool,
                item.evidence.target,
                item.evidence.result,
                tuple(await run_in_thread(spelled_files, context.root, item.evidence.files)),
                item.evidence.quote,
            ),
        )
        for item in verified
    ]
    async with context.session(session_id, "submit_verification") as locked:
        quotes = [item.evidence.quote for item in verified if item.evidence.quote.strip()]
        quoted = await quoted_code(context, locked.session, quotes)
        unread = await _unread(context, locked.session)
        facts = (await _facts(context, locked.session))._replace(quotes=quoted, unread=unread)

        def judgement(
            session: Session,
        ) -> tuple[tuple[evidence.VerificationVerdict, MapAnswer | None], list[Step]]:
            verdict = evidence.submit_verification(session, answers, facts)
            return (verdict, last_map_answer(session)), [verdict.step]

        verdict, offer = await locked.decide(judgement)
        session = locked.session
        # If the symbol has been renamed in the meantime, the agreement was not wrong.
        rejected = (
            verdict.next_phase is Phase.EXPLORATION
            and await run_in_thread(with_current_name, context, offer) == offer
            and await record_feedback(context, session, "rejected", offer, "verification")
        )
    message = f"{session.phase}. {SILENCED if rejected else ''}{next_step(session)}"
    silenced = {"silenced": silenced_by(offer)} if rejected and offer else {}
    warning = "" if verdict.confirmed else "Every hypothesis was rejected. Explore again."
    text = f"{warning} {message}".strip()
    answer = locked.answer(
        message,
        text + "".join(map(silenced_text, silenced.values())),
        next_phase=session.phase.value,
        confirmed=list(verdict.confirmed),
        rejected=list(verdict.rejected),
        corroborated=list(verdict.corroborated),
        explored_files=list(session.explored_files),
        warning=warning,
        **silenced,
    )
    return await with_guidance(context, session, answer)


async def _unread(context: GatewayContext, session: Session) -> dict[str, str]:
    """Return the call that prints each symbol of a hypothesis of which no definition is read."""
    found = await definitions_of(context, [each.symbol for each in session.hypotheses])
    lines = await run_in_thread(current_lines, context, session)
    calls = {}
    for symbol, definitions in found.items():
        places = [(project_path_of(context, d.file), d.line, d.end_line) for d in definitions]
        if all(unread_lines(first, last, lines.get(file, ())) for file, first, last in places):
            calls[symbol] = read_call(*places[0])
    return calls


async def _facts(context: GatewayContext, session: Session) -> evidence.VerificationFacts:
    """Return the facts about the symbols that this session has mapped or just looked up."""
    targets = [
        call.target
        for call in evidence.calls_since_phase(session)
        if call.tool in CORROBORATION_TOOLS and call.is_evidence
    ]
    names = list(dict.fromkeys([*(symbol.name for symbol in session.symbols), *targets]))[
        :MAX_COMPARED_SYMBOLS
    ]
    feature = session.own_words
    return evidence.VerificationFacts(
        await defines_code(context, session.seen_files) and can_read_symbols(session.seen_files),
        frozenset(await agreed_symbols(context, feature, names)),
        await symbol_scores(context, feature, names),
        await created_since(context, session, names),
    )
