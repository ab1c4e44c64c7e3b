"""Search a corpus behind a command or a URL, through a supervised MCP client.

Only corpora that the settings name under `[upstreams]` are searched here; all others are searched
in process (`tools.context.searchers`). docs/decisions/0018 lists the states and limits.
"""
