"""Count what start_session and search_smart show of the map: what answers, or candidates.

The choice is the product's own (`map_then_forest.Lookup.known`). All agreements count as confirmed
and valid.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.map_judging import Scores, Share, hit, interval, judged
from benchmarks.map_labels import Labels
from code_intel.chunking.agreement import card
from code_intel.embedding.engine import Embedder
from code_intel.learned.recall.map_search import MIN_SHOWN_SCORE
from code_intel.learned.recall.recall import fold
from code_intel.records import VERIFICATION_SCORE, Agreement, AgreementHit, Hit, SearchAnswer
from code_intel.session import short_circuit
from code_intel.session.phases import Intent
from code_intel.session.risk import Risk
from code_intel.session.short_circuit import MapFacts, Rival, ShortCircuitVerdict
from code_intel.tools.search.map_then_forest import Lookup
from code_intel.tools.search.map_verdict import MIN_MAP_HITS, JudgedAnswer


class Shown(NamedTuple):
    """What the questions of sets are shown.

    Attributes:
        answers: The share of the answerable questions whose agreement scores 0.7.
        among: The share of those whose agreement is shown, with or without such a score.
        near_miss: The mean number of agreements shown for a near miss.
        unrelated: The same for an unrelated question.
    """

    answers: Share
    among: Share
    near_miss: float
    unrelated: float


def show_candidates(
    sets: Mapping[str, Labels], scores: Mapping[str, Scores], embedder: Embedder, margin: float
) -> dict[str, Shown]:
    """Print what is shown by set and over all; return it. See `counted` for the arguments."""
    found = {
        name: counted({name: labels}, scores, embedder, margin) for name, labels in sets.items()
    }
    if len(sets) > 1:
        found["all"] = counted(sets, scores, embedder, margin)
    print(
        f"\nshown{'':<18}{f'hit at {VERIFICATION_SCORE}':>23}{'among the three shown':>23}"
        f"{'shown: near miss':>19}{'unrelated':>11}"
    )
    for name, row in found.items():
        cells = (f"{each.share:.3f} [{each.low:.3f}, {each.high:.3f}]" for each in row[:2])
        shares = "".join(f"{cell:>23}" for cell in cells)
        print(f"  {name:<21}{shares}{row.near_miss:>19.2f}{row.unrelated:>11.2f}")
    return found


def counted(
    sets: Mapping[str, Labels], scores: Mapping[str, Scores], embedder: Embedder, margin: float
) -> Shown:
    """Count what the questions of sets are shown, each asked of its own map.

    Args:
        sets: The sets, by name.
        scores: The scores of each, of shape (questions, agreements).
        embedder: The model.
        margin: The margin that the constants demand.
    """
    answers, among, group, sizes, kinds = [], [], [], [], []
    for name, labels in sets.items():
        questions = judged(labels, scores[name])
        places = shown_to(labels, scores[name], embedder, margin)
        sizes += [len(each) for each in places]
        kinds += labels.kinds
        answers += hit(questions, VERIFICATION_SCORE)[questions.answerable].tolist()
        rows = zip(labels.expected, places, strict=True)
        among += [expected in each for expected, each in rows if expected >= 0]
        group += questions.group[questions.answerable].tolist()
    size, kind = np.array(sizes), np.array(kinds)
    means = [
        float(size[kind == each].mean()) if each in kinds else 0.0
        for each in ("near_miss", "unrelated")
    ]
    groups = np.array(group)
    return Shown(interval(np.array(answers), groups), interval(np.array(among), groups), *means)


def shown_to(labels: Labels, scores: Scores, embedder: Embedder, margin: float) -> list[list[int]]:
    """Return what each question of a set is shown; see `shown`."""
    cards = embedder.passages([card(agreement) for agreement in labels.agreements])
    similarities = (1 + embedder.queries(labels.queries) @ cards.T) / 2
    rows = zip(labels.queries, scores, similarities, strict=True)
    return [shown(query, labels.agreements, one, other, margin) for query, one, other in rows]


def shown(
    query: str,
    agreements: Sequence[Agreement],
    scores: Scores,
    similarities: Scores,
    margin: float,
) -> list[int]:
    """Return the agreements, by place, that the tools show for a question.

    Args:
        query: The question.
        agreements: The map.
        scores: The score of each agreement.
        similarities: Its similarity to the question.
        margin: The margin that the constants demand.
    """
    order = np.argsort(-scores, kind="stable")[:MIN_MAP_HITS].tolist()
    hits = {
        place: _hit(agreements[place], float(scores[place]), float(similarities[place]))
        for place in order
        if scores[place] >= MIN_SHOWN_SCORE
    }
    answer = SearchAnswer(tuple(hits.values()))
    verdict = _verdict(answer.hits, margin)
    best = next(iter(answer.hits), None)
    found = JudgedAnswer(best, verdict, hits=answer.hits)
    lookup = Lookup(query, None, found, answer, is_hit=verdict.phase is not None)
    known = {id(each) for each in lookup.known}
    return [place for place, each in hits.items() if id(each) in known]


def _hit(agreement: Agreement, score: float, similarity: float) -> Hit:
    known = AgreementHit(agreement.nl_term, agreement.symbol, "valid")
    return Hit("", "", 0, similarity, score, agreement.symbol, agreement=known)


def _verdict(hits: Sequence[Hit], margin: float) -> ShortCircuitVerdict:
    """Return what the first hit leads to."""
    rivals = [
        Rival(fold(hit.agreement.nl_term), hit.agreement.symbol, hit.score or 0.0, confirmed=True)
        for hit in hits
        if hit.agreement
    ]
    if not rivals:
        return ShortCircuitVerdict("forest", None)
    facts = MapFacts(
        score=rivals[0].score,
        status="valid",
        confirmed=True,
        margin=short_circuit.margin(rivals[0], rivals),
        needed_margin=margin,
        symbol_defined=True,
        risk=Risk.MEDIUM,
        intent=Intent.MODIFY,
    )
    return short_circuit.judge(facts)
