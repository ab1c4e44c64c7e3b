"""Show how sessions ended: by intent, by phase, by confidence, and with or without the forest.

Counts the newest 1,000 outcomes that `record_outcome` logged. `code-intel map stats` shows what
became of the map's answers. Nothing is written.
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
    found = outcomes_of(project_of(args))
    emit(args, found._asdict(), "\n".join(_lines(found)))
    return 0


def _lines(found: OutcomeStatistics) -> Iterator[str]:
    if found.total:
        yield f"Outcomes: {found.total}; sessions that reported them: {found.sessions}"
        yield from _table("", {"all": found.by_outcome})
        yield from _table("by intent", found.by_intent)
        yield from _table("by phase", found.by_phase)
        yield from _table("with the forest", found.devrag_correlation)
        yield from _table("by confidence", found.confidence_correlation)
    else:
        yield NO_OUTCOMES
    if found.unreadable:
        yield unreadable(found)


def _table(title: str, rows: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """Yield the lines of a table whose last column is the share of successes."""
    columns = list(next(iter(rows.values())))
    yield f"{title:<28}" + "".join(f"{column:>10}" for column in columns) + f"{'succeed':>10}"
    for name, row in rows.items():
        ended = sum(row.values())
        share = f"{row['success'] / ended:.0%}" if ended else "-"
        yield (
            f"    {visible(name):<24}"
            + "".join(f"{row[column]:>10}" for column in columns)
            + f"{share:>10}"
        )
