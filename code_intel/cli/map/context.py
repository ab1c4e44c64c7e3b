"""The context at which a word of `code-intel map` works: the project's own indexes, no session."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory  # noqa: TID251 - outside the project

from code_intel.cli.output import PATIENCE, patience, progress
from code_intel.config import Settings
from code_intel.errors import CodeIntelError, StorageError
from code_intel.foundation.text import counted
from code_intel.learned.files.agreements import make_key
from code_intel.learned.status.agreement_status import Standing, standings
from code_intel.tools.context.corpus_service import open_project
from code_intel.tools.context.freshness import MapSync
from code_intel.tools.context.gateway import GatewayContext, thread
from code_intel.tools.declaration import Answer

Work = Callable[[GatewayContext], Awaitable[Answer]]


def run_in_project(
    settings: Settings, work: Work, *, readonly: bool = False, current: bool = False
) -> Answer:
    """Do a piece of work and close what it opened; work that takes long says so on stderr.

    Args:
        settings: The project.
        work: What to do.
        readonly: Write nothing of the project.
        current: Bring the words of the source's index up to date first: what is agreed on must be the code
            as it is now, also in a fresh clone and after an edit that nobody has indexed.
    """
    with patience():
        return asyncio.run(_done(settings, work, readonly=readonly, current=current))


def run_without_writing(settings: Settings, work: Work) -> Answer:
    """Do work that writes nothing but the source's index, brought up to date, and not even that elsewhere.

    Where the disk cannot be written the index is made anew beside the machine's temporary files.
    """
    try:
        return run_in_project(settings, work, current=True)
    except StorageError:
        with TemporaryDirectory(prefix="code-intel-") as folder:
            elsewhere = replace(settings.forest, db_path=Path(folder) / "forest.db")
            return run_in_project(replace(settings, forest=elsewhere), work, current=True)


def run_on_current_source(settings: Settings, work: Work, *, dry: bool) -> Answer:
    """Do work that goes by the code as it is now; a dry run looks alone."""
    return (
        run_without_writing(settings, work) if dry else run_in_project(settings, work, current=True)
    )


async def find_standing(context: GatewayContext, term: str, symbol: str) -> Standing | None:
    """Return what an agreement is worth, without writing anything; None where there is none."""
    key = make_key(term, symbol)
    found = await thread(standings, context.settings, context.forest)
    return next((known for known in found if known.entry.key == key), None)


async def refresh_whole_map(context: GatewayContext, *, words_only: bool = True) -> MapSync:
    """Bring the map's index up to date; deferred, with the reason, where that cannot be."""
    try:
        report = await thread(partial(context.map.complete, words_only=words_only))
    except CodeIntelError as error:
        return MapSync("deferred", error.message)
    pending = context.map.freshness().pending
    notes = [*report.warnings, *([f"{counted(pending, 'vector')} to come"] if pending else [])]
    return MapSync(reason=notes[0] if notes else "")


async def _done(settings: Settings, work: Work, *, readonly: bool, current: bool) -> Answer:
    map_service, forest_service = open_project(settings, readonly=readonly)
    context = GatewayContext(
        settings, None, map_service.index, forest_service.index, map_service.embedder
    )
    try:
        if current:
            await thread(_index_words, context)
        return await work(context)
    finally:
        map_service.index.close()
        forest_service.index.close()


def _index_words(context: GatewayContext) -> None:
    began = time.monotonic()
    with progress() as advance:

        def later(done: int, total: int) -> None:
            if time.monotonic() - began > PATIENCE:
                advance(done, total, "forest: words")

        context.forest.complete(words_only=True, progress=later)
