"""Tool `validate_symbol_relevance`."""

from typing import Annotated

from pydantic import Field

from code_intel.errors import UsageError
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.desk import Desk
from code_intel.tools.symbol_facts import agreed_symbols, defined_symbols, symbol_scores

RESPONSE = {
    "tool": "confirm_symbol_relevance",
    "relevant_symbols": ["names that carry out the feature"],
    "code_evidence": "what in the code shows it",
}


async def validate_symbol_relevance(
    desk: Desk,
    target_feature: Annotated[
        str, Field(min_length=1, max_length=300, description="The feature's name.")
    ],
    symbols_identified: Annotated[
        list[str], Field(max_length=50, description="Symbols to compare with it.")
    ] = [],
    symbols: Annotated[
        list[str], Field(max_length=50, description="Another name for symbols_identified.")
    ] = [],
    session_id: SessionId = None,
) -> Answer:
    """Compare a feature's name with symbols by meaning, and show pairs already agreed.

    A proposal, not a decision: read the code, then call confirm_symbol_relevance.
    """
    asked = [*symbols_identified, *symbols]
    if not asked:
        raise UsageError("symbols_identified is empty.", details={"field": "symbols_identified"})
    async with desk.session(session_id, "validate_symbol_relevance") as held:
        handle = held.handle
    defined = await defined_symbols(desk, asked)
    scores = await symbol_scores(desk, target_feature, defined)
    agreed = await agreed_symbols(desk, target_feature, asked)
    ranked = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    usable, reason = desk.embedder.available()
    undefined = [s for s in asked if s not in defined]
    message = "Read these symbols, then call confirm_symbol_relevance with those that carry out the feature."
    data = {
        "session_id": handle,
        "target_feature": target_feature,
        "symbols_count": len(asked),
        "validation_prompt": f"Which of these carry out “{target_feature}”? Decide from the code.",
        "action_required": message,
        "response_schema": RESPONSE,
        "cached_matches": sorted(agreed),
        "embedding_suggestions": [
            {"symbol": name, "similarity": round(score, 4), "rank": rank}
            for rank, (name, score) in enumerate(ranked, 1)
        ],
        "embedding_status": "ok" if usable else reason,
        "undefined_symbols": undefined,
    }
    lines = [f"{score:.2f}  {name}" for name, score in ranked]
    lines += [f"not defined: {name}" for name in undefined]
    lines += [f"agreed before: {name}" for name in sorted(agreed)]
    return Answer(data, "\n".join([*lines, message]))
