"""Look up an agreement, and keep the indexes current while the map is changed."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

from code_intel.errors import CodeIntelError
from code_intel.foundation.text import counted
from code_intel.index.sync import Progress
from code_intel.learned.files.agreements import AgreementEntry, make_key
from code_intel.learned.status.agreement_status import (
    AgreementStatus,
    judging,
    standings,
    standings_of,
)
from code_intel.tools.context.freshness import MapSync
from code_intel.tools.context.gateway import GatewayContext, run_in_thread


def all_standings(context: GatewayContext) -> list[AgreementStatus]:
    """Return every agreement with its status, by path; this blocks."""
    return standings(context.settings, context.forest, cache=context.map_cache)


def standings_where(
    context: GatewayContext, wanted: Callable[[AgreementEntry], bool]
) -> list[AgreementStatus]:
    """Judge only some agreements, because each takes a look into the index; this blocks."""
    now = datetime.now(UTC)
    found = context.map_cache.snapshot(context.settings, now=now)
    judge_one = judging(context.settings, context.forest, found, now)
    return [judge_one(entry) for entry in found.known.entries if wanted(entry)]


async def find_standing(context: GatewayContext, term: str, symbol: str) -> AgreementStatus | None:
    """Return an agreement and its status without writing anything; None if none exists."""
    key = make_key(term, symbol)
    work = partial(standings_of, context.settings, context.forest, [key], cache=context.map_cache)
    return (await run_in_thread(work)).get(key)


async def refresh_whole_map(context: GatewayContext, *, words_only: bool = True) -> MapSync:
    """Update the map's index; if that fails, return the state `deferred` with the reason."""
    try:
        report = await run_in_thread(partial(context.map.complete, words_only=words_only))
    except CodeIntelError as error:
        return MapSync("deferred", error.message)
    pending = context.map.freshness().pending
    notes = [*report.warnings, *([f"{counted(pending, 'vector')} to come"] if pending else [])]
    return MapSync(reason=notes[0] if notes else "")


def index_words(context: GatewayContext, progress: Progress) -> None:
    """Update the word index of the source, so that operations see the current code; this blocks."""
    context.forest.complete(words_only=True, progress=progress)
