"""Measure what the map is worth, how often it answered, and what became of its answers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from code_intel.config import Settings
from code_intel.foundation.text import counted
from code_intel.learned.history import outcomes
from code_intel.learned.history.experience import AgreementExperience
from code_intel.learned.history.state import open_state
from code_intel.learned.history.statistics import MAX_OUTCOMES, Statistics, summarize
from code_intel.learned.history.worth import SessionCost, Worth, worth_of
from code_intel.learned.status.agreement_status import AgreementStatus
from code_intel.operations.map.current import all_standings
from code_intel.operations.map.session_costs import session_costs
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.declaration import Answer


class MapStatistics(NamedTuple):
    """What the map is worth, and how it was used."""

    worth: Worth
    statistics: Statistics


def map_stats(context: GatewayContext) -> Answer:
    """Return the figures; this blocks."""
    found = map_statistics(context)
    data = {"worth": found.worth._asdict(), **found.statistics._asdict()}
    lines = (*_worth_lines(found.worth), "", *_lines(found.statistics))
    return Answer(data, "\n".join(lines))


def map_statistics(
    context: GatewayContext,
    known: Sequence[AgreementStatus] | None = None,
    costs: Iterable[SessionCost] | None = None,
) -> MapStatistics:
    """Return the figures as records; this blocks.

    Args:
        context: The project's context.
        known: The agreements with their status, if the caller has them.
        costs: The costs of sessions, if the caller has them.
    """
    settings = context.settings
    experiences = _experiences(settings)
    log = outcomes.read(outcomes.folder_of(settings.state), limit=MAX_OUTCOMES)
    known = all_standings(context) if known is None else known
    costs = session_costs(settings) if costs is None else costs
    worth = _worth(experiences, known, costs)
    return MapStatistics(worth, summarize(experiences, log, known))


def map_worth(
    settings: Settings, known: Iterable[AgreementStatus], costs: Iterable[SessionCost]
) -> Worth:
    """Return what the map is worth alone; this blocks."""
    return _worth(_experiences(settings), known, costs)


def _experiences(settings: Settings) -> list[AgreementExperience]:
    with open_state(settings.state, create=False) as state:
        return state.experiences()


def _worth(
    experiences: Sequence[AgreementExperience],
    known: Iterable[AgreementStatus],
    costs: Iterable[SessionCost],
) -> Worth:
    objections = {each.entry.key: each.objections for each in known if each.entry.key}
    return worth_of(experiences, costs, objections)


def _worth_lines(found: Worth) -> Iterator[str]:
    questions, wrong = found.questions, found.wrong_answers
    yield "What the map is worth"
    yield (
        f"  questions answered: {questions['answered']} "
        f"(score for READY: {questions['ready']}, for VERIFICATION: {questions['verification']}); "
        f"led to a success: {questions['succeeded']}"
    )
    yield f"  tokens not spent:   {_tokens_text(found.tokens_until_ready)}"
    yield (
        f"  wrong answers:      {wrong['total']} (corrected: {wrong['corrected']}, "
        f"overruled: {wrong['overruled']}, open: {wrong['open']})"
    )


def _tokens_text(found: Mapping[str, Any]) -> str:
    """Return the comparison of the two routes, or how many sessions it lacks."""
    by_map, by_forest = found["map"], found["forest"]
    if found["not_spent"] is None:
        counts = (
            f"{each['sessions']} of {found['needed']} by the {route}"
            for route, each in (("map", by_map), ("forest", by_forest))
        )
        return f"not enough sessions yet ({', '.join(counts)})"
    return (
        f"{found['not_spent']:,} per session until READY: "
        f"median {by_map['median']:,} by the map ({counted(by_map['sessions'], 'session')}), "
        f"{by_forest['median']:,} by the forest ({counted(by_forest['sessions'], 'session')})"
    )


def _lines(found: Statistics) -> Iterator[str]:
    status = ", ".join(f"{number} {name}" for name, number in found.agreements["by_status"].items())
    yield f"Agreements: {found.agreements['total']}" + (f" ({status})" if status else "")
    yield f"  never used: {found.agreements['never_used']}, doubted: {found.agreements['doubted']}"
    yield ""
    yield from _table("Answered by the map", found.bands)
    if found.rejected_by:
        yield "  rejected by " + ", ".join(f"{how}: {n}" for how, n in found.rejected_by.items())
    yield ""
    yield f"Sessions that reported an outcome: {found.outcomes['sessions']}"
    for what, rows in found.by.items():
        if rows:
            yield from _table(f"  by {what.replace('_', ' ')}", rows)
    for title, pairs in (("Most used", found.most_used), ("Most rejected", found.most_rejected)):
        yield from _pairs(title, pairs)
    yield from _pairs("Never used", found.never_used)
    if found.bad_lines:
        yield f"\n{counted(found.bad_lines, 'unreadable line')} in the outcome log."


def _table(title: str, rows: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    columns = list(next(iter(rows.values())))
    yield f"{title:<28}" + "".join(f"{column:>10}" for column in columns)
    for name, row in rows.items():
        yield f"    {name:<24}" + "".join(f"{row[column]:>10}" for column in columns)


def _pairs(title: str, pairs: Iterable[Mapping[str, object]]) -> Iterator[str]:
    for number, pair in enumerate(pairs):
        if not number:
            yield f"\n{title}"
        counts = [f"{kind} {n}" for kind, n in pair.items() if isinstance(n, int) and n]
        yield f"  {pair['nl_term']} → {pair['symbol']}" + (
            f"  ({', '.join(counts)})" if counts else ""
        )
