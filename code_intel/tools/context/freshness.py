"""Bring single documents up to date at once: the agreement just written, the source just changed."""

import hashlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from code_intel.embedding.lazy import OFF
from code_intel.errors import CodeIntelError
from code_intel.index.reading import read_document
from code_intel.index.report import SyncReport
from code_intel.index.sync import sync_document
from code_intel.index.walk import locate
from code_intel.tools.context.gateway import GatewayContext, thread

Found = TypeVar("Found")


class MapSync(NamedTuple):
    """Whether the map's index has what was just written.

    Done is all that the settings ask for: with embedding switched off that is the words. Deferred loses
    nothing: a search reads the agreement itself, and whoever indexes the map takes it in.
    """

    state: Literal["done", "deferred", "dry run"] = "done"
    reason: str = ""

    @property
    def data(self) -> dict[str, str]:
        """The fields `map_sync` and `map_sync_reason` of an answer."""
        return {"map_sync": self.state, "map_sync_reason": self.reason}


NOTHING_WRITTEN = MapSync(reason="no agreement was written")
DRY_RUN = MapSync("dry run", "nothing was written")


async def refresh_map(context: GatewayContext, file: Path) -> MapSync:
    """Index one agreement now, words and vector; deferred, with the reason, where that cannot be."""
    try:
        report: SyncReport = await thread(_taken_in, context, file)
    except CodeIntelError as error:
        return MapSync("deferred", error.message)
    if not report.warnings:
        return MapSync()
    note = report.warnings[0]
    return MapSync("done" if OFF in note else "deferred", note)


def _taken_in(context: GatewayContext, file: Path) -> SyncReport:
    """Index an agreement that was just written, also one whose document was deleted by name before."""
    store, (name, _) = context.map.store, locate(context.map.config, file)
    if store.choices().get(name) is False:
        store.choose(name, None)
    return context.map.refresh(file)


async def refresh_source(context: GatewayContext, files: Iterable[str]) -> None:
    """Index the words and symbols of source files now; vectors follow in the background.

    What is learned must describe the code as it is after the change, not as it was last scanned.
    """
    await thread(freshen, context, files)


def up_to_date(
    context: GatewayContext, ask: Callable[[], Found], files: Callable[[Found], Iterable[str]]
) -> Found:
    """Ask the index, and again where files of the answer were not on disk as the index knew them; blocks.

    Another process, or the index's own scan, may take a file in just after it was asked, and then nothing is
    left to do here: so what was written meanwhile decides, not who wrote it.
    """
    before = context.forest.store.state()
    found = ask()
    freshen(context, files(found))
    return found if context.forest.store.state() == before else ask()


def freshen(context: GatewayContext, files: Iterable[str], *, exactly: bool = False) -> None:
    """Index again those source files that are not on disk as the index knows them; blocks.

    Args:
        context: Of the project.
        files: Relative to the forest's folder.
        exactly: Whether the bytes decide, and not their number and time: for what leads to READY.
    """
    store, config = context.forest.store, context.forest.config
    for file in files:
        known = store.document(file)
        try:
            facts = (config.folder / file).stat()
            same = known is not None and (known.size, known.mtime_ns) == (
                facts.st_size,
                facts.st_mtime_ns,
            )
            if same and known and exactly:
                same = (
                    hashlib.sha256(read_document(config.folder, file)).hexdigest() == known.digest
                )
        except OSError:
            same = known is None
        if not same:
            with suppress(CodeIntelError):  # never indexed: nothing to bring up to date
                sync_document(store, config, config.folder / file)
