"""Explain what the map does with a question: each candidate, and the phase that it leads to.

The question is judged for a session that asks for exactly this feature, by the functions that judge
it for every other session.
"""

import time
from functools import partial
from typing import NamedTuple

from code_intel.errors import NotFoundError
from code_intel.learned.files.agreements import Key, key_of, make_key
from code_intel.learned.recall.explain import ExplainedCandidate, explain
from code_intel.learned.recall.map_search import MIN_SHOWN_SCORE
from code_intel.learned.recall.recall import fold
from code_intel.records import (
    READY_SCORE,
    VERIFICATION_SCORE,
    Freshness,
    Hit,
    SearchAnswer,
)
from code_intel.session import short_circuit
from code_intel.session.frame import Frame, Slot
from code_intel.session.phases import Intent, Phase
from code_intel.session.risk import provisional_risk
from code_intel.session.state import Session
from code_intel.tools.context.corpus_service import CorpusService
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.search.map_verdict import MIN_MAP_HITS, JudgedAnswer, judge_each

NO_ANSWER = "The map has no sure answer, so a session would search the source."
NO_LOCAL_HIT = "The map that answers does not return it."


class ExplainedAgreement(NamedTuple):
    """A candidate of the map and what it would lead to.

    Attributes:
        candidate: The candidate.
        score: The score that decides.
        phase: The phase it would lead to; None for a search of the source.
        failed: The guards that fail: name, reason and next step.
        sentence: Why it leads to this.
    """

    candidate: ExplainedCandidate
    score: float
    phase: Phase | None
    failed: tuple[dict[str, str], ...]
    sentence: str

    @property
    def is_shown(self) -> bool:
        """Whether a search shows it, or would if its status allowed that."""
        return self.candidate.match.score >= MIN_SHOWN_SCORE


class MapExplanation(NamedTuple):
    """What the map does with a question.

    Attributes:
        candidates: The candidates, best first; the first one decides, unless searches hide it.
        phase: The phase that the map leads to; None for a search of the source.
        sentence: What a session would do next, and why.
        notes: The conventions, decisions and warnings that the map returns.
        freshness: How complete the map's index is.
    """

    candidates: tuple[ExplainedAgreement, ...]
    phase: Phase | None
    sentence: str
    notes: tuple[Hit, ...]
    freshness: Freshness


class Neighbour(NamedTuple):
    """An agreement for which the term of another one may be mistaken.

    The score is that of the term, without the limit of the status.
    """

    candidate: ExplainedCandidate
    score: float


async def explain_map(context: GatewayContext, query: str) -> MapExplanation:
    """Return what the map does with a question that a session asks.

    Raises:
        UsageError: The query is blank.
        UpstreamError: The map did not answer.
    """
    since = time.monotonic()
    answer = await context.searcher.search_map(query, MIN_MAP_HITS)
    judged = await judge_each(context, asking_session(query), query, answer, since=since)
    candidates = await run_in_thread(_candidates, context, query, since)
    verdicts = {_key(each): each for each in judged}
    rows = [
        _explained(candidate, verdicts.get(key_of(candidate.agreement))) for candidate in candidates
    ]
    order = {key: at for at, key in enumerate(verdicts)}
    rows.sort(key=lambda row: order.get(key_of(row.candidate.agreement), len(order)))
    return MapExplanation(
        tuple(rows),
        judged[0].verdict.phase if judged else None,
        _next_step(judged, answer),
        tuple(hit for hit in answer.hits if hit.note),
        answer.index,
    )


async def neighbours(context: GatewayContext, key: Key) -> list[Neighbour]:
    """Return the agreements of other terms that match an agreement's own term, best first.

    Raises:
        NotFoundError: There is no such agreement.
    """
    since = time.monotonic()
    snapshot = await run_in_thread(partial(context.map_cache.snapshot, context.settings))
    entry = snapshot.known.by_key.get(key)
    if entry is None or entry.agreement is None:
        raise NotFoundError(f"The agreement {key[0]} → {key[1]} does not exist.")
    term = entry.agreement.nl_term
    found = await run_in_thread(_candidates, context, term, since)
    others = (each for each in found if fold(each.agreement.nl_term) != fold(term))
    return [Neighbour(each, each.match.score) for each in others]


