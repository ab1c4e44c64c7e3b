"""Compute whether each agreement holds and is confirmed. The file stores nothing of it."""
