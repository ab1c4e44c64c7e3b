"""Read and write the texts of notes (docs/decisions/0083)."""
