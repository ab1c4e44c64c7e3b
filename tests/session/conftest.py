"""Define the fixture that tests of session files share."""

from pathlib import Path

import pytest

from code_intel.session.heads import SessionPaths
from session.sessions import place_in


@pytest.fixture
def place(tmp_path: Path) -> SessionPaths:
    """Return where the sessions of a project are, below an empty folder."""
    return place_in(tmp_path)
