"""Score the agreements of other repositories as the map scores its own (docs/decisions/0098).

The cards of the own map compete with them, so a small difference to what the project knows already
does not make an answer. Their scores are those of the model's constants: .7 and .8 mean the same.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from code_intel.errors import CodeIntelError
from code_intel.learned.files.agreements import Key, key_of
from code_intel.learned.recall.calibration import Calibration
from code_intel.learned.recall.map_search import MIN_SHOWN_SCORE
from code_intel.learned.recall.recall import Card, RecallMatch, recall
from code_intel.records import MAX_HIT_EVIDENCE, Agreement, AgreementHit, Hit
from code_intel.shared.agreements.texts import agreement_from
from code_intel.shared.agreements.wire import FoundAgreement
from code_intel.shared.wire import vector_bytes, vector_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

NO_REJECTIONS: Mapping[Key, frozenset[str]] = {}


def scored(
    query: str,
    vector: "Vector | None",
    found: Sequence[FoundAgreement],
    constants: Calibration | None,
    *,
    own: Sequence[Card] = (),
    known: Collection[Key] = (),
    rejected: Mapping[Key, frozenset[str]] = NO_REJECTIONS,
) -> list[Hit]:
    """Return hits for the agreements of other repositories, best first; untrusted texts are cut.

    Args:
        query: The question.
        vector: Its vector; None without a model.
        found: The candidates.
        constants: The constants of the model.
        own: The cards of the own map, which compete.
        known: The keys of all agreements of the own map, which are left out.
        rejected: The folded queries for which this project has rejected an agreement.
    """
    rows: dict[tuple[str, Key], tuple[FoundAgreement, Card]] = {}
    for each in found:
        agreement = agreement_from(each.text)
        if agreement is None or key_of(agreement) in known:
            continue
        key = key_of(agreement)
        card = Card(agreement, _vector(each, vector), rejected=rejected.get(key, frozenset()))
        rows.setdefault((each.repository, key), (each, card))
    others = [*rows.values()]
    if not others:
        return []
    matches = recall(query, vector, [*(card for _, card in others), *own], constants)
    return [
        _hit(*others[match.card], match)
        for match in matches
        if match.card < len(others) and match.score >= MIN_SHOWN_SCORE
    ]


def _vector(found: FoundAgreement, query: "Vector | None") -> "Vector | None":
    """Return the vector of a card if it can be compared with that of the question."""
    if query is None or not found.vector:
        return None
    try:
        return vector_of(vector_bytes(found.vector, len(query)))
    except CodeIntelError:
        return None


def _hit(found: FoundAgreement, card: Card, match: RecallMatch) -> Hit:
    agreement: Agreement = card.agreement
    return Hit(
        document=found.path,
        chunk="",
        position=0,
        similarity=(1 + match.cosine) / 2 if match.cosine else 0.0,
        score=match.score,
        symbol=agreement.symbol,
        why=match.reasons,
        agreement=AgreementHit(
            agreement.nl_term,
            agreement.symbol,
            "valid",
            agreement.files,
            learned_at=agreement.learned_at,
            evidence=agreement.evidence[-MAX_HIT_EVIDENCE:],
            role=agreement.role,
            digest=agreement.digest,
        ),
        repository=found.repository,
        commit=found.commit,
        foreign=True,
    )
