"""What tests of executing stand on."""

from pathlib import Path

import pytest

from registry.executing import project


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with a prompt, and something to give to it."""
    return project(tmp_path)
