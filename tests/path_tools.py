"""Name the tools that read what they are given a path of, and paths that they must refuse."""

from typing import Any

PATH_TOOLS: dict[str, tuple[str, dict[str, Any]]] = {
    "query": ("path", {"question": "where is the login?", "symbol": "login"}),
    "search_text": ("path", {"pattern": "login"}),
    "search_files": ("path", {"pattern": "*"}),
    "find_definitions": ("path", {"symbol": "login"}),
    "find_references": ("path", {"symbol": "login"}),
    "get_symbols": ("path", {}),
    "analyze_structure": ("file_path", {}),
    "get_function_at_line": ("file_path", {"line_number": 1}),
    "deps_closure": ("path", {}),
    "snippets_get": ("path", {}),
    "repo_pack": ("path", {}),
    "analyze_impact": ("target_files", {"change_description": "rename"}),
}
"""Tool -> its parameter for the path, and its other arguments."""


def arguments_for(tool: str, path: str) -> dict[str, Any]:
    """Return the arguments that make a tool read a path."""
    field, others = PATH_TOOLS[tool]
    return {**others, field: [path] if field == "target_files" else path}
