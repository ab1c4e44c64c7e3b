"""Map evidence to a calibrated score.

The thresholds of the score are the same for every embedding model. The constants of the map differ:
they are fitted for one model, and are refused for any other (seed 004 §5.2; docs/decisions/0009).
`benchmarks/fit_score.py` writes those of the default model to `constants/`, to a file named after
the model's identity (weights, precision, engine). `code-intel calibrate` writes a project's own
constants to the user's state folder, where no repository can put a file (docs/decisions/0060).
"""

import base64
import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from code_intel.config import Settings
from code_intel.embedding.lazy import model_revision
from code_intel.errors import EmbeddingError
from code_intel.learned.files.stat_cache import MISSING, Stat, file_stat

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

FEATURES = (
    "margin", "gap", "opposite", "term", "width", "foreign", "covered", "known", "unknown",
    "unsaid", "action", "short", "complete", "partial", "japanese",
)  # fmt: skip
"""Names of the features that `evidence.measure` returns, in its order; see `evidence.MEASURES`."""

SIGNS = (1, 1, -1, 0, 0, -1, 1, 0, -1, -1, -1, 1, 1, -1, 0)
"""The sign that each feature's weight may have; 0 allows both.

The fit leaves out a feature whose weight would have the other sign.
"""

REQUEST_FEATURES = ("score", "align", "shared", "action", "wide", "aim")
"""Names of the numbers that `requests.evidence` returns, in its order and explained there."""

RECALIBRATE = "Run `code-intel calibrate`."

NEIGHBOURS = 3
"""Number of generic phrases, the closest ones, that `Space.crowd` averages."""


@dataclass(frozen=True)
class Space:
    """The space in which vectors are compared: centred, without the axis from English to Japanese.

    Cosines of raw e5 vectors depend mostly on the languages of the two texts. Without the axis and
    the common centre they depend on the subjects of the texts.

    Attributes:
        query_centre: Mean vector of the background phrases as queries, shape (dimensions,).
        passage_centre: Mean vector of the same phrases as passages.
        axis: Unit vector from English to Japanese.
        generic: Vectors of the phrases in `background` and `chatter` as passages, shape (phrases,
            dimensions). They are meant to match no agreement.
    """

    query_centre: "Array"
    passage_centre: "Array"
    axis: "Array"
    generic: "Array"

    def queries(self, vectors: "NDArray[Any]") -> "Array":
        """Convert query vectors, shape (n, dimensions), to unit vectors of the space."""
        return self._without_axis(vectors - self.query_centre)

    def passages(self, vectors: "NDArray[Any]") -> "Array":
        """Convert passage vectors, shape (n, dimensions), to unit vectors of the space."""
        return self._without_axis(vectors - self.passage_centre)

    def crowd(self, query: "Array") -> float:
        """Return the mean cosine of a question and the closest `NEIGHBOURS` generic phrases."""
        import numpy as np

        return float(np.sort(self._generic @ query)[-NEIGHBOURS:].mean())

    @cached_property
    def _generic(self) -> "Array":
        return self.passages(self.generic)

    def _without_axis(self, rows: "Array") -> "Array":
        import numpy as np

        rows = rows - np.outer(rows @ self.axis, self.axis)
        return cast("Array", rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9))


@dataclass(frozen=True)
class RequestFit:
    """The fitted comparison of whole requests: one weight per `REQUEST_FEATURES`, and a bias."""

    weights: tuple[float, ...]
    bias: float

    def score(self, evidence: tuple[float, ...]) -> float:
        """Return how surely a request repeats an earlier one, between 0 and 1, exclusive."""
        total = sum(w * value for w, value in zip(self.weights, evidence, strict=True)) + self.bias
        return 1 / (1 + math.exp(-min(max(total, -30.0), 30.0)))


@dataclass(frozen=True, eq=False)
class Calibration:
    """The map from evidence to score that was fitted for one model.

    Compared by identity: reading a calibration again returns a different object.

    Attributes:
        identity: The model it was fitted for.
        space: The space in which the model's vectors are compared.
        weights: One weight per feature, in the order of `FEATURES`.
        low: Smallest value of each feature in the labelled data; smaller values count as this.
        high: Largest value of each feature in the labelled data; larger values count as this.
        bias: Log-odds if every feature is 0.
        ready_margin: Difference of scores that the best agreement needs to the best one of another
            symbol, so that the search may be skipped.
        data_sha256: Digest of the labelled data it was fitted on.
        request: The comparison of whole requests; None if it has not been fitted.
    """

    identity: str
    space: Space
    weights: "Array"
    low: "Array"
    high: "Array"
    bias: float
    ready_margin: float
    data_sha256: str
    request: RequestFit | None = None

    def scores(self, evidence: "Array") -> "Array":
        """Return a score between 0 and 1, exclusive, for each row of `evidence`.

        `evidence` has the shape (n, features), the result (n,).
        """
        import numpy as np

        bounded = np.clip(evidence, self.low, self.high)
        return 1 / (1 + np.exp(-np.clip(bounded @ self.weights + self.bias, -30, 30)))

    def shares(self, evidence: Sequence[float]) -> tuple[float, ...]:
        """Return what each feature of one row adds to the log-odds of the score, besides `bias`."""
        import numpy as np

        bounded = np.clip(np.asarray(evidence), self.low, self.high)
        return tuple(map(float, bounded * self.weights))


