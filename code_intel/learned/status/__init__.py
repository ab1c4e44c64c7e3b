"""Compute whether each agreement still holds and is confirmed. Nothing of it is stored in the file."""
