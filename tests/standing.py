"""The place of a test that runs the terminal in its own process.

It has a project, an empty home and no model.
"""

from pathlib import Path

import pytest


def stand(patch: pytest.MonkeyPatch, root: Path) -> None:
    """Enter a project with its home beside it.

    Prompts of commands are rendered here, whatever is installed.
    """
    home = root.parent / "home"
    home.mkdir()
    patch.setenv("HOME", str(home))
    patch.setenv("CODE_INTEL_EMBEDDING", "off")
    patch.setenv("CODE_INTEL_COMMAND_RUNNER", "prompts")
    for name in ("CODE_INTEL_ROOT", "CLAUDE_PROJECT_DIR"):
        patch.delenv(name, raising=False)
    patch.chdir(root)
