"""Check that a server has a tool `search` that we can call."""

from collections.abc import Mapping
from typing import Any

from mcp import Client
from mcp.types import Tool

from code_intel.errors import UpstreamError
from code_intel.servers.upstream.trouble import SAID_FIELD, quoted

GATEWAY = "code-intel"
GATEWAY_TOOLS = frozenset({"start_session", "search_smart"})
MAX_PAGES = 10
"""Maximum number of pages of tools that are read."""


class UnusableError(UpstreamError):
    """The server can never answer our questions."""


async def search_tool(client: Client) -> Tool:
    """Return the tool `search` of a connected server.

    Raises:
        UnusableError: It is a gateway, which would search itself, or it cannot search.
    """
    tools: dict[str, Tool] = {}
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools |= {tool.name: tool for tool in page.tools}
        cursor = page.next_cursor
        if cursor is None:
            break
    info = client.server_info
    if (info is not None and info.name == GATEWAY) or tools.keys() >= GATEWAY_TOOLS:
        raise UnusableError(
            "it is a code-intel gateway, which cannot be an upstream; name an index server, "
            "such as `devrag --config devrag-forest.json`"
        )
    if "search" not in tools:
        offered = quoted(", ".join(sorted(tools)[:5])) or "none at all"
        raise UnusableError(
            "it offers no tool `search`", details={SAID_FIELD: f"its tools: {offered}"}
        )
    accepted(tools["search"], {"query": "", "top_k": 1})
    return tools["search"]


def accepted(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that a tool accepts.

    Raises:
        UnusableError: It accepts no query, or requires parameters that we do not have.
    """
    properties = tool.input_schema.get("properties")
    names = properties if isinstance(properties, dict) and properties else arguments
    if "query" not in names:
        raise UnusableError("its tool `search` accepts no query")
    required = tool.input_schema.get("required")
    missing = (
        [name for name in required if name not in arguments] if isinstance(required, list) else []
    )
    if missing:
        said = quoted(f"it requires {missing[0]}")
        raise UnusableError(
            "its tool `search` requires parameters that code-intel does not have",
            details={SAID_FIELD: said},
        )
    return {name: value for name, value in arguments.items() if name in names}


def may_repeat(tool: Tool | None) -> bool:
    """Return whether a tool declares that calling it twice is harmless."""
    hints = tool.annotations if tool is not None else None
    return hints is not None and bool(hints.read_only_hint or hints.idempotent_hint)
