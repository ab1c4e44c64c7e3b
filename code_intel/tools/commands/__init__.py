"""Search, describe, execute and reload prompt commands, one module a tool."""
