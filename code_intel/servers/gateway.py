"""Build the gateway: sessions, phases and learning in front of the map and the forest."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio

from code_intel.config import Settings
from code_intel.errors import CodeIntelError
from code_intel.records import Freshness
from code_intel.servers.index_server import start_indexers
from code_intel.servers.protocol import ServerSpec, ToolCall, ToolServer, build
from code_intel.tools.declaration import Answer, Tool
from code_intel.tools.progress import Report

if TYPE_CHECKING:  # imported only after the handshake
    from code_intel.servers.shared_services import SharedServices

GATEWAY_INSTRUCTIONS = (
    "Look before you write, and remember what you learn. Use this server whenever you "
    "explore, change, fix, add or explain code in this project "
    "(バグ修正、機能追加、調査にも). Start "
    "with start_session (intent, the user's own words, and what they say in slots): it "
    "searches the map of agreements first, then the source, shows the code with its "
    "callers and tests, and names the next call. "
    "Before each edit, call check_write_target. When the work is done, call record_outcome: "
    "a success is remembered and can answer later questions at once. Every refusal names "
    "the next step."
)


def build_gateway(
    settings: Settings,
    *,
    writes: bool = True,
    services: "Callable[[], SharedServices] | None" = None,
) -> ToolServer:
    """Return the gateway of a project; it imports and opens nothing before the handshake.

    Args:
        settings: The project's settings.
        writes: Whether clients may execute commands, which start programs.
        services: Returns the services of this process, if other servers use them, too.
    """
    lasts: dict[str, str] = {}
    return build(
        name="code-intel",
        instructions=GATEWAY_INSTRUCTIONS,
        make_spec=lambda: _spec(settings, lasts, services, writes=writes),
        lasts=lasts,
    )


def _separate_reports(report: Report) -> tuple[Report, Report]:
    """Return progress reports for the tool and for its upstreams.

    The upstreams' progress is dropped once the tool has reported its own.
    """
    has_tool_reported = False

    async def report_tool(done: float, total: float | None, message: str) -> None:
        nonlocal has_tool_reported
        has_tool_reported = True
        await report(done, total, message)

    async def report_upstreams(done: float, total: float | None, message: str) -> None:
        if not has_tool_reported:
            await report(done, total, message)

    return report_tool, report_upstreams


def _close_shared(settings: Settings) -> None:
    """Close the connection to the shared index, if the project has one."""
    if settings.shared.url:
        from code_intel.shared.connection import close_connection

        close_connection(settings)


def _spec(
    settings: Settings,
    lasts: dict[str, str],
    services: "Callable[[], SharedServices] | None",
    *,
    writes: bool,
) -> ServerSpec:
    from code_intel.servers.relay.host import answer_hooks
    from code_intel.servers.shared_services import SharedServices
    from code_intel.servers.upstream.connection import reporting
    from code_intel.servers.upstream.searcher import Upstreams
    from code_intel.tools.context.gateway import GatewayContext
    from code_intel.tools.context.searchers import in_process
    from code_intel.tools.hooks.answering import answer_request
    from code_intel.tools.search.terminal_answers import TerminalAnswers
    from code_intel.tools.table import GATEWAY_TOOLS, gateway_tools, listed_tools
    from code_intel.tools.wire.answers import size_of
    from code_intel.tools.wire.compact import compact

    opened = services() if services else SharedServices(settings)
    map_service, forest_service = opened.of_project()
    tools = listed_tools(settings.tool_groups, demands=settings.demands)
    listed = frozenset(tool.name for tool in tools)
    searcher = in_process(map_service, forest_service)
    upstreams = Upstreams(settings, searcher) if settings.upstreams else None

    context = GatewayContext(
        settings=settings,
        upstream=upstreams.searcher if upstreams else searcher,
        map=map_service.index,
        forest=forest_service.index,
        embedder=map_service.embedder,
        offered=listed,
        lasts=lasts,
        opens_commands=opened.commands,
        map_cache=map_service.cache,
    )

    async def invoke(tool: Tool, arguments: dict[str, Any], call: ToolCall) -> Answer:
        report, report_upstreams = _separate_reports(call.report)
        reporting.set(report_upstreams)  # each call runs in its own task, and so in its own context
        for_call = context.for_call(call.connection, report)
        try:
            answer = await tool.run(for_call, **arguments)
        except CodeIntelError as error:
            await for_call.note_size(tool.name, size_of(error.as_dict()))
            raise
        answer = answer.noting(*for_call.warnings)
        await for_call.note_size(tool.name, size_of(compact(answer.data)))
        return answer

    async def background() -> None:
        start_indexers(map_service, forest_service)
        terminals = TerminalAnswers(settings, (map_service, forest_service), context.projects)
        answer = partial(answer_request, context, terminals)
        async with anyio.create_task_group() as group:
            group.start_soon(answer_hooks, settings.root, answer)
            if upstreams is not None:
                group.start_soon(upstreams.run)

    def close() -> None:
        context.projects.close()
        opened.close()
        _close_shared(settings)

    def freshness() -> dict[str, Freshness]:
        return {"map": map_service.index.freshness(), "forest": forest_service.index.freshness()}

    hidden = frozenset(tool.name for tool in GATEWAY_TOOLS) - listed
    offered = gateway_tools(settings.demands)
    return ServerSpec(offered, invoke, background, close, freshness, hidden, writes, compact)
