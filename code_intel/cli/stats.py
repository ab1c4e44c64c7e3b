"""Show how sessions ended: by intent, by phase, by confidence, and with or without the forest.

Counts the newest 1,000 outcomes that `record_outcome` logged. `code-intel map stats` shows how
useful the map was. Nothing is written.
"""

import argparse
from collections.abc import Iterator, Mapping

from code_intel.cli.output import emit
from code_intel.cli.project import add_project, project_of
from code_intel.foundation.text import visible
from code_intel.learned.history.statistics import OutcomeStatistics
from code_intel.tools.session.get_outcome_stats import NO_OUTCOMES, outcomes_of, unreadable


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Print the figures."""
    statistics = outcomes_of(project_of(args))
    emit(args, statistics._asdict(), "\n".join(_lines(statistics)))
    return 0


def _lines(statistics: OutcomeStatistics) -> Iterator[str]:
    if statistics.total:
        yield f"Outcomes: {statistics.total}; sessions that reported them: {statistics.sessions}"
        yield from _table("", {"all": statistics.by_outcome})
        yield from _table("by intent", statistics.by_intent)
        yield from _table("by phase", statistics.by_phase)
        yield from _table("with the forest", statistics.devrag_correlation)
        yield from _table("by confidence", statistics.confidence_correlation)
    else:
        yield NO_OUTCOMES
    if statistics.unreadable:
        yield unreadable(statistics)


def _table(title: str, rows: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """Yield the lines of a table; its last column is the share of successes."""
    columns = list(next(iter(rows.values())))
    yield f"{title:<28}" + "".join(f"{column:>10}" for column in columns) + f"{'succeed':>10}"
    for name, row in rows.items():
        total = sum(row.values())
        share = f"{row['success'] / total:.0%}" if total else "-"
        yield (
            f"    {visible(name):<24}"
            + "".join(f"{row[column]:>10}" for column in columns)
            + f"{share:>10}"
        )