def asking_session(query: str) -> Session:
    """Return a session whose request and target feature are the query; it is not journaled."""
    risk, reason = provisional_risk(Intent.MODIFY)
    return Session(
        name="",
        seal="",
        root="",
        intent=Intent.MODIFY,
        query=query,
        phase=Phase.EXPLORATION,
        started_at="",
        updated_at="",
        demands="evidence",
        risk=risk,
        risk_reason=reason,
        frame=Frame(query, (Slot("target_feature", query, query),)),
    )


def map_service(context: GatewayContext) -> CorpusService:
    """Return the service of the project's own map, also if an upstream answers searches."""
    return CorpusService(
        context.settings, context.map, context.forest, context.embedder, cache=context.map_cache
    )


def _candidates(context: GatewayContext, query: str, since: float) -> list[ExplainedCandidate]:
    service = map_service(context)
    question = service.comparable(service.question(query))
    return explain(
        context.settings,
        context.map,
        context.forest,
        query,
        question.vector,
        question.identity,
        cache=context.map_cache,
        since=since,
    )


def _explained(candidate: ExplainedCandidate, judged: JudgedAnswer | None) -> ExplainedAgreement:
    if judged is None or judged.best is None:
        reason = f"Searches do not return it: {candidate.hidden}." if candidate.hidden else ""
        return ExplainedAgreement(candidate, candidate.score, None, (), reason or NO_LOCAL_HIT)
    score = judged.best.score or 0.0
    failed = tuple(short_circuit.explain(judged.verdict.failed))
    return ExplainedAgreement(
        candidate, score, judged.verdict.phase, failed, _sentence(score, judged)
    )


def _sentence(score: float, judged: JudgedAnswer) -> str:
    phase, failed = judged.verdict.phase, short_circuit.explain(judged.verdict.failed)
    reasons = "; ".join(guard["reason"] for guard in failed)
    if phase is Phase.READY:
        return f"It leads to READY: its score reaches {READY_SCORE}, and every guard passes."
    if phase is None and score >= VERIFICATION_SCORE:
        return f"It is not used, although its score reaches {VERIFICATION_SCORE}: {reasons}."
    if phase is None:
        return f"Too weak to be used (below {VERIFICATION_SCORE})."
    if score >= READY_SCORE:
        return f"It leads to VERIFICATION, although its score reaches {READY_SCORE}: {reasons}."
    more = f" {reasons[:1].upper()}{reasons[1:]}." if reasons else ""
    return (
        f"It leads to VERIFICATION: its score reaches {VERIFICATION_SCORE}, but not {READY_SCORE}."
        f"{more}"
    )


def _next_step(judged: list[JudgedAnswer], answer: SearchAnswer) -> str:
    """Return what a session that asks this would do next."""
    if not judged or judged[0].best is None or judged[0].best.agreement is None:
        what = "Only other texts of the map match" if answer.hits else "No agreement matches"
        return f"{NO_ANSWER} {what}."
    agreement = judged[0].best.agreement
    pair = f"{agreement.nl_term} → {agreement.symbol}"
    if judged[0].verdict.phase is Phase.READY:
        return (
            f"A session would be READY, by the agreement {pair}. The source would not be searched."
        )
    if judged[0].verdict.phase is Phase.VERIFICATION:
        return (
            f"A session would go to VERIFICATION, and check the agreement {pair} against the code. "
            "The source would not be searched."
        )
    return f"{NO_ANSWER} The best agreement is {pair}."


def _key(judged: JudgedAnswer) -> Key:
    assert judged.best is not None  # noqa: S101 - `judge_each` judges hits for agreements
    assert judged.best.agreement is not None  # noqa: S101 - as above
    return make_key(judged.best.agreement.nl_term, judged.best.agreement.symbol)
