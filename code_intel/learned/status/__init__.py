"""Compute whether each agreement holds and is confirmed, which its file does not store."""
