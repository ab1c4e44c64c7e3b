"""Define the JSON that clients and servers of the shared index exchange, and check it.

Both sides check what they receive: types, sizes, paths that stay inside a repository, and names
without control characters. Bodies are JSON, compressed with gzip. `calls` has the questions to an
index, and `pushes` what a push sends.
"""

import base64
import binascii
import json
import math
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, NamedTuple, TypeVar

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError

from code_intel.config.shared import is_repository
from code_intel.errors import UsageError
from code_intel.foundation.text import hidden_character
from code_intel.shared.records import Generation, Head, Layer

if TYPE_CHECKING:  # importing numpy would add 0.1 s to a handshake
    import numpy as np
    from numpy.typing import NDArray

VERSION = "/v1"
"""The beginning of every path; another version of the protocol has another one."""
MAX_BODY_BYTES = 16 << 20
"""Maximum bytes of a body as it is sent."""
MAX_JSON_BYTES = 64 << 20
"""Maximum bytes of a body after it was decompressed."""
MAX_PATH_CHARS = 1000
MAX_NAME_CHARS = 2000
MAX_BRANCH_CHARS = 250
MAX_TEXT_CHARS = 1 << 20
MAX_COMMITS = 1000
MAX_CARDS = 1000
MAX_FILES = 500
MAX_CALLS = 32
MAX_GENERATIONS = 200
MAX_LAYERS = 32
MAX_ITEMS = 500_000
"""Maximum rows of a result, such as the imports of a repository."""
MAX_DIMENSIONS = 4096
MAX_CHUNK_ID = 1 << 128
MAX_LINES = 1 << 31
LENGTH_TOLERANCE = 1e-2
COMPRESS_LEVEL = 3

T = TypeVar("T")


class WireError(UsageError):
    """What the other side sent is not what the protocol says."""

    code = "invalid_message"
    remedy = "Use the same version of code-intel on both sides."


def _plain(text: str) -> str:
    """Refuse control and format characters, which may steer a terminal or a model.

    Raises:
        ValueError: The text has one.
    """
    if hidden_character(text):
        raise ValueError("control characters")
    return text


def _path(text: str) -> str:
    """Refuse a path that is not relative, or leads out of its repository.

    Raises:
        ValueError: It is such a path.
    """
    if not is_document(text):
        raise ValueError("not a path inside a repository")
    return text


def _repository(text: str) -> str:
    """Refuse a text that does not name a repository.

    Raises:
        ValueError: It is such a text.
    """
    if not is_repository(text):
        raise ValueError("not the name of a repository")
    return text


def _branch(text: str) -> str:
    """Refuse a text that cannot name a branch.

    Raises:
        ValueError: It is such a text.
    """
    if not is_branch(text):
        raise ValueError("not the name of a branch")
    return text


def is_document(path: str) -> bool:
    """Return whether a path is relative, has no `..`, and no control characters."""
    if not 0 < len(path) <= MAX_PATH_CHARS or hidden_character(path):
        return False
    parts = path.split("/")
    return not {"", ".", ".."} & set(parts) and ".git" not in parts and ":" not in parts[0][1:2]


def is_name(text: str) -> bool:
    """Return whether a text may be the name of a symbol, a token or an import target."""
    return len(text) <= MAX_NAME_CHARS and not hidden_character(text)


def is_branch(name: str) -> bool:
    """Return whether a text may be the name of a branch."""
    is_short = 0 < len(name) <= MAX_BRANCH_CHARS and not hidden_character(name)
    return is_short and not set(name) & set(" ~^:?*[\\") and ".." not in name


Path = Annotated[str, AfterValidator(_path)]
Repository = Annotated[str, Field(max_length=300), AfterValidator(_repository)]
Branch = Annotated[str, AfterValidator(_branch)]
Name = Annotated[str, Field(max_length=MAX_NAME_CHARS), AfterValidator(_plain)]
Word = Annotated[str, Field(max_length=60), AfterValidator(_plain)]
"""A short name, such as a language or a kind of symbol."""
Text = Annotated[str, Field(max_length=MAX_TEXT_CHARS)]
Hex = Annotated[str, Field(pattern=r"^[0-9a-f]{16,64}$")]
OptionalHex = Annotated[str, Field(pattern=r"^([0-9a-f]{16,64})?$")]
Commit = Annotated[str, Field(pattern=r"^[0-9a-f]{40}([0-9a-f]{24})?$")]
Count = Annotated[int, Field(ge=0, le=MAX_LINES)]
ChunkId = Annotated[int, Field(ge=0, lt=MAX_CHUNK_ID)]
Score = Annotated[float, Field(allow_inf_nan=False)]


class WireLayer(NamedTuple):
    """A `Layer`."""

    id: Hex
    hides: Annotated[tuple[Path, ...], Field(max_length=MAX_ITEMS)]


