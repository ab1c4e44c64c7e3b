"""Declare every tool once, one module per tool.

A tool takes checked arguments and returns an `Answer`. It searches map and forest only through a
`Searcher`; definitions and validity always come from the local index. Decisions about phases belong
to `code_intel.session`.
"""
