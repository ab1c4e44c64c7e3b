"""Tell the files of code-intel in a project from those of the user (docs/decisions/0082)."""

from code_intel.config.client_files import CLIENT_FILES, HOOK_FILES
from code_intel.config.index_config import FOREST_CONFIG, MAP_CONFIG, STATE_FOLDER

PLANS_FOLDER = ".gistdex"
OWN_FOLDERS = frozenset({STATE_FOLDER, PLANS_FOLDER})
"""Agreements, sessions, logs, backups and databases; plans and pages."""
OWN_FILES = frozenset(
    {
        MAP_CONFIG,
        FOREST_CONFIG,
        ".claude/settings.local.json",
        *CLIENT_FILES.values(),
        *HOOK_FILES.values(),
    }
)
"""Configurations of the indexes, and files of clients that hold only settings. `CLAUDE.md` and
`AGENTS.md` are the user's, although `init` adds a section."""


def is_own(path: str) -> bool:
    """Return whether a POSIX path relative to the project is a file of code-intel."""
    return path in OWN_FILES or not OWN_FOLDERS.isdisjoint(path.split("/")[:-1])
