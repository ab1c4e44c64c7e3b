"""The tools that search, describe, execute and reload prompt commands."""
