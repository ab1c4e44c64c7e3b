"""Search the map, then the forest if no agreement answers, and record the search in a session."""

import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from code_intel.learned.files.agreements import make_key
from code_intel.learned.recall.map_search import MIN_SHOWN_SCORE
from code_intel.learned.recall.recall import fold
from code_intel.records import FAIR_SCORE, VERIFICATION_SCORE, Hit, SearchAnswer
from code_intel.session import short_circuit, steps
from code_intel.session.phases import Phase
from code_intel.session.state import MapCandidate, Print, Session, Step
from code_intel.tools.context import decision_log
from code_intel.tools.context.gateway import GatewayContext, LockedSession
from code_intel.tools.context.searchers import UnavailableCorpus, try_search
from code_intel.tools.search.elsewhere.asking import Elsewhere, ask_elsewhere
from code_intel.tools.search.elsewhere.leading import leading
from code_intel.tools.search.elsewhere.rows import best_of
from code_intel.tools.search.map_answers import last_map_answer, record_feedback
from code_intel.tools.search.map_verdict import MIN_MAP_HITS, JudgedAnswer, judge, symbol_now
from code_intel.tools.wire.answers import logged_hits

MAX_NOTES = 2
"""Limit of the conventions, decisions and warnings to show."""
MAX_KNOWN = 3
"""Limit of the agreements of several terms to show."""
RANK_OFFSET = 2
"""Added to ranks, counted from 0, before their reciprocals are added."""
LEAST_CANDIDATE = MIN_SHOWN_SCORE
"""Lowest score of a candidate: the right agreement is among the best three for more than nine of
ten questions, but often with a low score (docs/decisions/0085)."""


class Lookup(NamedTuple):
    """What map and forest answered.

    Attributes:
        query: What the map was asked.
        session: The session for which the answer was judged, if there is one.
        judged: The judged answer of the map; None if it did not answer.
        map: The map's hits that may be returned; None if it did not answer.
        forest: The forest's hits; None if it was not asked or did not answer.
        missing: The corpora that did not answer.
        is_hit: Whether an agreement answers the query, so that the forest was not asked.
        least: The lowest score of a candidate, if no agreement answers.
        elsewhere: What other repositories have agreed, if they were asked.
    """

    query: str
    session: Session | None
    judged: JudgedAnswer | None
    map: SearchAnswer | None
    forest: SearchAnswer | None = None
    missing: tuple[UnavailableCorpus, ...] = ()
    is_hit: bool = False
    least: float = LEAST_CANDIDATE
    elsewhere: Elsewhere = Elsewhere()

    @property
    def known(self) -> tuple[Hit, ...]:
        """The agreements to show: those that answer and their siblings, else the candidates.

        Beside an agreement that must be verified, candidates are shown as well. Without siblings,
        there are at most `MAX_KNOWN`. A candidate is an agreement of at least the score `least`, or
        `FAIR_SCORE` if only words were compared, or one that `is_fair`.
        """
        hits = [hit for hit in (self.map.hits if self.map else ()) if hit.agreement]
        siblings = sum(_term(hit) == _term(hits[0]) for hit in hits) if self.is_hit else 0
        others = _by_score_and_meaning(hits[siblings:])
        fair = [hit for hit in hits[siblings:] if self.is_fair(hit)]
        least = FAIR_SCORE if self._compares_words_only else self.least
        weak = [hit for hit in others if hit not in fair and (hit.score or 0.0) >= least]
        shown = fair if self._is_ready else [*fair, *weak]
        return (*hits[:siblings], *shown[: max(MAX_KNOWN - siblings, 0)])

    @property
    def notes(self) -> tuple[Hit, ...]:
        """The notes to show, at most `MAX_NOTES`."""
        return tuple(hit for hit in (self.map.hits if self.map else ()) if hit.note)[:MAX_NOTES]

    @property
    def others(self) -> tuple[Hit, ...]:
        """The agreements of other repositories to show, without the one that answers."""
        return best_of(
            self.elsewhere, but=self.judged.best if self.is_hit and self.judged else None
        )

    @property
    def _is_ready(self) -> bool:
        return bool(self.judged and self.judged.verdict.phase is Phase.READY and self.is_hit)

    def is_fair(self, hit: Hit) -> bool:
        """Return whether an agreement is close enough for its code to come before the forest's.

        It is if it scores `FAIR_SCORE`, or `VERIFICATION_SCORE` beside an agreement that answers,
        if it is for the same feature with another request, or if the query contains its term.
        """
        least = VERIFICATION_SCORE if self.is_hit else FAIR_SCORE
        return self.closeness(hit) >= least or contains_term(self.query, _term(hit))

    @property
    def _compares_words_only(self) -> bool:
        degraded = self.map.index.degraded if self.map else ()
        return any(reason.startswith("embedding") for reason in degraded)

    def closeness(self, hit: Hit) -> float:
        """Return the score of an agreement or, of a candidate, that of its feature if higher."""
        score = hit.score or 0.0
        if self.is_hit or self.judged is None or hit.agreement is None:
            return score
        key = make_key(hit.agreement.nl_term, hit.agreement.symbol)
        return max(score, self.judged.features.get(key, 0.0))


