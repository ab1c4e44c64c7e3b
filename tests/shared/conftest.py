"""A team with a shared index, for tests of pushes and of the overlay."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from code_intel.shared.connection import close_connections

if TYPE_CHECKING:
    from code_intel.shared.milvus import SharedIndex
    from team_servers import Team

_NUMBERS = count()


@pytest.fixture
def team(
    shared_index: "SharedIndex", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> "Iterator[Team]":
    from team_servers import team as served  # needs the extra of the server

    with served(tmp_path, shared_index, monkeypatch) as found:
        yield found
    close_connections()


@pytest.fixture
def name() -> str:
    """Return the name of a repository that no other test uses."""
    return f"shop/number{next(_NUMBERS)}"