class WireGeneration(NamedTuple):
    """A `Generation`."""

    id: Hex
    repository: Repository
    commit: Commit
    tree: Hex
    settings: Hex
    model: Name
    layers: Annotated[tuple[WireLayer, ...], Field(min_length=1, max_length=MAX_LAYERS)]
    files: Count
    chunks: Count
    created_at: Word

    def record(self) -> Generation:
        """Return the record."""
        layers = tuple(Layer(*layer) for layer in self.layers)
        return Generation(*self[:6], layers, *self[7:])


class WireHead(NamedTuple):
    """A `Head`."""

    repository: Repository
    branch: Branch
    commit: Commit
    generation: Hex

    def record(self) -> Head:
        """Return the record."""
        return Head(*self)


class FindGeneration(NamedTuple):
    """Ask for the generation of the first of some commits that has one, else of a branch."""

    repository: Repository
    commits: Annotated[tuple[Commit, ...], Field(max_length=MAX_COMMITS)] = ()
    branches: Annotated[tuple[Branch, ...], Field(max_length=8)] = ()


class FoundGeneration(NamedTuple):
    """The generation that was found; None if there is none."""

    generation: WireGeneration | None


class FindVectors(NamedTuple):
    """Ask for vectors by card."""

    repository: Repository
    cards: Annotated[tuple[Hex, ...], Field(max_length=MAX_CARDS)]


class FoundVectors(NamedTuple):
    """Vectors by card, each in base64; see `vector_text`."""

    vectors: Annotated[dict[Hex, str], Field(max_length=MAX_CARDS)]


class FoundHeads(NamedTuple):
    """The heads that a token may read."""

    heads: Annotated[tuple[WireHead, ...], Field(max_length=MAX_ITEMS)]


FIND_GENERATION = TypeAdapter(FindGeneration)
FOUND_GENERATION = TypeAdapter(FoundGeneration)
FIND_VECTORS = TypeAdapter(FindVectors)
FOUND_VECTORS = TypeAdapter(FoundVectors)
FOUND_HEADS = TypeAdapter(FoundHeads)


def pack(value: object) -> bytes:
    """Return a body: JSON, compressed with gzip."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    packer = zlib.compressobj(COMPRESS_LEVEL, wbits=zlib.MAX_WBITS | 16)
    return packer.compress(text.encode("utf-8", "replace")) + packer.flush()


def unpack(body: bytes, adapter: TypeAdapter[T]) -> T:
    """Return what a body says, checked; a body that is not compressed is accepted, too.

    Raises:
        WireError: The body is too large, is not JSON, or does not have this form.
    """
    try:
        return adapter.validate_json(inflated(body))
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"])[:100]
        raise WireError(f"The message has a wrong form at {where or 'its start'}.") from None


def inflated(body: bytes) -> bytes:
    """Return a body without its compression.

    Raises:
        WireError: It is too large, or damaged.
    """
    if len(body) > MAX_BODY_BYTES:
        raise WireError(f"The message is larger than {MAX_BODY_BYTES >> 20} MiB.")
    if not body.startswith(b"\x1f\x8b"):
        return body
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        data = unpacker.decompress(body, MAX_JSON_BYTES)
    except zlib.error:
        raise WireError("The message is not compressed as gzip says.") from None
    if unpacker.unconsumed_tail:
        raise WireError(f"The message is larger than {MAX_JSON_BYTES >> 20} MiB.")
    if not unpacker.eof:
        raise WireError("The message is cut.")
    return data


def vector_text(vector: bytes) -> str:
    """Return a vector (float32, little endian) as text."""
    return base64.b64encode(vector).decode("ascii")


def vector_bytes(text: str, dimensions: int = 0) -> bytes:
    """Return the bytes of a vector of length 1.

    Args:
        text: The text of `vector_text`.
        dimensions: The numbers that it must have; 0 if any.

    Raises:
        WireError: It is not such a vector.
    """
    import numpy as np

    if len(text) > MAX_DIMENSIONS * 6:
        raise WireError("A vector has too many numbers.")
    try:
        data = base64.b64decode(text, validate=True)
        vector = np.frombuffer(data, "<f4")
    except (binascii.Error, ValueError):
        raise WireError("A vector is not base64 of numbers.") from None
    length = float(np.linalg.norm(vector.astype(np.float64)))  # NaN and infinity are not near 1
    if not math.isclose(length, 1.0, abs_tol=LENGTH_TOLERANCE):
        raise WireError("A vector does not have the length 1.")
    if dimensions and len(vector) != dimensions:
        raise WireError(f"A vector has {len(vector)} numbers instead of {dimensions}.")
    return data


def vector_of(data: bytes) -> "NDArray[np.float32]":
    """Return the numbers of a vector."""
    import numpy as np

    return np.frombuffer(data, "<f4").astype(np.float32)


def vectors_of(found: Mapping[str, str], dimensions: int = 0) -> dict[str, bytes]:
    """Return checked vectors by card; those that are not vectors are left out."""
    vectors: dict[str, bytes] = {}
    for card, text in found.items():
        try:
            vectors[card] = vector_bytes(text, dimensions)
        except WireError:
            continue
    return vectors
