"""Select what to read for a goal, within a token budget (seed 002)."""
