"""Name the state of a project.

`.code-intel` gets a `.gitignore` when it is created (docs/decisions/0037). State that a repository
must not contain is in the user's state folder, under the name that `project_digest` returns.
"""

import os
from contextlib import suppress
from pathlib import Path

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
proposals.json*
logs/
sessions/
trash/
backup/
"""


def project_digest(root: str | os.PathLike[str]) -> str:
    """Return the name of a project in the user's state folder."""
    import hashlib  # hooks import this module and must start fast

    real = os.fsencode(os.path.realpath(root))
    return hashlib.sha256(real).hexdigest()[:32]


def is_within(folder: str | os.PathLike[str], root: str | os.PathLike[str]) -> bool:
    """Return whether a folder, which need not exist, is a project or inside it, links resolved."""
    real = Path(os.path.realpath(folder))
    for each in (real, *real.parents):
        with suppress(OSError):  # it does not exist
            if each.samefile(root):  # names may differ in case
                return True
    return False
