"""Tool `get_outcome_stats`."""

from code_intel.config import Settings
from code_intel.foundation.text import counted
from code_intel.learned.history import outcomes
from code_intel.learned.history.statistics import MOST_RECORDS, OutcomeStatistics, count_outcomes
from code_intel.tools.context.gateway import GatewayContext, thread
from code_intel.tools.declaration import Answer

NONE_YET = (
    "No outcome has been recorded yet. record_outcome writes one when a session ends; "
    "a project's newest 1,000 are counted here."
)


async def get_outcome_stats(context: GatewayContext) -> Answer:
    """Count how the sessions of this project ended: by intent, by phase, by confidence, with the forest or without.

    Of the newest 1,000 outcomes. unreadable counts lines of the log that are no outcomes. Nothing is
    judged by these figures; they show where sessions fail.
    """
    found = await thread(outcomes_of, context.settings)
    return Answer(found._asdict(), _text(found))


def outcomes_of(settings: Settings) -> OutcomeStatistics:
    """Return the figures of a project.

    Raises:
        StorageError: Its log is there and cannot be read.
    """
    return count_outcomes(outcomes.read(outcomes.folder_of(settings.state), most=MOST_RECORDS))


def unreadable(found: OutcomeStatistics) -> str:
    """Return what must be said of lines that were not counted, or nothing."""
    lines = counted(found.unreadable, "line")
    return f"{lines} of the log could not be read as an outcome." if found.unreadable else ""


def _text(found: OutcomeStatistics) -> str:
    if not found.total:
        return " ".join(filter(None, [NONE_YET, unreadable(found)]))
    sums = ", ".join(f"{number} {outcome}" for outcome, number in found.by_outcome.items())
    failing = max(found.by_phase, key=lambda phase: (found.by_phase[phase]["failure"], phase))
    worst = found.by_phase[failing]["failure"]
    where = f" Most failures were reported in {failing} ({worst})." if worst else ""
    head = (
        f"Outcomes: {found.total} ({sums}); sessions that reported them: {found.sessions}.{where}"
    )
    return " ".join(filter(None, [head, unreadable(found)]))
