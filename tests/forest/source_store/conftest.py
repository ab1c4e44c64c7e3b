"""Index texts in each implementation."""

from collections.abc import Callable, Mapping

import pytest

from code_intel.forest.source_store import SourceStore
from forest.source_store.implementations import IMPLEMENTATIONS, Implementation

Indexed = Callable[[Mapping[str, str]], SourceStore]


@pytest.fixture(
    params=[pytest.param(each, id=each.name, marks=each.marks) for each in IMPLEMENTATIONS]
)
def indexed(request: pytest.FixtureRequest) -> Indexed:
    """Return what indexes texts in one of the implementations."""
    implementation: Implementation = request.param
    return lambda texts: implementation.indexed(request, texts)
