"""Propose agreements from the history, the tests and the documents of a project (decision 0084)."""
