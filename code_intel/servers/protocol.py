"""Make an MCP server of declared tools, and turn errors into results at one boundary.

The SDK's low-level `Server` is used because its handlers can build schemas when first listed, and
can return error results whose text is exactly ours (docs/decisions/0012). `tools/list` is constant,
as the protocol demands; a phase that forbids a tool refuses the call.
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

STDIO_CONNECTION = ""
"""Name of the only connection of a process that serves stdio."""
MAX_UNKNOWN_NAMES, MAX_NAME_CHARS = 10, 60
"""How many unknown arguments a warning names, and how much of each name."""
MAX_MESSAGE_CHARS = 500
"""Of an error's message; field, hint and details are separate."""
LIST_CACHE = CacheHint(ttl_ms=300_000, scope="public")
"""Lists do not change while a server runs, but a newer server may be started."""
BACKGROUND_DELAY_S = 0.3
"""Delay of the background work after the first answer, so that first calls are answered quickly."""


WRITE_TOOLS = frozenset({"delete_document", "add_frontmatter", "update_frontmatter"})
"""Tools of the index servers that change the project; all others change only the index."""


@dataclass(frozen=True)
class ToolCall:
    """The caller of a tool.

    Attributes:
        report: Sends progress to the client.
        connection: Name of the client's connection: `STDIO_CONNECTION`, its MCP session over HTTP,
            or None where the protocol has no connection (HTTP since 2026-07-28; decision 0019).
    """

    report: Report
    connection: str | None


@dataclass(frozen=True)
class ServerSpec:
    """What a server offers and works with; made at the first need, never before the handshake.

    Attributes:
        tools: The tools in the order of the documentation; each can be called by name.
        invoke: Runs a tool on checked arguments.
        background: Runs from the first answer until the server ends.
        close: Closes files when the server ends.
        condition: Returns how complete each index is, by corpus; may block for a moment.
        hidden: Names of tools that are not listed, to keep a model's context small (decision 0034).
        writes: Whether clients may change the project and start programs; not over HTTP, unless the
            command line allows it (docs/decisions/0019).
    """

    tools: Sequence[Tool]
    invoke: Callable[[Tool, dict[str, Any], ToolCall], Awaitable[Answer]]
    background: Callable[[], Awaitable[None]]
    close: Callable[[], None]
    condition: Callable[[], Mapping[str, Freshness]] = dict
    hidden: frozenset[str] = frozenset()
    writes: bool = True

    @functools.cached_property
    def by_name(self) -> dict[str, Tool]:
        """The tools by name and by other names."""
        return {name: tool for tool in self.tools for name in (tool.name, *tool.also)}

    @functools.cached_property
    def listed(self) -> list[types.Tool]:
        """The tools as `tools/list` returns them."""
        return [_wire(tool) for tool in self.tools if tool.name not in self.hidden]


class ToolServer(Server[None]):
    """An MCP server that offers tools.

    Attributes:
        spec: Returns what it works with, or None before the first need.
    """

    spec: Callable[[], ServerSpec | None]

    def get_capabilities(self, *args: Any, **kwargs: Any) -> types.ServerCapabilities:  # type: ignore[explicit-override]  # typing.override needs 3.12
        """Declare only tools; clients show menus for prompts or resources that are declared."""
        declared = super().get_capabilities(*args, **kwargs)
        return declared.model_copy(update={"prompts": None, "resources": None})


