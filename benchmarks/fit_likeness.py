"""Fit the meaning of a cosine: how likely a search result is right.

    python -m benchmarks.fetch_sources DIR
    python -m benchmarks.fit_likeness --sources DIR [--cache VECTORS] [--rows FILE] [--write]

The ten best files of every labelled question, in both languages, about this repository and twelve
others. Each has the cosine of its best chunk, and whether the labels have it. Both kinds weigh the
same: the share of right results depends on the number ten.

Fit one curve a language, 1 / (1 + exp(-(slope * cosine + bias))), by Newton's method on everything;
the tables are of repositories held out, one at a time. ECE: mean distance of predicted and observed
in fifths of equal size. The 4-bit engine, too slow for thirteen repositories, gets the same curves
through the straight line from its cosines to the other's. --rows keeps the pairs, or uses them if
FILE is there. --write changes code_intel/planning/likeness.json.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.engines import ENGINES
from benchmarks.labels import (
    HERE,
    OTHERS,
    OWN,
    OWN_MANIFEST,
    Repository,
    labelled,
    manifest_of,
    repositories,
)
from benchmarks.plan_search import indexed
from benchmarks.scoring import DEPTH, area
from code_intel.chunking.card import code_card
from code_intel.config import load_settings
from code_intel.embedding.cache import VectorCache
from code_intel.embedding.engine import Embedder
from code_intel.embedding.lazy import LazyEmbedder
from code_intel.forest.ranking.question import embedded
from code_intel.forest.ranking.search import search
from code_intel.forest.ranking.state import NO_SITUATION
from code_intel.planning.likeness import LikenessCurve

Array = NDArray[np.float64]
Curves = dict[str, LikenessCurve]
WRITTEN = HERE.parent / "code_intel" / "planning" / "likeness.json"
FIFTHS = 5
LANGUAGES = ("en", "ja")
SAMPLE = 120
"""Questions and cards that both engines embed."""


class Row(NamedTuple):
    """A question with one of its results: the cosine, and whether the file is wanted.

    `engine` has embedded the question.
    """

    engine: str
    repo: str
    language: str
    cosine: float
    true: bool


def collected(
    each: Repository, engines: Sequence[Embedder], args: argparse.Namespace
) -> Iterator[Row]:
    """Index one repository, ask it everything, and give the pairs."""
    making = LazyEmbedder(load_settings(HERE.parent), corpus="forest")
    cache = VectorCache(args.cache) if args.cache else None
    with indexed(each.folder, making, cache, each.name) as index:
        for question in each.questions:
            language, query = str(question.get("language", "en")), str(question["query"])
            wanted = {target["path"] for target in question["relevant"]}
            for engine in engines:
                vector = embedded(engine, query)
                for hit in search(index.store, query, vector, top_k=DEPTH, situation=NO_SITUATION):
                    if hit.similarity:  # words alone have found a few others
                        true = labelled(hit.document, each.prefix) in wanted
                        cosine = 2 * hit.similarity - 1
                        yield Row(engine.identity, each.name, language, cosine, true)


def pairs(args: argparse.Namespace, engines: Sequence[Embedder]) -> list[Row]:
    """Return the pairs of every repository, or those that `--rows` has kept."""
    if args.rows and args.rows.is_file():
        return [Row(*row) for row in json.loads(args.rows.read_text())]
    manifest = json.loads(manifest_of(OTHERS).read_text())
    rows: list[Row] = []
    for each in (
        *repositories(OWN, OWN_MANIFEST, None, "root"),
        *repositories(OTHERS, manifest, args.sources, "root"),
    ):
        rows += collected(each, engines, args)
        print(each.name, len(rows), flush=True)
    if args.rows:
        args.rows.write_text(json.dumps(rows))
    return rows


def fitted(cosines: Array, true: NDArray[np.bool_]) -> LikenessCurve:
    """Return the logistic curve of least loss; both kinds weigh the same."""
    weights = weights_of(true)
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


def held_out(rows: Sequence[Row]) -> Array:
    """Return what a curve fitted on the other repositories says of each pair."""
    says = np.zeros(len(rows))
    for repo in {row.repo for row in rows}:
        inside = np.array([row.repo == repo for row in rows])
        curve = fitted(*_columns([row for row in rows if row.repo != repo]))
        says[inside] = [curve.at(row.cosine) for row in rows if row.repo == repo]
    return says


def show(name: str, rows: Sequence[Row], says: Array) -> None:
    """Print how well what was said held, over all and in fifths."""
    _, true = _columns(rows)
    weights = weights_of(true)
    parts = np.array_split(np.argsort(says, kind="stable"), FIFTHS)
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


def translated(
    curve: LikenessCurve, ours: Embedder, other: Embedder, asked: list[str], shown: list[str]
) -> LikenessCurve:
    """Return a curve for another engine's cosines: read through the line that leads to ours."""
    sides = []
    for engine in (ours, other):
        queries: NDArray[Any] = engine.queries(asked)
        passages: NDArray[Any] = engine.passages(shown)
        sides.append((queries @ passages.T).ravel())
    slope, offset = np.polyfit(sides[1], sides[0], 1)
    print(
        f"   {ours.identity} = {slope:.4f} * {other.identity} + {offset:.4f}, "
        f"r {np.corrcoef(sides[0], sides[1])[0, 1]:.4f}"
    )
    return LikenessCurve(curve.slope * float(slope), curve.bias + curve.slope * float(offset))


def _columns(rows: Sequence[Row]) -> tuple[Array, NDArray[np.bool_]]:
    return np.array([row.cosine for row in rows]), np.array([row.true for row in rows])


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
    curves: Curves = {}
    for language in LANGUAGES:
        of = {
            engine.identity: [
                row for row in rows if (row.engine, row.language) == (engine.identity, language)
            ]
            for engine in engines
        }
        show(language, of[ours.identity], held_out(of[ours.identity]))
        curve = curves[language] = fitted(*_columns(of[ours.identity]))
        assert curve.slope > 0, f"{language}: the more alike, the less true"
        print(f"   slope {curve.slope:.2f}, bias {curve.bias:.2f}")
        for other in others:
            says = np.array([curve.at(row.cosine) for row in of[other.identity]])
            show(f"{language}, asked through {other.identity}", of[other.identity], says)
    written = {ours.identity: _raw(curves)} | {
        other.identity: _raw(_other_engine(curves, ours, other)) for other in others
    }
    if args.write:
        WRITTEN.write_text(json.dumps({"engines": written}, indent=1) + "\n", encoding="utf-8")


def _other_engine(curves: Curves, ours: Embedder, other: Embedder) -> Curves:
    """Return the curves for the engine that is too slow to be asked everything."""
    questions = [json.loads(line) for line in OWN.read_text().splitlines()]
    shown = _cards()
    return {
        language: translated(
            curve,
            ours,
            other,
            [row["query"] for row in questions if row["language"] == language][:SAMPLE],
            shown,
        )
        for language, curve in curves.items()
    }


def _cards() -> list[str]:
    """Return the cards of some of our own modules."""
    paths = sorted((HERE.parent / "code_intel").rglob("*.py"))
    step = max(1, len(paths) // SAMPLE)
    read = [(path, path.read_text(encoding="utf-8")[:2_000]) for path in paths[::step][:SAMPLE]]
    return [code_card(str(path.relative_to(HERE.parent)), text, ()) for path, text in read]


def _raw(curves: Curves) -> dict[str, Any]:
    return {
        language: {name: round(value, 4) for name, value in curve._asdict().items()}
        for language, curve in curves.items()
    }


if __name__ == "__main__":
    main()
