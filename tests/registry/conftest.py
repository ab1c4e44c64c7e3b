"""Fixtures for tests of execution."""

from pathlib import Path

import pytest

from registry.execution_projects import project


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a project with a prompt and an input file."""
    return project(tmp_path)
