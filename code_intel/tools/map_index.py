"""Make an agreement findable the moment it is written."""

from pathlib import Path

from code_intel.errors import CodeIntelError
from code_intel.index.sync import SyncReport
from code_intel.tools.desk import Desk, thread


async def refresh_map(desk: Desk, file: Path) -> str:
    """Index one agreement now, words and vector.

    Returns:
        `done`, or `deferred: <why>`: then the next sync of the map finds it, nothing is lost.
    """
    try:
        report: SyncReport = await thread(desk.map.refresh, file)
    except CodeIntelError as error:
        return f"deferred: {error.message}"
    return f"deferred: {report.warnings[0]}" if report.warnings else "done"
