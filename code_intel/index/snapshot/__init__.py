"""Give the vectors of an index to another clone in one file (docs/decisions/0094)."""
