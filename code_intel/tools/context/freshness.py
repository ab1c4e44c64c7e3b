"""Index single documents immediately: a new agreement, or source that has changed."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from code_intel.embedding.lazy import OFF
from code_intel.errors import CodeIntelError
from code_intel.index.report import SyncReport
from code_intel.index.safe_files import read_document
from code_intel.index.sync import sync_document
from code_intel.index.walk import locate
from code_intel.tools.context.gateway import GatewayContext, run_in_thread

Found = TypeVar("Found")


class MapSync(NamedTuple):
    """The state of a new agreement in the map's index.

    If embedding is off, "done" means that its words are indexed. If the state is "deferred",
    searches read the agreement's file, and the next sync indexes it.
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
    """Index the words and the vector of one agreement, or return "deferred" and the reason."""
    try:
        report: SyncReport = await run_in_thread(_index_agreement, context, file)
    except CodeIntelError as error:
        return MapSync("deferred", error.message)
    if not report.warnings:
        return MapSync()
    note = report.warnings[0]
    return MapSync("done" if OFF in note else "deferred", note)


def _index_agreement(context: GatewayContext, file: Path) -> SyncReport:
    """Index an agreement, even if its document was once deleted by name."""
    store, (name, _) = context.map.store, locate(context.map.config, file)
    if store.choices().get(name) is False:
        store.choose(name, None)
    return context.map.refresh(file)


async def refresh_source(context: GatewayContext, files: Iterable[str]) -> None:
    """Index the words and symbols of changed source files, because learning needs the current code.

    Their vectors are computed in the background.
    """
    await run_in_thread(refresh_changed, context, files)


def ask_fresh_index(
    context: GatewayContext, ask: Callable[[], Found], files: Callable[[Found], Iterable[str]]
) -> Found:
    """Ask the index, index changed files of the answer, and ask again if the index changed.

    This blocks. Another process or a scan may index a changed file first, so the state of the index
    decides whether to ask again.
    """
    before = context.forest.store.version_token()
    found = ask()
    refresh_changed(context, files(found))
    return found if context.forest.store.version_token() == before else ask()


def refresh_changed(
    context: GatewayContext, files: Iterable[str], *, exactly: bool = False
) -> None:
    """Index the source files that have changed since they were indexed; this blocks.

    Args:
        context: The project's context.
        files: Paths relative to the forest's folder.
        exactly: Whether to compare content hashes instead of size and time. Required for anything
            that can lead to READY.
    """
    store, config = context.forest.store, context.forest.config
    for file in changed_files(context, files, exactly=exactly):
        with suppress(CodeIntelError):  # for example a file that is never indexed
            sync_document(store, config, config.folder / file)


def changed_files(
    context: GatewayContext, files: Iterable[str], *, exactly: bool = False
) -> Iterator[str]:
    """Yield the source files that have changed since they were indexed; see `refresh_changed`."""
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
            yield file
