"""The desk at which a word of `code-intel map` works: the project's own indexes, no session."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from code_intel.config import Settings
from code_intel.learned.agreements import make_key
from code_intel.learned.standings import Standing, standings
from code_intel.tools.declaration import Answer
from code_intel.tools.desk import Desk, thread
from code_intel.tools.shelf import open_project


def at_desk(
    settings: Settings,
    work: Callable[[Desk], Awaitable[Answer]],
    *,
    readonly: bool = False,
    current: bool = False,
) -> Answer:
    """Do a piece of work and close what it opened.

    Args:
        settings: The project.
        work: What to do.
        readonly: Write nothing of the project.
        current: Bring the words of the source's index up to date first: what is agreed on must be the code
            as it is now, also in a fresh clone and after an edit that nobody has indexed.
    """
    return asyncio.run(_done(settings, work, readonly=readonly, current=current))


async def known_at(desk: Desk, term: str, symbol: str) -> Standing | None:
    """Return what an agreement is worth, without writing anything; None where there is none."""
    key = make_key(term, symbol)
    found = await thread(partial(standings, desk.settings, desk.forest, repair=False))
    return next((known for known in found if known.entry.key == key), None)


async def _done(
    settings: Settings, work: Callable[[Desk], Awaitable[Answer]], *, readonly: bool, current: bool
) -> Answer:
    map_shelf, forest_shelf = open_project(settings, readonly=readonly)
    desk = Desk(settings, None, map_shelf.index, forest_shelf.index, map_shelf.embedder)
    try:
        if current:
            await thread(partial(desk.forest.complete, words_only=True))
        return await work(desk)
    finally:
        map_shelf.index.close()
        forest_shelf.index.close()
