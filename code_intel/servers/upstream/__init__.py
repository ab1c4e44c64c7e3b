"""Search a corpus behind a command or a URL, through a supervised MCP client.

Only what the settings name under `[upstreams]` comes through here; everything else is asked in
process (`tools.searchers`). docs/decisions/0018 has the states and limits.
"""