def slug(identity: str) -> str:
    """Return the name of the file with a model's constants."""
    return re.sub(r"[^A-Za-z0-9.+-]", "_", identity) + ".json"


@lru_cache(maxsize=4)
def load(identity: str) -> Calibration:
    """Return the shipped constants of one model.

    Raises:
        EmbeddingError: No constants have been fitted for `identity`, or the file is invalid.
    """
    file = Path(__file__).parent / "constants" / slug(identity)
    if not file.is_file():
        raise EmbeddingError(
            f"No score is calibrated for {identity}.",
            hint="Use the default model, or run `code-intel calibrate`.",
        )
    return decoded(json.loads(file.read_text(encoding="utf-8")), identity)


def fitted(identity: str) -> Calibration | None:
    """Return the shipped constants of one model; None if they cannot be loaded."""
    try:
        return load(identity)
    except EmbeddingError:
        return None


def of_project(settings: Settings, identity: str) -> Calibration | None:
    """Return the constants that a project uses with a model: its own, else the shipped ones.

    A new calibration is used from the next call, without a restart.
    """
    try:
        return own(settings, identity) or fitted(identity)
    except EmbeddingError:  # `code-intel doctor` reports it
        return fitted(identity)


def own(settings: Settings, identity: str) -> Calibration | None:
    """Return the constants that `code-intel calibrate` has written for a project and model.

    Returns None without such constants, or if they are for another revision of the model or for
    vectors of another length.

    Raises:
        EmbeddingError: The file is damaged.
    """
    file = own_file(settings, identity)
    stat = file_stat(file)
    if not identity or stat == MISSING:
        return None
    constants, revision = _read(file, stat, identity)
    if revision and revision != model_revision(settings.map):
        return None
    return constants if len(constants.space.axis) == settings.map.dimensions else None


def described(settings: Settings, identity: str) -> str:
    """Return which constants a project uses with a model, as `code-intel status` shows it."""
    try:
        if own(settings, identity):
            return "this project's own"
    except EmbeddingError as error:
        return f"{error.message} {RECALIBRATE}"
    return "shipped with the model" if fitted(identity) else f"none. {RECALIBRATE}"


def own_file(settings: Settings, identity: str) -> Path:
    """Return the file for a project's own constants of a model."""
    return settings.calibrations / slug(identity)


@lru_cache(maxsize=8)
def _read(file: Path, stat: Stat, identity: str) -> tuple[Calibration, str]:  # noqa: ARG001
    """Read a file as it is at a stat; return the constants and the model's revision."""
    try:
        raw = json.loads(file.read_text(encoding="utf-8"))
        return decoded(raw, identity), str(raw.get("revision", ""))
    except (OSError, ValueError, AttributeError) as error:
        raise EmbeddingError(f"The calibration in {file} cannot be read: {error}.") from error


def decoded(raw: Mapping[str, Any], identity: str) -> Calibration:
    """Read the JSON form of a model's constants.

    Raises:
        EmbeddingError: The constants are for another model, or damaged.
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
            request=_request_fit(raw.get("request")),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise EmbeddingError(f"The constants for {identity} are damaged: {error!r}.") from error


def log_odds(score: float) -> float:
    """Return the log-odds of a score, within bounds."""
    score = min(max(score, 0.01), 0.99)
    return math.log(score / (1 - score))


def background() -> tuple[dict[str, str], ...]:
    """Return the generic phrases: `text`, `language` (ja, en), `form` (phrase, sentence)."""
    return _shipped("phrases")


def chatter() -> tuple[dict[str, str], ...]:
    """Return the shipped requests to agents that concern no feature: builds, tests, git.

    The rows have the same keys as those of `background`.
    """
    return _shipped("chatter")


@lru_cache(maxsize=1)
def document_frequency() -> tuple[Counter[str], int]:
    """Return the number of background phrases that contain each word, and that of all phrases."""
    from code_intel.chunking.words import words

    phrases = background()
    found: Counter[str] = Counter()
    for row in phrases:
        found.update(set(words(row["text"])))
    return found, len(phrases)


@lru_cache(maxsize=2)
def _shipped(key: str) -> tuple[dict[str, str], ...]:
    file = Path(__file__).parent / "constants" / "background.json"
    return tuple(json.loads(file.read_text(encoding="utf-8"))[key])


def _request_fit(raw: Mapping[str, Any] | None) -> RequestFit | None:
    if raw is None:
        return None
    weights = tuple(float(raw["weights"][name]) for name in REQUEST_FEATURES)
    return RequestFit(weights, float(raw["bias"]))


def _array(text: str) -> "Array":
    import numpy as np

    return np.frombuffer(base64.b64decode(text), dtype="<f2").astype(np.float64)
