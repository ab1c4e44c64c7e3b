"""Fit the constants of the map's score for one model (docs/decisions/0009, 0053, 0060).

The command `code-intel calibrate` and the benchmarks use the same code and the same labelled data,
which is part of the package: `questions/` and `requests/`.
"""
