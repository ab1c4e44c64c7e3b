"""Decide what a name in a source file refers to (docs/decisions/0078)."""
