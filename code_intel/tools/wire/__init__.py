"""Format answers (hits, pages, packs and warnings) within a token budget.

These modules do not read sessions or indexes.
"""
