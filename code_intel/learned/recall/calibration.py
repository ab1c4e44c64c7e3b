"""Map evidence to a calibrated score, whose thresholds are the same under any model.

The constants of one embedding model live in `constants/`, in a file named after its identity
(weights, precision, engine), fitted by `benchmarks/fit_score.py`. They are worth nothing for any
other model and are refused for it (seed 004 §5.2; docs/decisions/0009).
"""

import base64
import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, cast

from code_intel.errors import EmbeddingError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

FEATURES = (
    "margin", "gap", "opposite", "term", "width", "foreign", "covered", "known", "unknown", "unsaid",
    "action", "short",
)  # fmt: skip
"""What `evidence.measure` measures, in this order."""

SIGNS = (1, 1, -1, 0, 0, -1, 1, 0, -1, -1, -1, 1)
"""Which way each feature may move a score, 0 for either; a fit that wants another way leaves it out."""

NEIGHBOURS = 3


@dataclass(frozen=True)
class Space:
    """Where vectors are compared: centred, without the axis between Japanese and English.

    Raw cosines of e5 say first of all in which language a text is written; without that axis and
    the common centre, what is left is what it is about.

    Attributes:
        query_centre: Mean of the background phrases as queries, shape (dimensions,).
        passage_centre: The same as passages.
        axis: Unit vector from English to Japanese.
        generic: What is about no agreement, `background` and `chatter`, as passages, shape (phrases,
            dimensions).
    """

    query_centre: "Array"
    passage_centre: "Array"
    axis: "Array"
    generic: "Array"

    def queries(self, vectors: "NDArray[Any]") -> "Array":
        """Bring query vectors, shape (n, dimensions), into the space; rows of length 1."""
        return self._without_axis(vectors - self.query_centre)

    def passages(self, vectors: "NDArray[Any]") -> "Array":
        """Bring passage vectors, shape (n, dimensions), into the space; rows of length 1."""
        return self._without_axis(vectors - self.passage_centre)

    def crowd(self, asked: "Array") -> float:
        """Return how close a question in the space is to what is about no agreement."""
        import numpy as np

        return float(np.sort(self._generic @ asked)[-NEIGHBOURS:].mean())

    @cached_property
    def _generic(self) -> "Array":
        return self.passages(self.generic)

    def _without_axis(self, rows: "Array") -> "Array":
        import numpy as np

        rows = rows - np.outer(rows @ self.axis, self.axis)
        return cast("Array", rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9))


@dataclass(frozen=True)
class Calibration:
    """One model's fitted map from evidence to score.

    Attributes:
        identity: The model it was fitted for.
        space: Where its vectors are compared.
        weights: One a feature, in the order of `FEATURES`.
        low: Smallest value seen of each feature; what lies below counts as this.
        high: Largest value seen of each feature.
        bias: Log-odds with no evidence.
        ready_margin: How far the best agreement must be ahead of the next different symbol before
            a search may be skipped, as a difference of scores.
        data_sha256: The labelled data it was fitted on.
    """

    identity: str
    space: Space
    weights: "Array"
    low: "Array"
    high: "Array"
    bias: float
    ready_margin: float
    data_sha256: str

    def scores(self, evidence: "Array") -> "Array":
        """Return scores of evidence, shape (n, features) to (n,), each above 0 and below 1."""
        import numpy as np

        bounded = np.clip(evidence, self.low, self.high)
        return 1 / (1 + np.exp(-np.clip(bounded @ self.weights + self.bias, -30, 30)))


def slug(identity: str) -> str:
    """Return the name of the file that holds a model's constants."""
    return re.sub(r"[^A-Za-z0-9.+-]", "_", identity) + ".json"


@lru_cache(maxsize=4)
def load(identity: str) -> Calibration:
    """Return the constants of one model.

    Raises:
        EmbeddingError: Nobody has fitted any for `identity`, or the file is for another.
    """
    file = resources.files("code_intel.learned.recall") / "constants" / slug(identity)
    if not file.is_file():
        raise EmbeddingError(
            f"No score is calibrated for {identity}.",
            hint="Use the default model, or fit constants with benchmarks/fit_score.py.",
        )
    return decoded(json.loads(file.read_text(encoding="utf-8")), identity)


def fitted(identity: str) -> Calibration | None:
    """Return the constants of one model; None if none were fitted."""
    try:
        return load(identity)
    except EmbeddingError:
        return None


def decoded(raw: Mapping[str, Any], identity: str) -> Calibration:
    """Read the JSON form of a model's constants.

    Raises:
        EmbeddingError: They are another model's, or incomplete.
    """
    import numpy as np

    try:
        if raw["identity"] != identity:
            raise EmbeddingError(f"These constants are for {raw['identity']}, not {identity}.")
        rows = [raw["features"][name] for name in FEATURES]
        size = len(_array(raw["space"]["axis"]))
        return Calibration(
            identity=identity,
            space=Space(
                query_centre=_array(raw["space"]["query_centre"]),
                passage_centre=_array(raw["space"]["passage_centre"]),
                axis=_array(raw["space"]["axis"]),
                generic=_array(raw["space"]["generic"]).reshape(-1, size),
            ),
            weights=np.array([row["weight"] for row in rows]),
            low=np.array([row["low"] for row in rows]),
            high=np.array([row["high"] for row in rows]),
            bias=float(raw["bias"]),
            ready_margin=float(raw["ready_margin"]),
            data_sha256=str(raw["data_sha256"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise EmbeddingError(f"The constants for {identity} are damaged: {error!r}.") from error


def background() -> tuple[dict[str, str], ...]:
    """Return the shipped generic phrases: `text`, `language` (ja, en), `form` (phrase, sentence)."""
    return _shipped("phrases")


def chatter() -> tuple[dict[str, str], ...]:
    """Return what is said to agents all day about no feature: builds, tests, git; as `background`."""
    return _shipped("chatter")


@lru_cache(maxsize=1)
def document_frequency() -> tuple[Counter[str], int]:
    """Return in how many background phrases each word occurs, and how many phrases there are."""
    from code_intel.chunking.words import words

    phrases = background()
    return Counter(word for row in phrases for word in set(words(row["text"]))), len(phrases)


@lru_cache(maxsize=2)
def _shipped(key: str) -> tuple[dict[str, str], ...]:
    file = resources.files("code_intel.learned.recall") / "constants" / "background.json"
    return tuple(json.loads(file.read_text(encoding="utf-8"))[key])


def _array(text: str) -> "Array":
    import numpy as np

    return np.frombuffer(base64.b64decode(text), dtype="<f2").astype(np.float64)
