"""Fit the map's score: pairs, folds, and a ridge logistic regression with signs.

Pure numpy. docs/decisions/0009 says what is fitted, and why.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from code_intel.learned.fit.labels import Labels
from code_intel.learned.recall.calibration import FEATURES, SIGNS
from code_intel.learned.recall.recall import DIFFERENT

Array = NDArray[np.float64]
Places = NDArray[np.int64]

FOLDS = 10
RIDGE = 1e-3
MIN_STEP = 1e-10
"""Length of a step at which Newton's method ends."""
RIVALS = 3
"""Wrong agreements a question is paired with: those whose meaning is closest."""

WEIGHT_TRUE, WEIGHT_RIVAL = 1, 1 / 3
WEIGHT_NEAR, WEIGHT_NEAR_RIVAL = 1, 1 / 4
WEIGHT_UNRELATED = 1 / 2
WEIGHT_BOUNDED = 1 / 4
"""Weight of wrong pairs that `recall.DIFFERENT` keeps from READY: the fit learns the rest."""


class MeasuredLabels(NamedTuple):
    """A labelled set, measured.

    Attributes:
        labels: Questions and agreements.
        evidence: Shape (questions, agreements, features).
        least: What words warrant at least, shape (questions, agreements).
        most: What they leave possible.
    """

    labels: Labels
    evidence: Array
    least: Array
    most: Array

    def scores(self, logits: Array) -> Array:
        """Turn log-odds into the scores that recall would give."""
        return np.minimum(np.maximum(sigmoid(logits), self.least), self.most)


class Pairs(NamedTuple):
    """Question-agreement pairs of one store: places, truth, weight."""

    query: Places
    entry: Places
    truth: Array
    weight: Array


class FitResult(NamedTuple):
    """Log-odds are `features @ weights + bias`."""

    weights: Array
    bias: float

    def stretched(self, slope: float, shift: float) -> "FitResult":
        """Return the same order on another scale."""
        return FitResult(self.weights * slope, self.bias * slope + shift)


def pairs_of(store: MeasuredLabels) -> Pairs:
    """Choose what to fit on: each true pair, each near miss, and the closest wrong agreements."""
    labels, rows = store.labels, list[tuple[int, int, float, float]]()
    margin = FEATURES.index("margin")
    columns = zip(labels.expected, labels.near, labels.disputed, strict=True)
    for query, (expected, near, disputed) in enumerate(columns):
        closest = np.argsort(-store.evidence[query, :, margin])
        rivals = [int(entry) for entry in closest if entry not in {expected, near}]
        if disputed:
            continue
        if expected >= 0:
            rows.append((query, expected, 1, WEIGHT_TRUE))
            rows += [(query, entry, 0, WEIGHT_RIVAL) for entry in rivals[:RIVALS]]
        elif near >= 0:
            rows.append((query, near, 0, WEIGHT_NEAR))
            rows += [(query, entry, 0, WEIGHT_NEAR_RIVAL) for entry in rivals[: RIVALS - 1]]
        else:
            rows += [(query, entry, 0, WEIGHT_UNRELATED) for entry in rivals[:RIVALS]]
    table = np.array(rows).T
    query, entry, truth = table[0].astype(int), table[1].astype(int), table[2]
    settled = (truth == 0) & (store.most[query, entry] <= DIFFERENT)
    return Pairs(query, entry, truth, np.where(settled, WEIGHT_BOUNDED, 1) * table[3])


def folds_of(labels: Labels) -> tuple[Places, Places]:
    """Return the fold of each question and of each agreement; questions follow their agreement."""
    entries = np.empty(len(labels.agreements), dtype=int)
    entries[np.random.default_rng(0).permutation(len(entries))] = np.arange(len(entries)) % FOLDS
    near = np.array(labels.near)
    alone = np.arange(len(near)) % FOLDS
    return np.where(near >= 0, entries[np.maximum(near, 0)], alone), entries


def cross_validated(stores: Sequence[MeasuredLabels]) -> list[Array]:
    """Return log-odds for each store; the constants for a question never saw its agreement."""
    pairs = [pairs_of(store) for store in stores]
    folds = [folds_of(store.labels) for store in stores]
    logits = [np.zeros(store.evidence.shape[:2]) for store in stores]
    for fold in range(FOLDS):
        seen = [
            pair._replace(weight=pair.weight * kept)
            for pair, (queries, entries) in zip(pairs, folds, strict=True)
            for kept in [(queries[pair.query] != fold) & (entries[pair.entry] != fold)]
        ]
        fitted = fit(stack(stores, seen))
        for store, found, (queries, _) in zip(stores, logits, folds, strict=True):
            test = queries == fold
            found[test] = store.evidence[test] @ fitted.weights + fitted.bias
    return logits


def stack(stores: Sequence[MeasuredLabels], pairs: Sequence[Pairs]) -> tuple[Array, Array, Array]:
    """Return features, truth and weight of all pairs of all stores."""
    features = [
        store.evidence[pair.query, pair.entry] for store, pair in zip(stores, pairs, strict=True)
    ]
    return (
        np.concatenate(features),
        np.concatenate([pair.truth for pair in pairs]),
        np.concatenate([pair.weight for pair in pairs]),
    )


def fit(data: tuple[Array, Array, Array]) -> FitResult:
    """Fit a ridge logistic regression; a feature that pulls against its sign is left out."""
    features, truth, weight = data
    kept = weight > 0
    features, truth, weight = features[kept], truth[kept], weight[kept]
    centre, scale = features.mean(axis=0), features.std(axis=0) + 1e-9
    rows = np.column_stack([(features - centre) / scale, np.ones(len(features))])
    used = list(range(len(FEATURES) + 1))
    while True:
        beta = newton(rows[:, used], truth, weight, RIDGE)
        wrong = [
            u for u, b in zip(used, beta, strict=True) if u < len(FEATURES) and SIGNS[u] * b < 0
        ]
        if not wrong:
            break
        used.remove(wrong[0])
    full = np.zeros(len(FEATURES) + 1)
    full[used] = beta
    weights = full[:-1] / scale
    return FitResult(weights, float(full[-1] - centre @ weights))


def newton(rows: Array, truth: Array, weight: Array, ridge: float) -> Array:
    """Minimise the weighted log loss; the last column is the bias and not shrunk."""
    beta = np.zeros(rows.shape[1])
    shrink = np.diag([ridge * weight.sum()] * (rows.shape[1] - 1) + [0.0])
    for _ in range(100):
        p = sigmoid(rows @ beta)
        gradient = rows.T @ (weight * (p - truth)) + shrink @ beta
        curvature = (rows.T * (weight * p * (1 - p))) @ rows + shrink
        step = np.linalg.solve(curvature + 1e-9 * np.eye(len(beta)), gradient)
        beta -= step
        if np.abs(step).max() < MIN_STEP:
            break
    return beta


def platt(stores: Sequence[MeasuredLabels], logits: Sequence[Array]) -> tuple[float, float]:
    """Return slope and shift that make a best agreement's log-odds those of being right."""
    best = np.concatenate([found.max(axis=1) for found in logits])
    right = np.concatenate(
        [
            found.argmax(axis=1) == np.array(store.labels.expected)
            for store, found in zip(stores, logits, strict=True)
        ]
    )
    rows = np.column_stack([best, np.ones(len(best))])
    slope, shift = newton(rows, right.astype(float), np.ones(len(best)), 0.0)
    return float(slope), float(shift)


def sigmoid(logits: Array) -> Array:
    """Turn log-odds into probabilities."""
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -30, 30))), dtype=np.float64)
