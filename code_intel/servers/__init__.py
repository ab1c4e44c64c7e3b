"""The only package that knows MCP: the gateway, the index servers, and the client side to them."""
