"""Serve the tools over MCP, and search remote corpora as an MCP client.

No other package imports MCP.
"""
