"""Serve an index that many machines share: `code-intel serve-shared` (docs/decisions/0095)."""
