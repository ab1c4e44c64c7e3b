"""Fit the meaning of a cosine: how likely a search result or a keyword is right.

    python -m benchmarks.fetch_sources DIR
    python -m benchmarks.fit_likeness --sources DIR [--cache VECTORS] [--rows FILE] [--write]

Results: the ten best files of every labelled question, in both languages, about this repository and
twelve others. Each has the cosine of its best chunk, and whether the labels have it. Both kinds
weigh the same: the share of right results depends on the number ten.

Keywords: the terms of each question, and some of another repository's, against the same results as
semantic evaluation compares them, where they do not occur by themselves. A result that has another
word of the same row of the dictionary counts as meant, Japanese or English. They are not labelled
one by one.

Fit one curve for each, 1 / (1 + exp(-(slope * cosine + bias))), by Newton's method on everything;
the tables are of repositories held out, one at a time. ECE: mean distance of predicted and observed
in fifths of equal size. The 4-bit engine, too slow for thirteen repositories, gets the same curves
through the straight line from its cosines to the other's. --rows keeps the pairs, or uses them if
FILE is there. --write changes code_intel/planning/likeness.json.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.engines import ENGINES
from benchmarks.labels import HERE, OWN
from benchmarks.likeness_pairs import Row, pairs, spoken
from benchmarks.scoring import area
from code_intel.embedding.engine import Embedder
from code_intel.learned.recall.calibration import load
from code_intel.planning.likeness import LikenessCurve, card
from code_intel.planning.matching import MIN_MEANING_LIKENESS
from code_intel.planning.records import Result

Array = NDArray[np.float64]
Curves = dict[str, LikenessCurve]
WRITTEN = HERE.parent / "code_intel" / "planning" / "likeness.json"
FIFTHS = 5
LANGUAGES = ("en", "ja")
SAMPLE = 120
"""Cards that both engines embed."""


def fitted(cosines: Array, true: NDArray[np.bool_], *, even: bool) -> LikenessCurve:
    """Return the logistic curve of least loss; `even` lets both kinds weigh the same."""
    weights = weights_of(true) if even else np.ones(len(true))
    features = np.stack([cosines - cosines.mean(), np.ones(len(cosines))], axis=1)
    at = np.zeros(2)
    for _ in range(50):
        says = 1 / (1 + np.exp(-features @ at))
        slope = features.T @ (weights * (true - says)) - 1e-6 * at
        bend = (features * (weights * says * (1 - says))[:, None]).T @ features + 1e-6 * np.eye(2)
        at += np.linalg.solve(bend, slope)
    return LikenessCurve(float(at[0]), float(at[1] - at[0] * cosines.mean()))


def weights_of(true: NDArray[np.bool_]) -> Array:
    """Return weights with which true and false weigh the same."""
    share = float(true.mean())
    weights: Array = np.where(true, 0.5 / max(share, 1e-9), 0.5 / max(1 - share, 1e-9))
    return weights


def held_out(rows: Sequence[Row], *, even: bool) -> Array:
    """Return what a curve fitted on the other repositories says of each pair."""
    says = np.zeros(len(rows))
    for repo in {row.repo for row in rows}:
        inside = np.array([row.repo == repo for row in rows])
        cosines, true = _columns([row for row in rows if row.repo != repo])
        curve = fitted(cosines, true, even=even)
        says[inside] = [
            curve.at(row.cosine) for row, held in zip(rows, inside, strict=True) if held
        ]
    return says


def show(name: str, rows: Sequence[Row], says: Array, *, even: bool) -> None:
    """Print how well what was said held, over all and in fifths."""
    _, true = _columns(rows)
    weights = weights_of(true) if even else np.ones(len(true))
    order = np.argsort(says, kind="stable")
    parts = np.array_split(order, FIFTHS)
    said = [float(np.average(says[part], weights=weights[part])) for part in parts]
    seen = [float(np.average(true[part], weights=weights[part])) for part in parts]
    heavy = [float(weights[part].sum()) for part in parts]
    error = float(np.average(np.abs(np.subtract(said, seen)), weights=heavy))
    print(
        f"{name}: {len(rows)} pairs, {true.mean():.3f} true, "
        f"AUC {area(says[true], says[~true]):.3f}, ECE {error:.3f}"
    )
    print("   said", " ".join(f"{value:.2f}" for value in said))
    print("   seen", " ".join(f"{value:.2f}" for value in seen))
    if (above := says >= MIN_MEANING_LIKENESS).any():
        print(
            f"   from {MIN_MEANING_LIKENESS} on: {above.mean():.3f} of all pairs, "
            f"{true[above].mean():.3f} true"
        )


def translated(
    curve: LikenessCurve,
    ours: Embedder,
    other: Embedder,
    asked: list[str],
    shown: list[str],
    *,
    centred: bool,
) -> LikenessCurve:
    """Return a curve for another engine's cosines: read through the line that leads to ours."""
    sides = []
    for engine in (ours, other):
        queries: NDArray[Any] = engine.queries(asked)
        passages: NDArray[Any] = engine.passages(shown)
        if centred:
            space = load(engine.identity).space
            queries, passages = space.queries(queries), space.passages(passages)
        sides.append((queries @ passages.T).ravel())
    slope, offset = np.polyfit(sides[1], sides[0], 1)
    print(
        f"   {ours.identity} = {slope:.4f} * {other.identity} + {offset:.4f}, "
        f"r {np.corrcoef(sides[0], sides[1])[0, 1]:.4f}"
    )
    return LikenessCurve(curve.slope * float(slope), curve.bias + curve.slope * float(offset))


