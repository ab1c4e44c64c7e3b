"""Query plans: state what to expect, search, compare, refine, store (seed 003).

The index and the clock are passed in. What the tool answers is in `tools/plans`
(docs/decisions/0040).
"""
