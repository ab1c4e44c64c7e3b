"""Is this a server we can ask? Judged when it is connected, and again when it answers badly."""

from collections.abc import Mapping
from typing import Any

from mcp import Client
from mcp.types import Tool

from code_intel.errors import UpstreamError
from code_intel.servers.upstream_words import SAID, quoted

GATEWAY = "code-intel"
OURS = frozenset({"start_session", "search_smart"})
"""Tools that only a gateway has."""
PAGES = 10
"""Pages of tools that are read at the most."""


class RefusedError(UpstreamError):
    """What answers there is of no use, however often it is asked."""


async def search_tool(client: Client) -> Tool:
    """Return the tool `search` of a connected server.

    Raises:
        RefusedError: It is a gateway, so that we would ask ourselves; or it cannot search.
    """
    info = client.server_info
    tools = await _tools(client)
    names = {tool.name for tool in tools}
    if (info is not None and info.name == GATEWAY) or names >= OURS:
        raise RefusedError(
            "it is a code-intel gateway itself, which would ask itself; name an index server, "
            "such as `devrag --config devrag-forest.json`"
        )
    tool = next((tool for tool in tools if tool.name == "search"), None)
    if tool is None:
        offered = quoted(", ".join(sorted(names)[:5])) or "none at all"
        raise RefusedError("it offers no tool `search`", details={SAID: f"its tools: {offered}"})
    arguments_for(tool, {"query": "", "top_k": 1})
    return tool


async def _tools(client: Client) -> list[Tool]:
    found: list[Tool] = []
    cursor: str | None = None
    for _ in range(PAGES):
        page = await client.list_tools(cursor=cursor)
        found += page.tools
        cursor = page.next_cursor
        if cursor is None:
            break
    return found


def arguments_for(
    tool: Tool, arguments: Mapping[str, Any]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the arguments that a tool takes, and the names of those it does not.

    Raises:
        RefusedError: It takes no query, or demands what we do not have.
    """
    properties = tool.input_schema.get("properties")
    required = tool.input_schema.get("required")
    taken = properties if isinstance(properties, dict) and properties else arguments
    if "query" not in taken:
        raise RefusedError("its tool `search` takes no query")
    demanded = (
        [name for name in required if name not in arguments] if isinstance(required, list) else []
    )
    if demanded:
        demands = quoted(f"it demands {demanded[0]}")
        raise RefusedError("its tool `search` demands what we do not have", details={SAID: demands})
    fitting = {name: value for name, value in arguments.items() if name in taken}
    return fitting, tuple(name for name in arguments if name not in taken)
