"""Tool `confirm_symbol_relevance`."""

from typing import Annotated

from pydantic import Field

from code_intel.session import steps
from code_intel.session.state import Session, Step
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.desk import Desk
from code_intel.tools.freshen import refresh_source
from code_intel.tools.symbol_facts import canonical, defined_symbols, symbol_scores


async def confirm_symbol_relevance(
    desk: Desk,
    relevant_symbols: Annotated[
        list[str],
        Field(
            min_length=1, max_length=50, description="Symbols that carry out the target feature."
        ),
    ],
    code_evidence: Annotated[
        str, Field(min_length=1, max_length=2000, description="What in the code shows it.")
    ],
    reasoning: Annotated[str, Field(description="Why the others do not matter.")] = "",
    session_id: SessionId = None,
) -> Answer:
    """Confirm which symbols carry out the target feature, with evidence from the code.

    Only confirmed symbols are learned by record_outcome. A symbol must be defined in the index.
    """
    async with desk.session(session_id, "confirm_symbol_relevance") as held:
        touched = (*held.session.explored_files, *held.session.planned_files)
        await refresh_source(desk, touched)
        symbols = await canonical(desk, relevant_symbols)
        defined = await defined_symbols(desk, symbols)
        scores = await symbol_scores(desk, held.session.own_words, defined)

        def judgement(session: Session) -> tuple[tuple[str, ...], list[Step]]:
            step, not_found = steps.confirm_symbols(
                session, symbols, code_evidence, defined=defined, scores=scores
            )
            return not_found, [step]

        not_found = await held.decide(judgement)
        session = held.session
    confirmed = [s for s in session.symbols if s.confirmed]
    names = ", ".join(s.name for s in confirmed)
    message = f"Confirmed: {names}." + (
        f" Not defined: {', '.join(not_found)}." if not_found else ""
    )
    data = {
        "success": True,
        "session_id": held.handle,
        "current_phase": session.phase.value,
        "updated_count": len(confirmed),
        "mapped_symbols": [
            {
                "name": s.name,
                "confidence": s.confidence,
                "source": s.source.value,
                "confirmed": s.confirmed,
            }
            for s in session.symbols
        ],
        "not_found": list(not_found),
        "hint": "Use find_definitions to see how the missing ones are spelled."
        if not_found
        else "",
        "reasoning": reasoning,
        "message": message,
    }
    return Answer(data, message)
