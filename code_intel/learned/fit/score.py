"""Fit the score of one agreement for one question, and write it as constants (decision 0009)."""

import base64
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from code_intel.chunking.agreement import card
from code_intel.embedding.engine import Embedder
from code_intel.learned.fit.judging import Judgements, Mask, judged, pooled
from code_intel.learned.fit.labels import Labels
from code_intel.learned.fit.regression import (
    Array,
    FitResult,
    MeasuredLabels,
    cross_validated,
    fit,
    pairs_of,
    platt,
    sigmoid,
    stack,
)
from code_intel.learned.recall import calibration
from code_intel.learned.recall.calibration import FEATURES, REQUEST_FEATURES, RequestFit
from code_intel.learned.recall.evidence import measure, wording
from code_intel.learned.recall.recall import Card, lower_limit, upper_limit
from code_intel.records import READY_SCORE, VERIFICATION_SCORE

LIMITS = (
    (READY_SCORE, "near_miss", 0.04),
    (READY_SCORE, "unrelated", 0.0),
    (VERIFICATION_SCORE, "near_miss", 0.075),
    (VERIFICATION_SCORE, "unrelated", 0.01),
)
"""Limits for the scale: the largest shares of each kind, of the questions in one language, that a
score may accept."""

MAX_SHIFT = 3.0
SHIFT_STEP = 0.01
"""Bounds and precision of the shift."""

MIN_LENGTH = 1e-9
"""Smallest length by which a vector is divided."""

MARGIN_LOSS = 0.05
"""Share of the right answers at READY_SCORE that the margin may send to verification."""


class ScoreFit(NamedTuple):
    """A fitted score.

    Attributes:
        space: The space in which vectors are compared.
        stores: The sets of labelled questions, measured.
        held_out: Log-odds for each store; the constants for a question never saw its agreement.
        result: The constants fitted on everything.
        margin: The margin that READY needs.
        scale: Slope, the shifts for English and for Japanese questions, and the shift that would be
            calibrated without `LIMITS`.
    """

    space: calibration.Space
    stores: tuple[MeasuredLabels, ...]
    held_out: tuple[Array, ...]
    result: FitResult
    margin: float
    scale: tuple[float, float, float, float]


def fit_score(
    sets: Sequence[Labels],
    embedder: Embedder,
    report: Callable[[int, int], None] = lambda _done, _total: None,
) -> ScoreFit:
    """Fit the score on labelled sets, each asked of its own map."""
    space = make_space(embedder)
    stores = []
    for number, labels in enumerate(sets):
        report(number, len(sets))
        stores.append(store_of(labels, embedder, space))
    logits = cross_validated(stores)
    slope, even = platt(stores, logits)
    even_logits = [values * slope + even for values in logits]
    is_japanese = [store.evidence[:, 0, FEATURES.index("japanese")] > 0 for store in stores]
    every = np.concatenate(is_japanese)
    english, japanese = (
        even + operating_point(stores, even_logits, among) for among in (~every, every)
    )
    held_out = tuple(
        values * slope + np.where(asked, japanese, english)[:, None]
        for values, asked in zip(logits, is_japanese, strict=True)
    )
    result = fit(stack(stores, [pairs_of(store) for store in stores])).stretched(slope, english)
    result.weights[FEATURES.index("japanese")] += japanese - english
    report(len(sets), len(sets))
    margin = ready_margin(stores, held_out)
    scale = slope, english, japanese, even
    return ScoreFit(space, tuple(stores), held_out, result, margin, scale)


def make_space(embedder: Embedder) -> calibration.Space:
    """Fit centre and language axis to the generic phrases; languages and forms weigh the same."""
    rows = calibration.background()
    texts = [row["text"] for row in rows]
    groups = sorted({(row["language"], row["form"]) for row in rows})
    places = {g: [i for i, r in enumerate(rows) if (r["language"], r["form"]) == g] for g in groups}
    queries, passages = embedder.queries(texts), embedder.passages(texts)
    mean = {group: queries[at].mean(axis=0) for group, at in places.items()}
    axis = sum(mean[g] if g[0] == "ja" else -mean[g] for g in groups)
    generic = [*texts, *(row["text"] for row in calibration.chatter())]
    arrays = {
        "query_centre": np.mean(list(mean.values()), axis=0),
        "passage_centre": np.mean([passages[at].mean(axis=0) for at in places.values()], axis=0),
        "axis": axis / max(float(np.linalg.norm(axis)), MIN_LENGTH),
        "generic": embedder.passages(generic),
    }
    return calibration.Space(**{name: half(array) for name, array in arrays.items()})


