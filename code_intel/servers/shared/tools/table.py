"""List the tools of an instance, in the order of the documentation."""

from code_intel.servers.shared.tools.find_definitions import find_definitions
from code_intel.servers.shared.tools.find_references import find_references
from code_intel.servers.shared.tools.list_repositories import list_repositories
from code_intel.servers.shared.tools.search_forest import search_forest
from code_intel.servers.shared.tools.search_map import search_map
from code_intel.tools.declaration import Tool

TOOLS: tuple[Tool, ...] = (
    Tool(search_forest),
    Tool(search_map),
    Tool(find_definitions),
    Tool(find_references),
    Tool(list_repositories),
)
