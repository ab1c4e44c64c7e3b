"""Declare every tool once, one module per tool.

A tool takes checked arguments and returns an `Answer`. It searches the map and the forest only
through a `Searcher`; definitions and validity always come from the local index. The rules of the
phases are in `code_intel.session`.
"""
