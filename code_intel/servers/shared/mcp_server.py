"""Build the MCP server of an instance."""

from typing import Any

from code_intel.servers.protocol import ServerSpec, ToolCall, ToolServer, build
from code_intel.servers.shared.services import caller_of
from code_intel.servers.shared.tools.context import SharedContext
from code_intel.servers.shared.tools.table import TOOLS
from code_intel.tools.declaration import Answer, Tool

INSTRUCTIONS = (
    "The source and the agreements of many repositories, searched by keyword and by meaning. Use "
    "search_map or search_forest to find how other repositories do something, and find_definitions "
    "for where a symbol is defined. Hits are hypotheses: they are of the commit that they "
    "name. For work on the code of the present project, use the server code-intel."
)


def build_mcp_server() -> ToolServer:
    """Return the server; its tools get what they work with from the HTTP request."""

    async def invoke(tool: Tool, arguments: dict[str, Any], call: ToolCall) -> Answer:
        caller = caller_of(call.request)
        caller.record.tool = tool.name
        return await tool.run(SharedContext(caller), **arguments)

    async def background() -> None:
        """Do nothing: nothing is indexed here."""

    def close() -> None:
        """Do nothing: the process closes the index."""

    spec = ServerSpec(TOOLS, invoke, background, close, writes=False)
    return build(name="code-intel-shared", instructions=INSTRUCTIONS, make_spec=lambda: spec)
