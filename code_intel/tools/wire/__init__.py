"""Format answers: hits, pages, packs and warnings, each cut to a token budget.

Nothing here reads a session or an index.
"""