async def look_up(
    context: GatewayContext,
    session: Session | None,
    query: str,
    top_k: int,
    *,
    forest_query: str = "",
    asks_others: bool = False,
) -> Lookup:
    """Ask the map and, if no agreement answers, the forest.

    Args:
        context: The project.
        session: The session, if there is one.
        query: The question.
        top_k: Maximum hits.
        forest_query: The question for the forest, if it differs.
        asks_others: Whether the map of other repositories may be asked between the two; an answer
            of it never replaces one of the project's own map.
    """
    since = time.monotonic()
    answer, missing = await try_search(
        context.searcher, "map", context.searcher.search_map(query, max(top_k, MIN_MAP_HITS))
    )
    judged = None
    if answer is not None:
        judged = await judge(context, session, query, answer, since=since)
        answer = replace(answer, hits=_siblings_together(judged.hits))
        if _is_answered_by_map(judged, session):
            return Lookup(query, session, judged, answer, is_hit=True)
    elsewhere = Elsewhere()
    if asks_others and answer is not None:
        elsewhere = await ask_elsewhere(context, query, since=since)
        led = await leading(context, session, query, elsewhere.hits, answer.hits, since=since)
        if led is not None and led.best is not None and _is_answered_by_map(led, session):
            answer = replace(answer, hits=(led.best, *answer.hits))
            return Lookup(query, session, led, answer, is_hit=True, elsewhere=elsewhere)
    found, forest_missing = await try_search(
        context.searcher, "forest", context.searcher.search_forest(forest_query or query, top_k)
    )
    missing += forest_missing
    return Lookup(query, session, judged, answer, found, missing, elsewhere=elsewhere)


def _by_score_and_meaning(hits: Sequence[Hit]) -> list[Hit]:
    """Return hits by the sum of their reciprocal ranks by score and by similarity.

    Low scores say little about which agreement is the right one.
    """
    by_meaning = sorted(hits, key=lambda hit: -hit.similarity)
    ranks = {
        id(hit): 1 / (RANK_OFFSET + hits.index(hit)) + 1 / (RANK_OFFSET + by_meaning.index(hit))
        for hit in hits
    }
    return sorted(hits, key=lambda hit: -ranks[id(hit)])


def contains_term(text: str, term: str) -> bool:
    """Return whether a text contains a folded term as whole words.

    >>> contains_term("Change the Doorman  rule.", "doorman rule"), contains_term("alone", "on")
    (True, False)
    """
    start, end = (r"\b" if term[at : at + 1 or None].isascii() else "" for at in (0, -1))
    return bool(term) and re.search(f"{start}{re.escape(term)}{end}", fold(text)) is not None


