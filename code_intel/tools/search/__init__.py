"""Search map and forest, one module a tool."""
