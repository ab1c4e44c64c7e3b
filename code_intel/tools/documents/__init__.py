"""Serve the tools of the index servers `devrag-map` and `devrag-forest`, one module a tool."""
