"""From declared tools to an MCP server, and the one boundary where errors become results.

The low-level `Server` is used because its handlers can build schemas when they are first listed
and can return error results whose text is exactly ours (docs/decisions/0012). `tools/list` never
varies: the protocol forbids it, and phases refuse at call time instead.
"""

import functools
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
from mcp import MCPError, types
from mcp.server import Server
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from code_intel import __version__
from code_intel.errors import CodeIntelError, UsageError
from code_intel.foundation.redaction import masked, masked_data
from code_intel.foundation.text import visible, visible_json, visible_lines
from code_intel.records import Freshness
from code_intel.tools.declaration import Answer, Report, Tool
from code_intel.tools.wire.answers import bounded, bounded_text

logger = logging.getLogger(__name__)

THE_CONNECTION = ""
"""Name of the only connection of a process."""
MOST_NAMES, LONGEST_NAME = 10, 60
"""Of unknown arguments that are named, and characters of such a name."""
LONGEST_MESSAGE = 500
"""Characters of an error's message; its field, hint and details stand beside."""
CONSTANT = CacheHint(ttl_ms=300_000, scope="public")
"""Lists do not change while a server runs; a newer one may be started meanwhile."""
CALM = 0.3
"""Seconds between the first answer and the start of the background: the answer, and the first calls of
a client, go first."""


WRITE_TOOLS = frozenset({"delete_document", "add_frontmatter", "update_frontmatter"})
"""Tools of the index servers that change the project; all others change only the index."""


@dataclass(frozen=True)
class Call:
    """Who asks.

    Attributes:
        report: Takes progress back to them.
        connection: Names their connection: `THE_CONNECTION` where a process has one (stdio), their MCP
            session over HTTP, None where the protocol has none (HTTP since 2026-07-28; decision 0019).
    """

    report: Report
    connection: str | None


@dataclass(frozen=True)
class Offer:
    """What a server works with; made when it is first needed, never before the handshake.

    Attributes:
        tools: In the order in which they are documented; each answers when called by name.
        invoke: Runs one of them on checked arguments.
        background: Runs once the first request was answered, until the server ends.
        close: Gives files back when the server ends.
        condition: Says how complete each index is, by corpus; blocks, but not for long.
        hidden: Names of tools that are not listed, to keep a model's context small (docs/decisions/0034).
        writes: Whether clients may change the project and start programs; not over HTTP, unless the
            command line allows it (docs/decisions/0019).
    """

    tools: Sequence[Tool]
    invoke: Callable[[Tool, dict[str, Any], Call], Awaitable[Answer]]
    background: Callable[[], Awaitable[None]]
    close: Callable[[], None]
    condition: Callable[[], Mapping[str, Freshness]] = dict
    hidden: frozenset[str] = frozenset()
    writes: bool = True

    @functools.cached_property
    def by_name(self) -> dict[str, Tool]:
        """The tools by each of their names."""
        return {name: tool for tool in self.tools for name in (tool.name, *tool.also)}

    @functools.cached_property
    def listed(self) -> list[types.Tool]:
        """The tools as they are listed, their schemas built."""
        return [_wire(tool) for tool in self.tools if tool.name not in self.hidden]


class ToolServer(Server[None]):
    """An MCP server that offers tools, and what it works with.

    Attributes:
        offered: What `build` was given, once somebody needed it.
    """

    offered: Callable[[], Offer | None]

    def get_capabilities(self, *args: Any, **kwargs: Any) -> types.ServerCapabilities:  # type: ignore[explicit-override]  # typing.override needs 3.12
        """Declare tools alone: a client that is told of prompts or resources makes room for them."""
        declared = super().get_capabilities(*args, **kwargs)
        return declared.model_copy(update={"prompts": None, "resources": None})