def build(*, name: str, instructions: str, make_spec: Callable[[], ServerSpec]) -> ToolServer:
    """Make the server.

    Args:
        name: Server name on the wire.
        instructions: What the model reads at start; at most 2 KB.
        make_spec: Imports and makes everything else. It is called once: when a request first needs
            it, or in the background after the handshake, so that it does not delay the handshake.
    """
    spec = functools.cache(make_spec)
    greeted = anyio.Event()

    @asynccontextmanager
    async def lifespan(_server: Server[None]) -> AsyncIterator[None]:
        async def begin() -> None:
            await greeted.wait()
            await anyio.sleep(BACKGROUND_DELAY_S)
            await spec().background()

        try:
            async with anyio.create_task_group() as group:
                group.start_soon(begin)
                try:
                    yield
                finally:
                    group.cancel_scope.cancel()
        finally:  # the background has ended
            if spec.cache_info().currsize:
                spec().close()

    async def list_tools(
        _ctx: ServerRequestContext[None], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=spec().listed)

    async def call_tool(
        ctx: ServerRequestContext[None], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        async def report(done: float, total: float | None, message: str) -> None:
            await ctx.session.report_progress(done, total, message)

        call = ToolCall(report, _connection(ctx))
        return await _call(spec(), params.name, params.arguments or {}, call)

    def schema(tool: str) -> Mapping[str, Any] | None:
        known = spec().by_name.get(tool)
        return known.schema if known else None

    server = ToolServer(
        name,
        version=__version__,
        instructions=instructions,
        lifespan=lifespan,
        get_tool_input_schema=schema,  # otherwise every call over HTTP would list all tools
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_prompts=_list_prompts,
        on_list_resources=_list_resources,
        on_list_resource_templates=_list_templates,
        on_read_resource=_read_resource,
        cache_hints={
            "tools/list": LIST_CACHE,
            "prompts/list": LIST_CACHE,
            "resources/list": LIST_CACHE,
            "resources/templates/list": LIST_CACHE,
        },
    )
    server.spec = lambda: spec() if spec.cache_info().currsize else None
    server.middleware.append(_announce(greeted))
    return server


Context = ServerRequestContext[None]
Page = types.PaginatedRequestParams | None


async def _list_prompts(_ctx: Context, _page: Page) -> types.ListPromptsResult:
    """Answer a client that asks although prompts are not declared."""
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
    """Return the name of the connection of a request; the transport has checked its session id."""
    if ctx.request is None:
        return STDIO_CONNECTION
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return None
    session: str | None = ctx.request.headers.get("mcp-session-id")
    return session


async def _call(
    spec: ServerSpec, name: str, given: Mapping[str, Any], call: ToolCall
) -> types.CallToolResult:
    """Run one tool; any error becomes an error result that says what to do next."""
    tool = spec.by_name.get(name)
    if tool is None:
        known = [other for other in spec.by_name if other not in spec.hidden]
        hint = f"Known tools: {', '.join(known)}."
        return _failure(
            {"error": "unknown_tool", "message": f"No tool {name[:100]}.", "hint": hint}
        )
    try:
        arguments, unknown = tool.arguments(given)
        if not spec.writes:
            _check_permitted(tool)
        return _success(_noting(await spec.invoke(tool, arguments, call), unknown))
    except CodeIntelError as error:
        data = error.as_dict()
        # A misspelled name also leaves a required argument missing: report both.
        data["message"] = " ".join(filter(None, (data["message"], _ignored(tool.unknown(given)))))
        return _failure(data)
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
    """Add a warning that names the ignored arguments."""
    return answer.noting(_ignored(unknown)) if unknown else answer


def _ignored(unknown: tuple[str, ...]) -> str:
    """Return a sentence that names the ignored arguments, or the empty string."""
    if not unknown:
        return ""
    names = [visible(name[:MAX_NAME_CHARS]) for name in unknown[:MAX_UNKNOWN_NAMES]]
    more = " …" if len(unknown) > MAX_UNKNOWN_NAMES else ""
    return f"Ignored unknown arguments: {', '.join(names)}{more}."


HANDSHAKES = frozenset({"initialize", "server/discover"})
"""The first request of either protocol era; it must be answered at once."""


def _announce(greeted: anyio.Event) -> ServerMiddleware[Any]:
    async def middleware(ctx: ServerRequestContext[Any], call_next: CallNext) -> HandlerResult:
        if ctx.method not in HANDSHAKES:
            greeted.set()  # the client skipped the handshake, and its call may need the background
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
    # The data is exact, because clients edit code with it; models and terminals read the text.
    text = bounded_text(visible_lines(masked(answer.text)))
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)],
        structured_content=bounded(masked_data(answer.data)),
    )


def _brief(error: dict[str, Any]) -> dict[str, Any]:
    """Return an error with a short message; it may quote a long argument."""
    message = error["message"]
    cut = len(message) > MAX_MESSAGE_CHARS
    return error | {"message": f"{message[:MAX_MESSAGE_CHARS]}…"} if cut else error


def _failure(error: Mapping[str, Any]) -> types.CallToolResult:
    data = bounded(_brief(masked_data(error)))
    text = visible_json(json.dumps(data, ensure_ascii=False))
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)],
        structured_content=data,
        is_error=True,
    )
