"""Build an MCP server from declared tools, and convert errors to results in one place.

The SDK's low-level `Server` is used because its handlers can build schemas when first listed, and
can return error results with exactly our text (docs/decisions/0012). `tools/list` is constant, as
the protocol demands; if a phase forbids a tool, the call is refused.
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
from code_intel.servers.relay.connection import connection_name
from code_intel.servers.running_calls import RunningCalls
from code_intel.tools.declaration import Answer, Tool
from code_intel.tools.progress import Report
from code_intel.tools.wire.answers import bounded, bounded_text

logger = logging.getLogger(__name__)

MAX_UNKNOWN_NAMES, MAX_NAME_CHARS = 10, 60
"""How many unknown arguments a warning names, and how many characters of each name."""
MAX_MESSAGE_CHARS = 500
"""Maximum length of an error's message; its field, hint and details are separate."""
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
        connection: Name of the client's connection: over stdio that of `relay.connection`, over
            HTTP its MCP session, or None where the protocol has no connection (HTTP since
            2026-07-28; decision 0019).
        request: The HTTP request, or None over stdio.
    """

    report: Report
    connection: str | None
    request: Any = None


Shorten = Callable[[Mapping[str, Any]], dict[str, Any]]
"""Changes the data of an answer, after secrets were masked."""


@dataclass(frozen=True)
class ServerSpec:
    """What a server offers and works with; built when first needed, never before the handshake.

    Attributes:
        tools: The tools in the order of the documentation; even hidden ones can be called.
        invoke: Runs a tool on checked arguments.
        background: Runs from the first answer until the server ends.
        close: Closes files when the server ends.
        freshness: Returns how complete each index is, by corpus; may block for a moment.
        hidden: Names of tools that are not listed, to keep a model's context small (decision 0034).
        writes: Whether clients may change the project and start programs; over HTTP only if the
            command line allows it (docs/decisions/0019).
        shorten: Shortens the data of each answer.
    """

    tools: Sequence[Tool]
    invoke: Callable[[Tool, dict[str, Any], ToolCall], Awaitable[Answer]]
    background: Callable[[], Awaitable[None]]
    close: Callable[[], None]
    freshness: Callable[[], Mapping[str, Freshness]] = dict
    hidden: frozenset[str] = frozenset()
    writes: bool = True
    shorten: Shorten = dict

    @functools.cached_property
    def by_name(self) -> dict[str, Tool]:
        """The tools by name and by alias."""
        return {name: tool for tool in self.tools for name in (tool.name, *tool.aliases)}

    @functools.cached_property
    def listed(self) -> list[types.Tool]:
        """The tools as `tools/list` returns them."""
        return [_wire_form(tool) for tool in self.tools if tool.name not in self.hidden]


class ToolServer(Server[None]):
    """An MCP server that offers tools.

    Attributes:
        spec: Returns its specification, or None if that has not been needed yet.
        lasts: The session that each connection used last, by the connection's name.
        running: The calls of tools that run.
    """

    spec: Callable[[], ServerSpec | None]
    lasts: dict[str, str]
    running: RunningCalls

    # typing.override needs 3.12.
    def get_capabilities(  # type: ignore[explicit-override]
        self, *args: Any, **kwargs: Any
    ) -> types.ServerCapabilities:
        """Declare only tools; clients show menus for prompts or resources that are declared."""
        declared = super().get_capabilities(*args, **kwargs)
        return declared.model_copy(update={"prompts": None, "resources": None})


def build(
    *,
    name: str,
    instructions: str,
    make_spec: Callable[[], ServerSpec],
    lasts: dict[str, str] | None = None,
) -> ToolServer:
    """Build the server.

    Args:
        name: The server's name on the wire.
        instructions: What the model reads at start; at most 2 KB.
        make_spec: Imports and builds everything else. It is called once: when a request first needs
            it, or in the background after the handshake, so that it does not delay the handshake.
        lasts: The session that each connection used last; None if the tools have none.
    """
    spec = functools.cache(make_spec)
    handshake_done, running = anyio.Event(), RunningCalls()
    is_running = False

    @asynccontextmanager
    async def lifespan(_server: Server[None]) -> AsyncIterator[None]:
        nonlocal is_running
        if is_running:  # for another client
            yield
            return
        is_running = True

        async def begin() -> None:
            await handshake_done.wait()
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
            is_running = False
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

        call = ToolCall(report, _connection(ctx), ctx.request)
        with running.one():
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
    server.running = running
    server.lasts = {} if lasts is None else lasts
    server.spec = lambda: spec() if spec.cache_info().currsize else None
    server.middleware.append(_note_handshake(handshake_done))
    return server


Context = ServerRequestContext[None]
Page = types.PaginatedRequestParams | None


async def _list_prompts(_ctx: Context, _page: Page) -> types.ListPromptsResult:
    """Answer a client that lists prompts although none are declared."""
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
        return connection_name.get()
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
        answer = await spec.invoke(tool, arguments, call)
        return _success(answer.noting(_ignored(unknown)) if unknown else answer, spec.shorten)
    except CodeIntelError as error:
        data = error.as_dict()
        # If a name is misspelled, a required argument may be missing, too: report both.
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
    """Raise a UsageError if a tool changes the project or may start a program."""
    if not (tool.open_world or tool.name in WRITE_TOOLS):
        return
    what = "runs programs on this machine" if tool.open_world else "changes files of the project"
    raise UsageError(
        f"{tool.name} {what}, which this server does not allow over HTTP.",
        hint="Do it on the machine itself, or start the server with --allow-writes.",
        code="writes_not_allowed",
    )


def _ignored(unknown: tuple[str, ...]) -> str:
    """Return a sentence that names the ignored arguments, or the empty string."""
    if not unknown:
        return ""
    names = [visible(name[:MAX_NAME_CHARS]) for name in unknown[:MAX_UNKNOWN_NAMES]]
    more = " …" if len(unknown) > MAX_UNKNOWN_NAMES else ""
    return f"Ignored unknown arguments: {', '.join(names)}{more}."


HANDSHAKES = frozenset({"initialize", "server/discover"})
"""The first request in each protocol era, which must be answered at once."""


def _note_handshake(handshake_done: anyio.Event) -> ServerMiddleware[Any]:
    async def middleware(ctx: ServerRequestContext[Any], call_next: CallNext) -> HandlerResult:
        if ctx.method not in HANDSHAKES:
            handshake_done.set()  # without a handshake, the call may need the background task
        try:
            return await call_next(ctx)
        finally:
            handshake_done.set()

    return middleware


def _wire_form(tool: Tool) -> types.Tool:
    """Return a tool as `tools/list` shows it, with what a model or its client needs.

    Every character is part of the model's context (docs/decisions/0034).
    """
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.listed_schema,
        annotations=types.ToolAnnotations(
            read_only_hint=True if tool.read_only else None,
            destructive_hint=None if tool.read_only else tool.destructive,
            open_world_hint=tool.open_world or None,
        ),
    )


def _success(answer: Answer, shorten: Shorten) -> types.CallToolResult:
    # The data is exact, because clients edit code with it. Some clients show the model the data,
    # others the text.
    texts = [answer.text, answer.remark] if answer.remark else [answer.text]
    return types.CallToolResult(
        content=[
            types.TextContent(type="text", text=bounded_text(visible_lines(masked(text))))
            for text in texts
        ],
        structured_content=bounded(shorten(masked_data(answer.data))),
    )


def _shortened(error: dict[str, Any]) -> dict[str, Any]:
    """Return an error with its message shortened, because it may quote a long argument."""
    message = error["message"]
    is_long = len(message) > MAX_MESSAGE_CHARS
    return error | {"message": f"{message[:MAX_MESSAGE_CHARS]}…"} if is_long else error


def _failure(error: Mapping[str, Any]) -> types.CallToolResult:
    data = bounded(_shortened(masked_data(error)))
    text = visible_json(json.dumps(data, ensure_ascii=False))
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)],
        structured_content=data,
        is_error=True,
    )
