"""Implement the tool `get_outcome_stats`."""

from code_intel.config import Settings
from code_intel.foundation.text import counted
from code_intel.learned.history import outcomes
from code_intel.learned.history.statistics import MAX_OUTCOMES, OutcomeStatistics, count_outcomes
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.declaration import Answer

NO_OUTCOMES = "No outcomes yet. Each session that ends records one."


async def get_outcome_stats(context: GatewayContext) -> Answer:
    """Count how this project's sessions ended: by intent, phase, confidence and use of the forest.

    Covers the newest 1,000 outcomes. `unreadable` counts invalid lines of the log. The figures show
    where sessions fail; they do not influence any decision.
    """
    found = await run_in_thread(outcomes_of, context.settings)
    return Answer(found._asdict(), _text(found))


def outcomes_of(settings: Settings) -> OutcomeStatistics:
    """Return the statistics of a project.

    Raises:
        StorageError: The log cannot be read.
    """
    return count_outcomes(outcomes.read(outcomes.folder_of(settings.state), limit=MAX_OUTCOMES))


def unreadable(found: OutcomeStatistics) -> str:
    """Return a note about invalid lines of the log, or an empty text."""
    lines = counted(found.unreadable, "line")
    return f"{lines} of the log could not be read as an outcome." if found.unreadable else ""


def _text(found: OutcomeStatistics) -> str:
    if not found.total:
        return " ".join(filter(None, [NO_OUTCOMES, unreadable(found)]))
    sums = ", ".join(f"{number} {outcome}" for outcome, number in found.by_outcome.items())
    failing = max(found.by_phase, key=lambda phase: (found.by_phase[phase]["failure"], phase))
    worst = found.by_phase[failing]["failure"]
    where = f" Most failures were reported in {failing} ({worst})." if worst else ""
    head = (
        f"Outcomes: {found.total} ({sums}); sessions that reported them: {found.sessions}.{where}"
    )
    return " ".join(filter(None, [head, unreadable(found)]))
