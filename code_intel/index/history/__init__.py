"""Index the messages of earlier commits (docs/decisions/0080)."""
