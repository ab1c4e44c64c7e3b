"""Implement the tool `validate_symbol_relevance`."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from code_intel.errors import UsageError
from code_intel.session.relevance import SimilarityBand, adjusted_risk, band_of
from code_intel.session.state import Session
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.context.symbol_facts import agreed_symbols, defined_symbols, symbol_scores
from code_intel.tools.declaration import Answer, SessionId

RESPONSE_SCHEMA = {
    "tool": "confirm_symbol_relevance",
    "relevant_symbols": ["names that implement the feature"],
    "code_evidence": "what in the code proves it; mentions each symbol, or its file and line",
}

EVIDENCE_NEEDED: Mapping[str, str] = {
    "high": "confirm it with evidence from the code",
    "gray": "code_evidence must mention it, or its file and line; the risk goes up one level",
    "low": "look it up with find_definitions first; code_evidence must mention it, or its "
    "file and line; the risk goes up one level",
    "": "not measured: code_evidence must mention it, or its file and line; the risk goes up one "
    "level",
}
"""The evidence needed to confirm a symbol, by the band of its similarity."""

SIMILARITY_NOTE = (
    "The similarity of the names, on the scale of the map's scores. A high value supports a "
    "symbol. A low value does not rule it out, especially across languages: read the code."
)
NO_MODEL = "There is no embedding model, so every symbol counts as gray."


async def validate_symbol_relevance(
    context: GatewayContext,
    target_feature: Annotated[
        str, Field(min_length=1, max_length=300, description="The feature's name.")
    ],
    symbols_identified: Annotated[
        list[str], Field(max_length=50, description="Symbols to compare with it.")
    ] = [],
    symbols: Annotated[
        list[str], Field(max_length=50, description="Alias of symbols_identified.")
    ] = [],
    session_id: SessionId = None,
) -> Answer:
    """Rate how relevant symbols are to a feature, by comparing its name with theirs.

    Returns how similar each symbol is (high, gray or low), what evidence you need to confirm it,
    and which pairs are already agreed. The similarity is only a suggestion: read the code, then
    call confirm_symbol_relevance.
    """
    names = list(dict.fromkeys([*symbols_identified, *symbols]))
    if not names:
        raise UsageError("symbols_identified is empty.", details={"field": "symbols_identified"})
    async with context.session(session_id, "validate_symbol_relevance") as locked:
        handle, session = locked.handle, locked.session
    defined = await defined_symbols(context, names)
    scores = await symbol_scores(context, target_feature, defined)
    agreed = await agreed_symbols(context, target_feature, names)
    usable, reason = context.embedder.available()
    undefined = [s for s in names if s not in defined]
    message = (
        "Read these symbols, then call confirm_symbol_relevance with those that implement the "
        "feature."
    )
    rows = _rows(session, scores | dict.fromkeys(agreed, 1.0), defined)
    data = {
        "session_id": handle,
        "target_feature": target_feature,
        "symbols_count": len(names),
        "validation_prompt": f"Which of these implement “{target_feature}”? Decide from the code.",
        "action_required": message,
        "response_schema": RESPONSE_SCHEMA,
        "cached_matches": sorted(agreed),
        "cache_note": _cache_note(agreed),
        "cache_status": "hit" if agreed else "miss",
        "embedding_suggestions": [row for row in rows if row["similarity"] is not None],
        "embedding_note": SIMILARITY_NOTE if usable else NO_MODEL,
        "embedding_status": "ok" if usable else reason,
        "unmeasured_symbols": [row for row in rows if row["similarity"] is None],
        "undefined_symbols": undefined,
    }
    lines = [f"{_similarity_text(row)}  {row['symbol']}: {row['asks']}" for row in rows]
    lines += [f"not defined: {name}" for name in undefined]
    lines += [f"agreed before: {name}" for name in sorted(agreed)]
    return Answer(data, "\n".join([*lines, message]))


def _rows(
    session: Session, scores: Mapping[str, float], defined: list[str]
) -> list[dict[str, Any]]:
    """Return the defined symbols with the evidence that each needs, the most similar first."""
    order = sorted(defined, key=lambda name: (-scores.get(name, -1.0), name))
    rows = []
    for rank, name in enumerate(order, 1):
        score = scores.get(name)
        band = band_of(score)
        rows.append(
            {
                "symbol": name,
                "similarity": None if score is None else round(score, 4),
                "rank": rank,
                "band": band.name or None,
                "risk_adjustment": _adjusted_risk(session, band),
                "asks": EVIDENCE_NEEDED[band.name],
            }
        )
    return rows


def _adjusted_risk(session: Session, band: SimilarityBand) -> str | None:
    """Return the risk after confirming a symbol of this band; None if it stays the same."""
    unsure = session.unsure or band.raises_risk
    risk = adjusted_risk(session, unsure=unsure)
    return risk.value if risk is not session.risk else None


def _cache_note(agreed: set[str]) -> str:
    if not agreed:
        return "No agreement pairs this feature with any of these symbols."
    return f"Already agreed and still valid: {', '.join(sorted(agreed))}."


def _similarity_text(row: Mapping[str, Any]) -> str:
    return "  – " if row["similarity"] is None else f"{row['similarity']:.2f}"
