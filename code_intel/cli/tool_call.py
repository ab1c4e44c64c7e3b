"""Commands that are tools of the gateway: the same arguments, checked alike, and the same answer."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from code_intel.cli.project import is_set_up, setting_up
from code_intel.config import Settings
from code_intel.errors import NotFoundError
from code_intel.tools.context.corpus_service import open_project, project_sync
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.context.searchers import in_process
from code_intel.tools.declaration import Answer, Report, Tool, silent


def call(
    settings: Settings,
    run: Callable[..., Awaitable[Answer]],
    given: Mapping[str, Any],
    report: Report = silent,
) -> Answer:
    """Call a tool outside any session; nothing that is indexed is written. `report` is told how far it is.

    Raises:
        UsageError: An argument is wrong; names the field.
        NotFoundError: The project is not indexed yet.
    """
    if not settings.forest.db_path.exists():
        before = "" if is_set_up(settings) else f"`{setting_up(settings)}`, then "
        raise NotFoundError(
            f"{settings.root} is not indexed yet.", hint=f"Run {before}`{project_sync(settings)}`."
        )
    arguments, _ = Tool(run, "").arguments(given)
    return asyncio.run(_called(settings, run, arguments, report))


async def _called(
    settings: Settings,
    run: Callable[..., Awaitable[Answer]],
    arguments: Mapping[str, Any],
    report: Report,
) -> Answer:
    map_service, forest_service = open_project(settings, readonly=True)
    context = GatewayContext(
        settings,
        in_process(map_service, forest_service),
        map_service.index,
        forest_service.index,
        map_service.embedder,
        report=report,
    )
    try:
        return await run(context, **arguments)
    finally:
        map_service.index.close()
        forest_service.index.close()
