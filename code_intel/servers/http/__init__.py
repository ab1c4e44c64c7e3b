"""Serve MCP over HTTP: the address, the checks before a request, limits and tokens."""
