"""Select the code to read for a task, within a token budget (seed 002)."""
