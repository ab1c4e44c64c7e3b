"""Tools that look at files, as tests of paths ask them."""

from typing import Any

READERS: dict[str, tuple[str, dict[str, Any]]] = {
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
"""Tools that look at what they are given a path of: its field, and what else they need."""
