"""Rank the files that answer a question: words, vectors, definitions, and a table of signals."""
