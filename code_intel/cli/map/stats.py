"""Show what the map is worth, how often it answered, and what became of its answers.

The figures cover the newest logged outcomes and the events stored on this machine. Tokens until
READY are those of the gateway's answers in the newest 300 sessions: the median of sessions that the
map led to READY or VERIFICATION, and of those that reached READY by the forest. What an agent read
with its own tools is not measured. A wrong answer is one that a session or a person objected to.
"""

import argparse
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from code_intel.cli.map.context import print_answer
from code_intel.cli.map.session_costs import session_costs
from code_intel.cli.project import add_project
from code_intel.foundation.text import counted
from code_intel.learned.history import outcomes
from code_intel.learned.history.state import open_state
from code_intel.learned.history.statistics import MAX_OUTCOMES, Statistics, summarize
from code_intel.learned.history.worth import Worth, worth_of
from code_intel.learned.status.agreement_status import standings
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.declaration import Answer


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Print the figures."""
    print_answer(args, _stats)
    return 0


async def _stats(context: GatewayContext) -> Answer:
    found = await run_in_thread(_statistics, context)
    data = {"worth": found.worth._asdict(), **found.statistics._asdict()}
    lines = (*_worth_lines(found.worth), "", *_lines(found.statistics))
    return Answer(data, "\n".join(lines))


class _Found(NamedTuple):
    worth: Worth
    statistics: Statistics


def _statistics(context: GatewayContext) -> _Found:
    settings = context.settings
    with open_state(settings.state, create=False) as state:
        experiences = state.experiences()
    log = outcomes.read(outcomes.folder_of(settings.state), limit=MAX_OUTCOMES)
    known = standings(settings, context.forest)
    objections = {each.entry.key: each.objections for each in known if each.entry.key}
    worth = worth_of(experiences, session_costs(settings), objections)
    return _Found(worth, summarize(experiences, log, known))


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
