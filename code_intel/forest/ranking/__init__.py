"""Rank the files that answer a question: words, vectors and definitions, then one table of signals."""
