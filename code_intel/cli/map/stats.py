"""Show how often the map answered, and whether its answers were accepted, rejected or failed.

The figures cover the newest logged outcomes and the events stored on this machine.
"""

import argparse
from collections.abc import Iterable, Iterator, Mapping

from code_intel.cli.map.context import print_answer
from code_intel.cli.project import add_project
from code_intel.foundation.text import counted
from code_intel.learned.history import outcomes
from code_intel.learned.history.state import open_state
from code_intel.learned.history.statistics import MAX_OUTCOMES, Statistics, summarize
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
    return Answer(found._asdict(), "\n".join(_lines(found)))


def _statistics(context: GatewayContext) -> Statistics:
    with open_state(context.settings.state, create=False) as state:
        experiences = state.experiences()
    log = outcomes.read(outcomes.folder_of(context.settings.state), limit=MAX_OUTCOMES)
    return summarize(experiences, log, standings(context.settings, context.forest))


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
