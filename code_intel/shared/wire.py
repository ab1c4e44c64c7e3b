"""Write and read the bodies that clients and servers of the shared index exchange.

Bodies are JSON, compressed with gzip. `routes` has their forms.
"""

import base64
import binascii
import json
import math
import re
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from pydantic import TypeAdapter, ValidationError

from code_intel.errors import UsageError
from code_intel.shared.fields import field_names

if TYPE_CHECKING:  # importing numpy would add 0.1 s to a handshake
    import numpy as np
    from numpy.typing import NDArray

MAX_BODY_BYTES = 16 << 20
"""Maximum bytes of a body as it is sent."""
MAX_JSON_BYTES = 64 << 20
"""Maximum bytes of a body after it was decompressed."""
MAX_DIMENSIONS = 4096
LENGTH_TOLERANCE = 1e-2
COMPRESS_LEVEL = 3
MAX_QUOTES = 8
"""Maximum quotation marks for each value that a message may have: source has some, too."""
_TEXT = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)

T = TypeVar("T")


class Limits(NamedTuple):
    """How large a message may be, after it was decompressed.

    Attributes:
        json_bytes: Its bytes.
        values: Its values: in memory, an empty object takes a hundred times its two bytes.
    """

    json_bytes: int
    values: int


SMALL = Limits(4 << 20, 200_000)
"""For a question."""
LARGE = Limits(MAX_JSON_BYTES, 2_000_000)
"""For files that are pushed, and for answers."""


class WireError(UsageError):
    """What the other side sent is not what the protocol says."""

    code = "invalid_message"
    remedy = "Use the same version of code-intel on both sides."


class TooLargeError(WireError):
    """A message is larger than the protocol allows; it may be sent in parts."""

    code = "too_large"
    remedy = "Send or ask less in one request."


def pack(value: object, limit: int = MAX_BODY_BYTES) -> bytes:
    """Return a body: JSON, compressed with gzip; a record is the list of its values.

    Raises:
        TooLargeError: It is larger than a receiver accepts.
    """
    text = json.dumps(
        value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_values
    )
    data = text.encode("utf-8", "replace")
    packer = zlib.compressobj(COMPRESS_LEVEL, wbits=zlib.MAX_WBITS | 16)
    body = packer.compress(data) + packer.flush()
    _check_size(body, limit)
    _check_size(data, MAX_JSON_BYTES)
    return body


def _values(record: Any) -> list[Any]:
    return [getattr(record, name) for name in field_names(record)]


def unpack(body: bytes, adapter: TypeAdapter[T], limits: Limits = LARGE) -> T:
    """Return what a body says, checked; a body that is not compressed is accepted, too.

    Raises:
        WireError: The body is too large, is not JSON, or does not have this form.
    """
    try:
        data = inflated(body, limits.json_bytes)
        _check_values(data, limits.values)
        return adapter.validate_json(data)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"])[:100]
        raise WireError(f"The message has a wrong form at {where or 'its start'}.") from None


def inflated(body: bytes, limit: int = MAX_JSON_BYTES) -> bytes:
    """Return a body without its compression.

    Raises:
        TooLargeError: It is too large.
        WireError: It is damaged.
    """
    _check_size(body, MAX_BODY_BYTES)
    if not body.startswith(b"\x1f\x8b"):
        _check_size(body, limit)
        return body
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        data = unpacker.decompress(body, limit + 1)
    except zlib.error:
        raise WireError("The message is not compressed as gzip says.") from None
    _check_size(data, limit)
    if not unpacker.eof:
        raise WireError("The message is cut.")
    return data


def _check_values(data: bytes, limit: int) -> None:
    """Check the number of values before memory is used for them.

    Raises:
        TooLargeError: There are too many.
    """
    if data.count(b'"') > MAX_QUOTES * limit or (
        _separators(data) > limit and _separators(_TEXT.sub(b"", data)) > limit
    ):
        raise TooLargeError(f"The message has more than {limit:,} values.")


def _separators(data: bytes) -> int:
    return sum(map(data.count, (b",", b"[", b"{")))


def _check_size(data: bytes, limit: int) -> None:
    if len(data) > limit:
        raise TooLargeError(f"The message is larger than {limit >> 20} MiB.")


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
