"""From v3.7, and from what later versions of the original left, to this program (docs/decisions/0035)."""