def _columns(rows: Sequence[Row]) -> tuple[Array, NDArray[np.bool_]]:
    return np.array([row.cosine for row in rows]), np.array([row.true for row in rows])


def _fit(rows: Sequence[Row], name: str, *, even: bool) -> LikenessCurve:
    show(name, rows, held_out(rows, even=even), even=even)
    curve = fitted(*_columns(rows), even=even)
    assert curve.slope > 0, f"{name}: the more alike, the less true"
    print(f"   slope {curve.slope:.2f}, bias {curve.bias:.2f}")
    return curve


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sources", type=Path, required=True, help="the other repositories")
    parser.add_argument("--cache", type=Path, help="folder in which vectors are kept")
    parser.add_argument("--rows", type=Path, help="keep the pairs here, or take them from here")
    parser.add_argument("--write", action="store_true", help="write the constants")
    args = parser.parse_args()
    ours, *others = engines = [make() for make in ENGINES.values()]
    rows = pairs(args, engines)
    mine = [row for row in rows if row.engine == ours.identity]
    kinds = {
        language: [row for row in mine if row.kind == "results" and row.language == language]
        for language in LANGUAGES
    }
    results = {
        language: _fit(of, f"results, {language}", even=True) for language, of in kinds.items()
    }
    for language, curve in results.items():
        for other in others:
            asked = [
                row for row in rows if (row.engine, row.language) == (other.identity, language)
            ]
            says = np.array([curve.at(row.cosine) for row in asked])
            show(f"results, {language}, asked through {other.identity}", asked, says, even=True)
    keywords = {
        language: _fit(
            [row for row in mine if row.kind == "keywords" and row.language == language],
            f"keywords, {language}",
            even=False,
        )
        for language in LANGUAGES
    }
    written = {ours.identity: _raw(results, keywords)} | {
        other.identity: _other_engine(results, keywords, ours, other) for other in others
    }
    if args.write:
        WRITTEN.write_text(json.dumps({"engines": written}, indent=1) + "\n", encoding="utf-8")


def _other_engine(
    results: Curves, keywords: Curves, ours: Embedder, other: Embedder
) -> dict[str, Any]:
    """Return the curves for the engine that is too slow to be asked everything."""
    questions = [json.loads(line) for line in OWN.read_text().splitlines()]
    shown = _cards()
    read: dict[str, Curves] = {"results": {}, "keywords": {}}
    for language in LANGUAGES:
        asked = [row["query"] for row in questions if row["language"] == language]
        said = list(dict.fromkeys(term for query in asked for term in spoken(query)))[:SAMPLE]
        read["results"][language] = translated(
            results[language], ours, other, asked[:SAMPLE], shown, centred=False
        )
        read["keywords"][language] = translated(
            keywords[language], ours, other, said, shown, centred=True
        )
    return _raw(**read)


def _cards() -> list[str]:
    """Return the cards of some of our own modules."""
    paths = sorted((HERE.parent / "code_intel").rglob("*.py"))
    step = max(1, len(paths) // SAMPLE)
    read = [(path, path.read_text(encoding="utf-8")[:2_000]) for path in paths[::step][:SAMPLE]]
    return [card(Result(str(path.relative_to(HERE.parent)), text, 0)) for path, text in read]


def _raw(results: Curves, keywords: Curves) -> dict[str, Any]:
    return {
        kind: {
            language: {name: round(value, 4) for name, value in curve._asdict().items()}
            for language, curve in of.items()
        }
        for kind, of in (("results", results), ("keywords", keywords))
    }


if __name__ == "__main__":
    main()
