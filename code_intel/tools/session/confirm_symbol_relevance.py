"""Implement the tool `confirm_symbol_relevance`."""

from typing import Annotated, Any

from pydantic import Field

from code_intel.session import relevance
from code_intel.session.guidance import risk_reason
from code_intel.session.relevance import ConfirmationVerdict
from code_intel.session.risk import Risk
from code_intel.session.state import Session, Step
from code_intel.tools.context.freshness import refresh_source
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.context.symbol_facts import (
    canonical_names,
    definitions_of,
    likeness,
    locations_of,
)
from code_intel.tools.declaration import UNLISTED, Answer, SessionId


async def confirm_symbol_relevance(
    context: GatewayContext,
    relevant_symbols: Annotated[
        list[str],
        Field(
            min_length=1, max_length=50, description="Symbols that implement the target feature."
        ),
    ],
    code_evidence: Annotated[
        str,
        Field(
            min_length=1,
            max_length=2000,
            description="What in the code proves it.",
        ),
    ],
    reasoning: Annotated[
        str, Field(description="Why the others are not relevant.", json_schema_extra=UNLISTED)
    ] = "",
    session_id: SessionId = None,
) -> Answer:
    """Confirm which symbols implement the target feature, with evidence from the code.

    record_outcome learns only confirmed symbols. A symbol whose name is unlike the feature's needs
    more evidence: below a similarity of {high_likeness}, code_evidence must mention it, or its file
    and line; below {gray_likeness}, this session must also have looked it up.
    """
    async with context.session(session_id, "confirm_symbol_relevance") as locked:
        touched = (*locked.session.explored_files, *locked.session.planned_files)
        await refresh_source(context, touched)
        symbols = await canonical_names(context, relevant_symbols)
        defined = await definitions_of(context, symbols)
        scores = await likeness(context, locked.session.own_words, list(defined))
        before = locked.session.risk

        def judgement(session: Session) -> tuple[ConfirmationVerdict, list[Step]]:
            verdict = relevance.confirm_symbols(
                session,
                symbols,
                code_evidence,
                defined=defined,
                scores=scores,
                locations=locations_of(defined),
            )
            return verdict, [verdict.step]

        verdict = await locked.decide(judgement)
        session = locked.session
    message = " ".join(_sentences(session, verdict, before))
    return locked.answer(
        message,
        current_phase=session.phase.value,
        updated_count=len(verdict.bands),
        mapped_symbols=[
            {
                "name": s.name,
                "confidence": s.confidence,
                "source": s.source.value,
                "confirmed": s.confirmed,
                **_band(verdict, s.name),
            }
            for s in session.symbols
        ],
        not_found=list(verdict.not_found),
        unproven_symbols=[item.as_dict() for item in verdict.unproven],
        risk_level=session.risk.value,
        **risk_reason(session),
        risk_adjustment=session.risk.value if session.risk is not before else None,
        hint=_hint(verdict),
        reasoning=reasoning,
    )


def _sentences(session: Session, verdict: ConfirmationVerdict, before: Risk) -> list[str]:
    """Return one sentence for each result."""
    sentences = [f"Confirmed: {', '.join(verdict.bands)}."]
    if verdict.not_found:
        sentences.append(f"Not defined: {', '.join(verdict.not_found)}.")
    sentences += [f"Not confirmed: {item.name} ({item.why})." for item in verdict.unproven]
    unsure = [name for name, band in verdict.bands.items() if band.raises_risk]
    if unsure and session.risk is not before:
        sentences.append(
            f"The risk is now {session.risk}, because the name of {', '.join(unsure)} is not "
            "similar to the feature's."
        )
    return sentences


def _band(verdict: ConfirmationVerdict, name: str) -> dict[str, Any]:
    band = verdict.bands.get(name)
    return {"band": band.name or None} if band else {}


def _hint(verdict: ConfirmationVerdict) -> str:
    if verdict.unproven:
        return f"{verdict.unproven[0].then}, then call confirm_symbol_relevance again."
    if verdict.not_found:
        return "Find the spelling of the missing symbols with find_definitions."
    return ""
