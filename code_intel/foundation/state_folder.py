"""The `.gitignore` of `.code-intel`, written when the folder is created (docs/decisions/0037)."""

STATE_FOLDER = ".code-intel"
GITIGNORE_NAME = ".gitignore"
GITIGNORE_TEXT = b"""\
# Derived files: rebuilt from the agreements and the source. The agreements belong in git.
*.db
*.db-*
*.db.*
*.lock
*-bak
*.tmp
learned_pairs.json*
commands.json*
logs/
sessions/
trash/
backup/
"""