def store_of(labels: Labels, embedder: Embedder, space: calibration.Space) -> MeasuredLabels:
    """Measure every question of a set against every agreement, as recall does."""
    said = [wording(agreement) for agreement in labels.agreements]
    cards = [Card(agreement) for agreement in labels.agreements]
    vectors = embedder.passages([card(agreement) for agreement in labels.agreements])
    asked = zip(labels.queries, embedder.queries(labels.queries), strict=True)
    evidence = np.array([measure(query, vector, said, vectors, space) for query, vector in asked])
    floors = np.array([[lower_limit(query, each)[0] for each in cards] for query in labels.queries])
    ceilings = np.array(
        [[upper_limit(query, words)[0] for words in said] for query in labels.queries]
    )
    return MeasuredLabels(labels, evidence, floors, np.where(floors == 1, 1, ceilings))


def operating_point(
    stores: Sequence[MeasuredLabels], logits: Sequence[Array], counted: Mask
) -> float:
    """Return the greatest shift that keeps wrong acceptances within `LIMITS`.

    `counted` are the questions, of all stores, that are counted.
    """
    low, high = -round(MAX_SHIFT / SHIFT_STEP), round(MAX_SHIFT / SHIFT_STEP)
    while low < high:  # a larger shift accepts more
        middle = (low + high + 1) // 2
        whole = judged_all(stores, [values + middle * SHIFT_STEP for values in logits])
        if _is_within_limits(whole.only(counted)):
            low = middle
        else:
            high = middle - 1
    return round(low * SHIFT_STEP, 2)


def _is_within_limits(questions: Judgements) -> bool:
    values = {kind: questions.value[questions.kinds == kind] for _, kind, _ in LIMITS}
    return all(
        not values[kind].size or (values[kind] >= score).mean() <= limit
        for score, kind, limit in LIMITS
    )


def judged_all(stores: Sequence[MeasuredLabels], logits: Sequence[Array]) -> Judgements:
    """Judge the questions of all stores, each asked of its own map."""
    return pooled(
        [
            judged(store.labels, store.scores(values))
            for store, values in zip(stores, logits, strict=True)
        ]
    )


def ready_margin(stores: Sequence[MeasuredLabels], logits: Sequence[Array]) -> float:
    """Return the margin that all but `MARGIN_LOSS` of the right answers at READY_SCORE keep."""
    margins: list[float] = []
    for store, values in zip(stores, logits, strict=True):
        if len(store.labels.agreements) == 1:  # without a rival, there is no margin
            continue
        scores = sigmoid(values)
        ranked = np.sort(scores, axis=1)[:, ::-1]
        right = scores.argmax(axis=1) == np.array(store.labels.expected)
        ready = right & (ranked[:, 0] >= READY_SCORE)
        margins += (ranked[ready, 0] - ranked[ready, 1]).tolist()
    return round(float(np.quantile(margins, MARGIN_LOSS)), 3)


def raw_constants(
    identity: str, digest: str, fitted: ScoreFit, request: RequestFit | None = None
) -> dict[str, Any]:
    """Return the JSON form of constants, which `calibration.decoded` reads.

    Args:
        identity: The model.
        digest: The SHA-256 of the labelled data.
        fitted: The score.
        request: The comparison of whole requests, if it is fitted.
    """
    every = [store.evidence.reshape(-1, len(FEATURES)) for store in fitted.stores]
    bounds = zip(
        FEATURES,
        fitted.result.weights,
        np.concatenate(every).min(axis=0),
        np.concatenate(every).max(axis=0),
        strict=True,
    )
    raw: dict[str, Any] = {
        "identity": identity,
        "data_sha256": digest,
        "bias": round(fitted.result.bias, 4),
        "ready_margin": fitted.margin,
        "features": {
            name: {
                "weight": round(float(weight), 4),
                "low": round(float(low), 4),
                "high": round(float(high), 4),
            }
            for name, weight, low, high in bounds
        },
    }
    raw |= {"request": raw_request(request)} if request else {}
    arrays = ("query_centre", "passage_centre", "axis", "generic")
    return raw | {"space": {name: encoded_array(getattr(fitted.space, name)) for name in arrays}}


def raw_request(fitted: RequestFit) -> dict[str, Any]:
    """Return the JSON form of the comparison of whole requests."""
    weights = zip(REQUEST_FEATURES, fitted.weights, strict=True)
    return {
        "weights": {name: round(value, 4) for name, value in weights},
        "bias": round(fitted.bias, 4),
    }


def encoded_array(array: NDArray[Any]) -> str:
    """Return an array as half-precision numbers in base64, as `calibration.decoded` reads it."""
    return base64.b64encode(array.astype("<f2").tobytes()).decode("ascii")


def half(array: NDArray[Any]) -> Array:
    """Round to what the file can hold, so that the fit sees what recall will see."""
    return array.astype("<f2").astype(np.float64)