def _siblings_together(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Return hits with the agreements of the best one's term next to it: one feature."""
    terms = [_term(hit) for hit in hits if hit.agreement][:1]
    return tuple(sorted(hits, key=lambda hit: _term(hit) not in terms)) if terms else tuple(hits)


def _term(hit: Hit) -> str:
    return fold(hit.agreement.nl_term) if hit.agreement else ""


def _is_answered_by_map(judged: JudgedAnswer, session: Session | None) -> bool:
    """Return whether a hit is good enough and the session has not rejected its symbol."""
    if judged.verdict.phase is None or judged.best is None or judged.best.agreement is None:
        return False
    return session is None or symbol_now(judged.best.agreement) not in session.refuted


def map_call(
    tool: str,
    lookup: Lookup,
    printed: Iterable[Print] = (),
    candidates: Iterable[MapCandidate] = (),
) -> Step:
    """Return the journal's record of a search that an agreement has answered."""
    judged = lookup.judged
    assert judged is not None  # noqa: S101 - the map has answered
    assert judged.best is not None  # noqa: S101 - as above
    assert judged.best.agreement is not None  # noqa: S101 - as above
    return steps.called(
        tool,
        lookup.query,
        found=1,
        files=judged.files,
        symbols=(symbol_now(judged.best.agreement),),
        map_results=logged_hits(judged.hits),
        printed=printed,
        candidates=candidates,
        elsewhere=logged_hits(lookup.others),
    )


async def record(locked: LockedSession, lookup: Lookup, call_step: Step) -> Session:
    """Record a search and its effect on the phase; `call_step` is the call to record."""
    if lookup.is_hit and lookup.judged is not None:
        return await _record_hit(locked, lookup, lookup.judged, call_step)
    return await _record_miss(locked, lookup, call_step)


async def _record_hit(
    locked: LockedSession, lookup: Lookup, judged: JudgedAnswer, call_step: Step
) -> Session:
    """Record a hit; it changes the phase only if the session still is as it was judged."""
    best = judged.best
    assert best is not None  # noqa: S101 - the lookup is a hit
    assert best.agreement is not None  # noqa: S101 - as above
    agreement = best.agreement

    def judgement(session: Session) -> tuple[Step | None, list[Step]]:
        before = lookup.session
        if before is None or (session.frame, session.risk) != (before.frame, before.risk):
            return None, [call_step]
        step = short_circuit.map_step(
            session,
            judged.verdict,
            query=lookup.query,
            nl_term=agreement.nl_term,
            symbol=symbol_now(agreement),
            agreed=agreement.symbol,
            score=best.score,
            symbol_defined=judged.symbol_defined,
            files=judged.files,
            origin=f"{best.repository}@{best.commit}" if best.foreign else "",
        )
        return step, _present_steps(call_step, step)

    step = await locked.decide(judgement)
    if step is not None:
        await record_feedback(
            locked.context, locked.session, "offered", last_map_answer(locked.session)
        )
    await locked.context.note(
        locked.session, *decision_log.map_decisions(best, judged.verdict, step, locked.tool)
    )
    return locked.session


async def _record_miss(locked: LockedSession, lookup: Lookup, call_step: Step) -> Session:
    """Record the search. It is no miss of the map if the map did not answer."""
    judged = lookup.judged
    if judged is None:
        return await locked.append(call_step)
    symbol = symbol_now(judged.best.agreement) if judged.best and judged.best.agreement else ""
    step = short_circuit.map_step(locked.session, judged.verdict, query=lookup.query, symbol=symbol)
    decided = decision_log.map_decisions(judged.best, judged.verdict, step, locked.tool)
    await locked.context.note(locked.session, *decided)
    return await locked.append(*_present_steps(call_step, step))


def _present_steps(call_step: Step, step: Step | None) -> list[Step]:
    return [call_step, step] if step else [call_step]
