"""Translate the events of each client, and the answers to them: one module per client."""
