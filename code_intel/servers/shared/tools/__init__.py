"""The MCP tools of an instance."""
