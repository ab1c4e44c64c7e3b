"""Handle files, git, processes, names, text and secrets safely.

Modules here do not depend on the rest of the package, which may import them.
"""
