"""Explain the scores of the map: each candidate with its measures, its status and its limits.

The scores are those of `map_search.search`, which shows fewer of the candidates.
"""

from typing import TYPE_CHECKING, NamedTuple

from code_intel.config import Settings
from code_intel.index.facade import Index
from code_intel.learned.files.agreements import AgreementEntry
from code_intel.learned.recall.calibration import FEATURES, Calibration
from code_intel.learned.recall.candidates import MapCache
from code_intel.learned.recall.map_search import MIN_SHOWN_SCORE, compared_cards
from code_intel.learned.recall.recall import RecallMatch
from code_intel.learned.status.agreement_status import AgreementStatus
from code_intel.learned.status.snapshot import NOW
from code_intel.learned.status.validity import SCORE_CAP, SERVED
from code_intel.records import Agreement

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_EXPLAINED = 10
"""Limit of the candidates that are explained."""


class MeasureShare(NamedTuple):
    """One measure of the evidence for an agreement; see `evidence.MEASURES`.

    Attributes:
        name: Its name in `FEATURES`, or `bias`.
        value: Its value.
        points: What it adds to the log-odds of the score.
    """

    name: str
    value: float
    points: float


class ExplainedCandidate(NamedTuple):
    """An agreement that was compared with a question.

    Attributes:
        agreement: The agreement.
        standing: Its current status.
        score: Its calibrated score, with the limit of its status.
        match: The comparison, without that limit.
        measures: The measures that count; none if only words were compared.
        hidden: Why searches do not return it, as a clause; empty if they do.
    """

    agreement: Agreement
    standing: AgreementStatus
    score: float
    match: RecallMatch
    measures: tuple[MeasureShare, ...]
    hidden: str = ""

    @property
    def entry(self) -> AgreementEntry:
        """The entry of the agreement."""
        return self.standing.entry


def explain(
    settings: Settings,
    index: Index,
    forest: Index,
    query: str,
    vector: "NDArray[np.float32] | None",
    identity: str,
    *,
    cache: MapCache,
    since: float = NOW,
    limit: int = MAX_EXPLAINED,
) -> list[ExplainedCandidate]:
    """Return the best candidates for a question, best first, also those that searches hide.

    See `map_search.compared_cards` for the arguments.
    """
    found = compared_cards(settings, index, forest, query, vector, identity, cache, since)
    explained = []
    for row, match in found.ranked[:limit]:
        standing = found.judge(row.entry)
        score = min(match.score, SCORE_CAP.get(standing.validity, 1.0))
        measures = _measures(match, found.constants)
        hidden = _why_hidden(standing, match)
        explained.append(
            ExplainedCandidate(row.agreement, standing, score, match, measures, hidden)
        )
    return explained


def _measures(match: RecallMatch, constants: Calibration | None) -> tuple[MeasureShare, ...]:
    if constants is None or not match.measures:
        return ()
    shares = zip(FEATURES, match.measures, constants.shares(match.measures), strict=True)
    counted = (MeasureShare(*share) for share in shares if share[2])
    return (*counted, MeasureShare("bias", 1.0, constants.bias))


def _why_hidden(standing: AgreementStatus, match: RecallMatch) -> str:
    if standing.validity not in SERVED:
        return f"it is {standing.validity}"
    if match.score < MIN_SHOWN_SCORE:
        return f"its score is below {MIN_SHOWN_SCORE}"
    return ""
