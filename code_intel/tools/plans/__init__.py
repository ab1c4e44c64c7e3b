"""Run query plans: `gistdex_query_plan` and its parts."""
