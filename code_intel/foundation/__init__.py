"""Handle files, git, processes, names, text and secrets safely.

Modules here know nothing of the product. Everything else may import them.
"""
