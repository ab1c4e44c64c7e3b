"""Show how often the map's answers were right, by their score, and how long answers took."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from code_intel.learned.history import answer_sizes
from code_intel.learned.history.logs import folder_of
from code_intel.learned.history.state import open_state
from code_intel.learned.status.agreement_status import AgreementStatus
from code_intel.operations.map.quality import (
    ScoreBand,
    ToolFigures,
    Verdict,
    calibration_curve,
    tool_figures,
    verdicts_of,
)
from code_intel.operations.map.session_costs import MAX_SESSIONS
from code_intel.operations.map.stats import MapStatistics, map_statistics
from code_intel.tools.context.gateway import run_in_thread
from code_intel.ui.project import OpenProject, project_of
from code_intel.ui.rendering import render

MIN_JUDGED = 10
"""Number of judged answers from which the curve is drawn."""


@dataclass(frozen=True)
class Point:
    """A point of a chart; x and y are from 0 to 1."""

    x: float
    y: float


@dataclass(frozen=True)
class Quality:
    """The figures of a project's map.

    Attributes:
        bands: The judged answers by band of the score.
        verdicts: How many answers were accepted, rejected, failed, or are open.
        tools: The figures of each tool.
        statistics: How the map was used, and what it was worth.
    """

    bands: Sequence[ScoreBand]
    verdicts: Mapping[Verdict, int]
    tools: Sequence[ToolFigures]
    statistics: MapStatistics

    @property
    def judged(self) -> int:
        """How many answers were judged."""
        return sum(band.judged for band in self.bands)

    @property
    def right(self) -> int:
        """How many of them were right."""
        return sum(band.right for band in self.bands)

    @property
    def has_curve(self) -> bool:
        """Whether enough answers were judged to draw a curve."""
        return self.judged >= MIN_JUDGED

    @property
    def points(self) -> list[Point]:
        """The curve: the mean score of each band, and the share of right answers."""
        return [Point(band.mean_score, band.share) for band in self.bands if band.judged]


async def show(request: Request) -> Response:
    """Show the quality of the map."""
    found = await run_in_thread(measure, project_of(request))
    return render(request, "quality.html", {"found": found, "limit": MAX_SESSIONS})


def measure(project: OpenProject) -> Quality:
    """Return the figures; this blocks."""
    sizes = answer_sizes.read(folder_of(project.settings.state))
    figures = project.session_figures(sizes)
    with open_state(project.settings.state, create=False) as state:
        experiences = state.experiences()
    judged = verdicts_of((answer for each in figures for answer in each.answers), experiences)
    rows = project.map_entries().rows
    known = [row.source for row in rows if isinstance(row.source, AgreementStatus)]
    costs = [each.cost for each in figures if each.cost]
    return Quality(
        bands=calibration_curve(judged),
        verdicts=Counter(verdict for _, verdict in judged),
        tools=tool_figures(sizes),
        statistics=map_statistics(project.context, known, costs),
    )


ROUTES = (Route("/quality", show),)
