"""Confirm that symbols implement the target feature (docs/decisions/0032).

High similarity is good evidence for a symbol, but low similarity is poor evidence against it: a
Japanese term and its English symbol often score low. Therefore a band decides what must be shown,
not which symbol is right.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from code_intel.errors import SessionError, UsageError
from code_intel.session.phases import Event
from code_intel.session.risk import Risk, assess_risk, higher
from code_intel.session.state import Session, Step
from code_intel.session.understanding.denials import denial
from code_intel.session.wording import (
    content_words,
    fold,
    fold_symbol,
    says_something,
    symbol_parts,
)

DEFAULT_CONFIDENCE = 0.7
"""Confidence of a confirmed symbol whose similarity was not measured."""
_MAX_EVIDENCE_CHARS = 2000
_MIN_SHARED_CHARS = 3
"""Minimum length of a term that is part of a symbol, or the reverse, to count as shared."""


class SimilarityBand(NamedTuple):
    """A range of similarities, and the evidence that its symbols need.

    Attributes:
        name: Its name in answers; empty if nothing was measured.
        minimum: Its lowest similarity, 0 to 1.
        needs_mention: Whether code_evidence must mention the symbol, or its file and a line of it.
        needs_lookup: Whether find_definitions or find_references must have found the symbol in this
            session.
        raises_risk: Whether it raises the risk by one step.
    """

    name: str
    minimum: float
    needs_mention: bool
    needs_lookup: bool
    raises_risk: bool


BANDS = (
    SimilarityBand("high", 0.6, needs_mention=False, needs_lookup=False, raises_risk=False),
    SimilarityBand("gray", 0.3, needs_mention=True, needs_lookup=False, raises_risk=True),
    SimilarityBand("low", 0.0, needs_mention=True, needs_lookup=True, raises_risk=True),
)
"""The bands, the highest first; similarities are calibrated like the scores of the map."""

HIGH, GRAY, _ = BANDS
NO_BAND = GRAY._replace(name="")
"""The band if nothing was measured."""


class SymbolLocation(NamedTuple):
    """The lines where a symbol is defined, counted from 1, including the last."""

    file: str
    first: int
    last: int


class UnprovenSymbol(NamedTuple):
    """A symbol that was not confirmed, with the reason and the remedy."""

    name: str
    band: str
    why: str
    then: str

    def as_dict(self) -> dict[str, str | None]:
        """Return the wire form."""
        return {**self._asdict(), "band": self.band or None}


class ConfirmationVerdict(NamedTuple):
    """A verdict; the caller appends its `step`.

    Attributes:
        step: The event.
        bands: The band of each confirmed symbol.
        not_found: Symbols that the index does not define.
        unproven: Symbols whose band needs more evidence.
        risk: The new risk of the session.
    """

    step: Step
    bands: Mapping[str, SimilarityBand]
    not_found: tuple[str, ...]
    unproven: tuple[UnprovenSymbol, ...]
    risk: Risk


def band_of(similarity: float | None) -> SimilarityBand:
    """Return the band of a similarity; `NO_BAND` for None and for numbers outside 0 to 1.

    >>> [band_of(similarity).name for similarity in (0.9, 0.4, 0.1, None)]
    ['high', 'gray', 'low', '']
    """
    if similarity is None or not 0 <= similarity <= 1:
        return NO_BAND
    return next(band for band in BANDS if similarity >= band.minimum)


def confirm_symbols(
    session: Session,
    symbols: Iterable[str],
    evidence: str,
    *,
    defined: Iterable[str],
    scores: Mapping[str, float] = MappingProxyType({}),
    locations: Mapping[str, Sequence[SymbolLocation]] = MappingProxyType({}),
) -> ConfirmationVerdict:
    """Confirm that symbols implement the target feature.

    Args:
        session: The session, which must have a query frame.
        symbols: The names to confirm.
        evidence: What in the code shows it.
        defined: The names that the local index defines.
        scores: Calibrated similarity of target feature and symbol, 0 to 1, where known.
        locations: Where the symbols are defined, by name.

    Raises:
        SessionError: `no_query_frame`.
        UsageError: The evidence is empty, the index defines none of the symbols, or all of their
            bands need more evidence; names the field.
    """
    evidence = _check_evidence(session, evidence)
    names = [name for name in dict.fromkeys(map(fold_symbol, symbols)) if name]
    index = {fold_symbol(name) for name in defined}
    not_found = tuple(name for name in names if name not in index)
    if len(not_found) == len(names):
        raise UsageError(
            "None of relevant_symbols is defined in the index.",
            hint="Look up the symbol with find_definitions and spell it as in the code.",
            details={"field": "relevant_symbols", "not_found": list(names)},
        )
    scores = {fold_symbol(name): score for name, score in scores.items()}
    lines = {fold_symbol(name): rows for name, rows in locations.items()}
    bands = {name: _band(session, name, scores.get(name)) for name in names if name in index}
    unproven = [
        UnprovenSymbol(name, band.name, *gap)
        for name, band in bands.items()
        if (gap := _evidence_gap(session, band, name, evidence, lines.get(name, ())))
    ]
    for item in unproven:
        del bands[item.name]
    if not bands:
        raise UsageError(
            f"{unproven[0].name} is not confirmed: {unproven[0].why}.",
            hint=f"{unproven[0].then}; then call confirm_symbol_relevance again.",
            details={
                "field": "code_evidence",
                "unproven_symbols": [item.as_dict() for item in unproven],
            },
        )
    return _confirmation(session, bands, scores, evidence, not_found, unproven)


def adjusted_risk(session: Session, *, unsure: bool) -> Risk:
    """Return the risk after a confirmation; under the demands of evidence it stays the same."""
    if session.demands == "evidence":
        return session.risk
    return higher(session.risk, assess_risk(session.intent, session.frame, unsure=unsure))


def implementing_symbols(
    session: Session,
    names: Iterable[str],
    *,
    learned: Collection[str] = (),
    scores: Mapping[str, float] = MappingProxyType({}),
) -> list[str]:
    """Return the `names` that are known to implement the target feature; [] if none exists.

    They were confirmed in this session, are in a learned pair, have a high similarity, or share a
    word with the feature's name.
    """
    term = session.frame.value("target_feature") if session.frame else ""
    if not term:
        return []
    scores = {fold_symbol(name): score for name, score in scores.items()}
    certain = {symbol.name for symbol in session.symbols if symbol.confirmed}
    certain |= {fold_symbol(name) for name in learned}
    return [
        name
        for name in names
        if name in certain or band_of(scores.get(name)) is HIGH or _share_words(term, name)
    ]


def _check_evidence(session: Session, evidence: str) -> str:
    if session.frame is None:
        raise SessionError(
            "The session has no query frame yet.",
            code="no_query_frame",
            hint="Call set_query_frame first: symbols are confirmed for its target_feature.",
        )
    evidence = evidence.strip()
    if not says_something(evidence) or len(evidence) > _MAX_EVIDENCE_CHARS:
        raise UsageError(
            f"code_evidence must contain words and have at most {_MAX_EVIDENCE_CHARS} characters.",
            hint="Describe what in the code shows that the symbol implements the feature; give a "
            "file and line.",
            details={"field": "code_evidence"},
        )
    if words := denial(evidence):
        raise UsageError(
            f"code_evidence says “{words}”: it denies that the symbols implement the feature.",
            hint="Leave out symbols that do not, or describe what in the code shows that they do; "
            "then call confirm_symbol_relevance again.",
            details={"field": "code_evidence"},
        )
    return evidence


def _band(session: Session, name: str, similarity: float | None) -> SimilarityBand:
    """Return the band of a symbol; HIGH if the map led to READY with it."""
    led_to_ready = session.ready_by == "map" and session.short_circuit.get("symbol") == name
    return HIGH if led_to_ready else band_of(similarity)


def _evidence_gap(
    session: Session,
    band: SimilarityBand,
    name: str,
    evidence: str,
    locations: Sequence[SymbolLocation],
) -> tuple[str, str] | None:
    """Return what evidence is missing for a band and how to give it; None if none is missing."""
    reason = f"its similarity to the target feature is {band.name or 'unknown'}"
    if band.needs_lookup and name not in session.corroborated_symbols:
        return (
            f"{reason}, and no call of this session has looked it up",
            f"Look up {name} with find_definitions",
        )
    if band.needs_mention and not _mentions(evidence, name, locations):
        return (
            f"{reason}, and code_evidence mentions neither it nor its file and line",
            f"Describe in code_evidence what {name} does, and mention it or give file:line",
        )
    return None


def _mentions(evidence: str, name: str, locations: Sequence[SymbolLocation]) -> bool:
    """Return whether evidence mentions a symbol, or its file and one of its lines."""
    folded = fold(evidence)
    last_part = re.escape(fold(symbol_parts(name)[-1]))
    if re.search(rf"(?<![a-z0-9_]){last_part}(?![a-z0-9_])", folded):
        return True
    for location in locations:
        file_name = re.escape(fold(location.file.rpartition("/")[2]))
        rest = re.sub(rf"[\w./-]*{file_name}", " ", folded)
        if rest != folded and any(
            location.first <= int(number) <= location.last
            for number in re.findall(r"[0-9]{1,7}", rest)
        ):
            return True
    return False


def _confirmation(
    session: Session,
    bands: Mapping[str, SimilarityBand],
    scores: Mapping[str, float],
    evidence: str,
    not_found: tuple[str, ...],
    unproven: Sequence[UnprovenSymbol],
) -> ConfirmationVerdict:
    unsure = session.unsure or any(band.raises_risk for band in bands.values())
    risk = adjusted_risk(session, unsure=unsure)
    items: list[dict[str, Any]] = [
        {
            "name": name,
            "confidence": scores.get(name, DEFAULT_CONFIDENCE) if band.name else DEFAULT_CONFIDENCE,
            "band": band.name,
            "unsure": band.raises_risk,
        }
        for name, band in bands.items()
    ]
    data = {"symbols": items, "evidence": evidence, "risk": risk.value}
    return ConfirmationVerdict(Step(Event.CONFIRMED, data), bands, not_found, tuple(unproven), risk)


def _share_words(term: str, symbol: str) -> bool:
    if content_words(term) & content_words(symbol):
        return True
    one, other = (re.sub(r"\W|_", "", fold(text)) for text in (term, symbol))
    shorter = min(len(one), len(other))
    return shorter >= _MIN_SHARED_CHARS and (one in other or other in one)
