"""Fit the calibrated score of the map on labelled questions: python -m benchmarks.fit_score.

Prints the cross-validated rates (grouped by feature: no agreement is scored by constants that saw
it or its questions) and writes the constants of each engine into the package. The same data and
model give the same file. What is fitted and why: docs/decisions/0009.
"""

import argparse
import base64
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.engines import ENGINES
from benchmarks.map_asking import CachingEmbedder
from benchmarks.map_fit import (
    Array,
    FitResult,
    Store,
    cross_validated,
    fit,
    pairs_of,
    platt,
    sigmoid,
    stack,
)
from benchmarks.map_judging import Judgements, curve, judged, pooled, reliability
from benchmarks.map_labels import FOLDER, Labels, sets_from
from benchmarks.map_tables import show_curve, show_rates, show_reliability
from code_intel.chunking.agreement import card
from code_intel.embedding.engine import Embedder
from code_intel.learned.recall import calibration
from code_intel.learned.recall.calibration import FEATURES, Calibration
from code_intel.learned.recall.evidence import measure, wording
from code_intel.learned.recall.recall import Card, lower_limit, upper_limit
from code_intel.records import READY_SCORE, VERIFICATION_SCORE

LIMITS = (
    (READY_SCORE, "near_miss", 0.04),
    (READY_SCORE, "unrelated", 0.0),
    (VERIFICATION_SCORE, "unrelated", 0.01),
)
"""Limits for the scale: the largest shares of each kind that a score may accept."""

MARGIN_LOSS = 0.05
"""Share of the right answers at READY_SCORE that the margin may send to verification."""

STEPS = np.arange(0.5, 0.96, 0.05).round(2).tolist()


def main() -> None:
    """Fit, print, write, for every engine."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=FOLDER)
    parser.add_argument("--out", type=Path, help="folder; default: the package's own constants")
    parser.add_argument("--engine", choices=ENGINES, nargs="+", default=list(ENGINES))
    arguments = parser.parse_args()
    for name in arguments.engine:
        fitted_for(
            CachingEmbedder(ENGINES[name]()), arguments.data, arguments.out or constants_folder()
        )


def fitted_for(embedder: Embedder, data: Path, out: Path) -> None:
    """Fit, print and write the constants of one engine."""
    space = make_space(embedder)
    names = [(name, other) for other in (False, True) for name in sets_from(data)]
    stores = [
        store_of(sets_from(data, other_evidence=other)[name], embedder, space)
        for name, other in names
    ]
    held_out = cross_validated(stores)
    slope, even = platt(stores, held_out)
    shift = even + operating_point(stores, [logits * slope + even for logits in held_out])
    scaled = [logits * slope + shift for logits in held_out]
    print(f"{embedder.identity}: slope {slope:.3f}, shift {shift:.2f}, calibrated {even:.2f}")
    report(names, stores, scaled)
    fitted = fit(stack(stores, [pairs_of(store) for store in stores])).stretched(slope, shift)
    margin = ready_margin(stores, scaled)
    write(out, embedder.identity, digest_of(data), space, fitted, margin, stores)


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
        "axis": axis / np.linalg.norm(axis),
        "generic": embedder.passages(generic),
    }
    return calibration.Space(**{name: half(array) for name, array in arrays.items()})


def store_of(labels: Labels, embedder: Embedder, space: calibration.Space) -> Store:
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
    return Store(labels, evidence, floors, np.where(floors == 1, 1, ceilings))


def operating_point(stores: Sequence[Store], logits: Sequence[Array]) -> float:
    """Return the greatest shift that keeps wrong acceptances within `LIMITS`."""
    good = -2.0
    for shift in np.arange(-2, 3, 0.01):
        whole = judged_all(stores, [values + shift for values in logits])
        if all(
            (whole.value >= score)[whole.kinds == kind].mean() <= limit
            for score, kind, limit in LIMITS
        ):
            good = float(shift)
    return round(good, 2)


def judged_all(stores: Sequence[Store], logits: Sequence[Array]) -> Judgements:
    """Judge the questions of all stores, each asked of its own map."""
    return pooled(
        [
            judged(store.labels, store.scores(values))
            for store, values in zip(stores, logits, strict=True)
        ]
    )


def report(
    names: Sequence[tuple[str, bool]], stores: Sequence[Store], scaled: Sequence[Array]
) -> None:
    """Print the cross-validated rates, curve and calibration."""
    for wanted, title in (
        (False, "evidence as labelled"),
        (True, "evidence in the other language"),
    ):
        print(f"\ncross-validated, {title}")
        found = {
            name: judged(store.labels, store.scores(values))
            for (name, other), store, values in zip(names, stores, scaled, strict=True)
            if other == wanted
        }
        whole = pooled(list(found.values()))
        show_rates({**found, "all": whole})
        show_curve(curve(whole, STEPS), whole)
        show_reliability({**{name: reliability(each) for name, each in found.items()},
                          "all": reliability(whole)})  # fmt: skip


def ready_margin(stores: Sequence[Store], logits: Sequence[Array]) -> float:
    """Return the margin that all but `MARGIN_LOSS` of the right answers at READY_SCORE keep."""
    margins: list[float] = []
    for store, values in zip(stores, logits, strict=True):
        scores = sigmoid(values)
        ranked = np.sort(scores, axis=1)[:, ::-1]
        right = scores.argmax(axis=1) == np.array(store.labels.expected)
        ready = right & (ranked[:, 0] >= READY_SCORE)
        margins += (ranked[ready, 0] - ranked[ready, 1]).tolist()
    return round(float(np.quantile(margins, MARGIN_LOSS)), 3)


def write(
    out: Path, identity: str, digest: str, space: calibration.Space, fitted: FitResult,
    margin: float, stores: Sequence[Store],
) -> None:  # fmt: skip
    """Write the constants and read them back."""
    every = np.concatenate([store.evidence.reshape(-1, len(FEATURES)) for store in stores])
    low, high = every.min(axis=0), every.max(axis=0)
    raw: dict[str, Any] = {
        "identity": identity,
        "data_sha256": digest,
        "bias": round(fitted.bias, 4),
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
            name: encoded_array(getattr(space, name))
            for name in ("query_centre", "passage_centre", "axis", "generic")
        },
    }
    file = out / calibration.slug(identity)
    if file.is_file():  # fitted by benchmarks.map_requests, which must be run afterwards
        old = json.loads(file.read_text(encoding="utf-8"))
        raw |= {"request": old["request"]} if "request" in old else {}
    file.write_text(json.dumps(raw, indent=1) + "\n", encoding="utf-8")
    read_back: Calibration = calibration.decoded(raw, identity)
    print(f"\nwrote {file.name}: bias {read_back.bias}, READY margin {read_back.ready_margin}")
    for name, row in raw["features"].items():
        print(f"  {name:9} {row['weight']:8.3f}   {row['low']:7.3f} to {row['high']:.3f}")


def encoded_array(array: NDArray[Any]) -> str:
    """Return an array as half-precision numbers in base64, as `calibration.decoded` reads it."""
    return base64.b64encode(array.astype("<f2").tobytes()).decode("ascii")


def digest_of(data: Path) -> str:
    """Return the SHA-256 of the labelled sets, one after the other."""
    files = sorted(data.glob("*.json")) if data.is_dir() else [data]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def constants_folder() -> Path:
    """Return where the package keeps its constants."""
    return Path(calibration.__file__).parent / "constants"


def half(array: NDArray[Any]) -> Array:
    """Round to what the file can hold, so that the fit sees what recall will see."""
    return array.astype("<f2").astype(np.float64)


if __name__ == "__main__":
    main()
