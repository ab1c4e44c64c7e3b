"""Bring single documents up to date at once: the agreement just written, the source just changed."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from code_intel.errors import CodeIntelError
from code_intel.index.sync import SyncReport, sync_document
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


async def refresh_source(desk: Desk, files: Sequence[str]) -> None:
    """Index the words and symbols of source files now; vectors follow in the background.

    What is learned must describe the code as it is after the change, not as it was last scanned.
    """

    def work() -> None:
        for file in files:
            with suppress(CodeIntelError):  # not indexed, or gone: nothing to bring up to date
                sync_document(desk.forest.store, desk.forest.config, desk.root / file)

    await thread(work)
