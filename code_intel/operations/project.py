"""Say whether a project is set up, and how to set it up."""

import shlex

from code_intel.config import Settings


def is_set_up(settings: Settings) -> bool:
    """Return whether the project has a configuration or a state folder."""
    return settings.state.is_dir() or settings.map.path.is_file() or settings.forest.path.is_file()


def setup_command(settings: Settings) -> str:
    """Return the command that sets the project up."""
    return f"code-intel init {shlex.quote(str(settings.root))}"
