"""The examples in docstrings of pure rules give the results that they show."""

import doctest
import importlib

import pytest

MODULES = (
    "chunking.words",
    "forest.text.globs",
    "foundation.text",
    "registry.rrf",
    "registry.tokens",
    "session.paths",
    "session.patterns",
    "session.phases",
    "session.relevance",
    "session.story",
    "session.wording",
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_hold(name: str) -> None:
    # Not by attribute: some packages export a function with the name of its module.
    module = importlib.import_module(f"code_intel.{name}")
    result = doctest.testmod(module)
    assert result.attempted
    assert not result.failed
