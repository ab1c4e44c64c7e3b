"""From declared tools to an MCP server, and the one boundary where errors become results.

The low-level `Server` is used because its handlers can build schemas when they are first listed
and can return error results whose text is exactly ours (docs/decisions/0012). `tools/list` never
varies: the protocol forbids it, and phases refuse at call time instead.
"""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

import anyio
from mcp import types
from mcp.server import Server
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext

from code_intel import __version__
from code_intel.errors import CodeIntelError
from code_intel.tools.answers import bounded
from code_intel.tools.declaration import Answer, Report, Tool

logger = logging.getLogger(__name__)

State = TypeVar("State")

Lifespan = Callable[[Server[State]], AbstractAsyncContextManager[State]]


Invoke = Callable[[State, Tool, Mapping[str, Any], Report], Awaitable[Answer]]


def build(
    *,
    name: str,
    instructions: str,
    tools: Sequence[Tool],
    invoke: Invoke[State],
    lifespan: Lifespan[State],
    greeted: anyio.Event | None = None,
) -> Server[State]:
    """Make the server.

    Args:
        name: Server name on the wire.
        instructions: What the model reads at start; at most 2 KB.
        tools: In the order in which they are listed.
        invoke: Runs one tool with the lifespan's state.
        lifespan: Yields that state, once a process.
        greeted: Set after the first request was answered, the handshake in either protocol era;
            background work waits for it, so that nothing delays a handshake.
    """
    by_name = {tool.name: tool for tool in tools}
    listed: list[types.Tool] = []

    async def list_tools(
        _ctx: ServerRequestContext[State], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        if not listed:
            listed.extend(_wire(tool) for tool in tools)
        return types.ListToolsResult(tools=listed)

    async def call_tool(
        ctx: ServerRequestContext[State], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        async def report(done: float, total: float | None, message: str) -> None:
            await ctx.session.report_progress(done, total, message)

        try:
            tool = by_name[params.name]
        except KeyError:
            hint = f"Known tools: {', '.join(by_name)}."
            return _failure(
                {"error": "unknown_tool", "message": f"No tool {params.name}.", "hint": hint}
            )
        try:
            answer = await invoke(ctx.lifespan_context, tool, params.arguments or {}, report)
        except CodeIntelError as error:
            return _failure(error.as_dict())
        except Exception as error:
            logger.exception("%s failed", tool.name)
            return _failure(
                {
                    "error": "unexpected",
                    "message": f"{tool.name} failed: {type(error).__name__}.",
                    "hint": "This is a defect; the server's stderr has the details. Try another tool.",
                }
            )
        return _success(answer)

    server = Server(
        name,
        version=__version__,
        instructions=instructions,
        lifespan=lifespan,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    if greeted is not None:
        server.middleware.append(_announce(greeted))
    return server


def _announce(greeted: anyio.Event) -> ServerMiddleware[Any]:
    async def middleware(ctx: ServerRequestContext[Any], call_next: CallNext) -> HandlerResult:
        try:
            return await call_next(ctx)
        finally:
            greeted.set()

    return middleware


def _wire(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.schema,
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.reads,
            destructive_hint=False,
            idempotent_hint=tool.repeats,
            open_world_hint=False,
        ),
    )


def _success(answer: Answer) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=answer.text)],
        structured_content=bounded(answer.data),
    )


def _failure(error: Mapping[str, Any]) -> types.CallToolResult:
    text = json.dumps(error, ensure_ascii=False)
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)],
        structured_content=dict(error),
        is_error=True,
    )