def build(*, name: str, instructions: str, offer: Callable[[], Offer]) -> ToolServer:
    """Make the server.

    Args:
        name: Server name on the wire.
        instructions: What the model reads at start; at most 2 KB.
        offer: Imports and makes everything else; called once, when a request first needs it or, in
            the background, after the first request (the handshake, in either protocol era) was
            answered, so that nothing delays a handshake.
    """
    offered = functools.cache(offer)
    greeted = anyio.Event()

    @asynccontextmanager
    async def lifespan(_server: Server[None]) -> AsyncIterator[None]:
        async def begin() -> None:
            await greeted.wait()
            await anyio.sleep(CALM)
            await offered().background()

        try:
            async with anyio.create_task_group() as group:
                group.start_soon(begin)
                try:
                    yield
                finally:
                    group.cancel_scope.cancel()
        finally:  # nothing in the background works with it any more
            if offered.cache_info().currsize:
                offered().close()

    async def list_tools(
        _ctx: ServerRequestContext[None], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=offered().listed)

    async def call_tool(
        ctx: ServerRequestContext[None], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        async def report(done: float, total: float | None, message: str) -> None:
            await ctx.session.report_progress(done, total, message)

        call = Call(report, _connection(ctx))
        return await _call(offered(), params.name, params.arguments or {}, call)

    def schema(tool: str) -> Mapping[str, Any] | None:
        known = offered().by_name.get(tool)
        return known.schema if known else None

    server = ToolServer(
        name,
        version=__version__,
        instructions=instructions,
        lifespan=lifespan,
        get_tool_input_schema=schema,  # else every call over HTTP would list all tools
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_prompts=_list_prompts,
        on_list_resources=_list_resources,
        on_list_resource_templates=_list_templates,
        on_read_resource=_read_resource,
        cache_hints={
            "tools/list": CONSTANT,
            "prompts/list": CONSTANT,
            "resources/list": CONSTANT,
            "resources/templates/list": CONSTANT,
        },
    )
    server.offered = lambda: offered() if offered.cache_info().currsize else None
    server.middleware.append(_announce(greeted))
    return server


Context = ServerRequestContext[None]
Page = types.PaginatedRequestParams | None


async def _list_prompts(_ctx: Context, _page: Page) -> types.ListPromptsResult:
    """Answer who asks undeclared: there are none."""
    return types.ListPromptsResult(prompts=[])


async def _list_resources(_ctx: Context, _page: Page) -> types.ListResourcesResult:
    return types.ListResourcesResult(resources=[])


async def _list_templates(_ctx: Context, _page: Page) -> types.ListResourceTemplatesResult:
    return types.ListResourceTemplatesResult(resource_templates=[])


async def _read_resource(
    _ctx: Context, params: types.ReadResourceRequestParams
) -> types.ReadResourceResult:
    uri = str(params.uri)
    raise MCPError(types.INVALID_PARAMS, "This server has no resources.", {"uri": uri})


def _connection(ctx: Context) -> str | None:
    """Return the name of the connection a request came by; the transport has checked its session id."""
    if ctx.request is None:
        return THE_CONNECTION
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return None
    session: str | None = ctx.request.headers.get("mcp-session-id")
    return session


async def _call(
    offer: Offer, name: str, given: Mapping[str, Any], call: Call
) -> types.CallToolResult:
    """Run one tool; whatever goes wrong becomes an error result that says what to do next."""
    tool = offer.by_name.get(name)
    if tool is None:
        known = [other for other in offer.by_name if other not in offer.hidden]
        hint = f"Known tools: {', '.join(known)}."
        return _failure(
            {"error": "unknown_tool", "message": f"No tool {name[:100]}.", "hint": hint}
        )
    try:
        arguments, unknown = tool.arguments(given)
        if not offer.writes:
            _check_permitted(tool)
        return _success(_noting(await offer.invoke(tool, arguments, call), unknown))
    except CodeIntelError as error:
        told = error.as_dict()
        # Who misspells a name hears of another that is missing: both are said.
        told["message"] = " ".join(filter(None, (told["message"], _ignored(tool.unknown(given)))))
        return _failure(told)
    except Exception as error:
        logger.exception("%s failed", tool.name)
        return _failure(
            {
                "error": "unexpected",
                "message": f"{tool.name} failed: {type(error).__name__}.",
                "hint": "This is a defect; the server's stderr has the details. Try another tool.",
            }
        )


def _check_permitted(tool: Tool) -> None:
    """Refuse a tool that changes the project, or that may start a program.

    Raises:
        UsageError: It does.
    """
    if not (tool.reaches or tool.name in WRITE_TOOLS):
        return
    what = "runs programs on this machine" if tool.reaches else "changes files of the project"
    raise UsageError(
        f"{tool.name} {what}, which this server does not allow over HTTP.",
        hint="Do it on the machine itself, or start the server with --allow-writes.",
        code="writes_not_allowed",
    )


def _noting(answer: Answer, unknown: tuple[str, ...]) -> Answer:
    """Say in the answer which arguments were ignored."""
    return answer.noting(_ignored(unknown)) if unknown else answer


def _ignored(unknown: tuple[str, ...]) -> str:
    """Return which arguments were ignored, in a sentence; empty when none was."""
    if not unknown:
        return ""
    names = [visible(name[:LONGEST_NAME]) for name in unknown[:MOST_NAMES]]
    return f"Ignored unknown arguments: {', '.join(names)}{' …' if unknown[MOST_NAMES:] else ''}."


HANDSHAKES = frozenset({"initialize", "server/discover"})
"""The first request of either protocol era; it must not wait for anything."""


def _announce(greeted: anyio.Event) -> ServerMiddleware[Any]:
    async def middleware(ctx: ServerRequestContext[Any], call_next: CallNext) -> HandlerResult:
        if ctx.method not in HANDSHAKES:
            greeted.set()  # a client may skip the handshake, and its call may need the background
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
            destructive_hint=tool.destroys,
            idempotent_hint=tool.repeats,
            open_world_hint=tool.reaches,
        ),
    )


def _success(answer: Answer) -> types.CallToolResult:
    # Data is exact, since what is edited is code; text is what a model and a terminal read.
    text = bounded_text(visible_lines(masked(answer.text)))
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)],
        structured_content=bounded(masked_data(answer.data)),
    )


def _brief(error: dict[str, Any]) -> dict[str, Any]:
    """Return an error whose message repeats no more of an argument than a reader needs."""
    message = error["message"]
    cut = len(message) > LONGEST_MESSAGE
    return error | {"message": f"{message[:LONGEST_MESSAGE]}…"} if cut else error


def _failure(error: Mapping[str, Any]) -> types.CallToolResult:
    told = bounded(_brief(masked_data(error)))
    text = visible_json(json.dumps(told, ensure_ascii=False))
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)],
        structured_content=told,
        is_error=True,
    )
