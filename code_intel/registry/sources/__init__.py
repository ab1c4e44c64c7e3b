"""Offer the prompt files that a project has for other clients as commands (docs/decisions/0088)."""
