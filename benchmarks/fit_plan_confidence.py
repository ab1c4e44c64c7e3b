r"""Fit the chance that the first result of a search is right, from its lead and its similarity.

    python -m benchmarks.plan_search --vectors --json own.json
    python -m benchmarks.plan_search --json own-words.json
    python -m benchmarks.fit_plan_confidence own.json own-words.json ...

Prints the constants of `planning.evaluation`, the area under the curve, and how often the first
result is right by chance. Each repository is judged by constants that were fitted on the others.
Questions about other repositories count as wrong, with a weight, since most questions have an
answer (docs/decisions/0090).
"""

import argparse
import json
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.plan_tables import BANDS
from benchmarks.scoring import area

Values = NDArray[np.float64]
STEPS = 30
UNANSWERABLE_WEIGHT = 0.2


def fitted(features: Values, right: Values, weights: Values) -> Values:
    """Return the bias and the slopes of a logistic curve, by Newton's method.

    Args:
        features: Shape (questions, features).
        right: 1 or 0, shape (questions,).
        weights: Shape (questions,).
    """
    rows = np.column_stack([np.ones(len(features)), features])
    curve = np.zeros(rows.shape[1])
    for _ in range(STEPS):
        chance = chances(curve, features)
        spread = weights * chance * (1 - chance) + 1e-9
        slope = rows.T @ (weights * (right - chance))
        curve = curve + np.linalg.solve((rows * spread[:, None]).T @ rows, slope)
    return curve


def chances(curve: Values, features: Values) -> Values:
    """Return what a curve says of each question."""
    values: Values = 1 / (1 + np.exp(-(curve[0] + features @ curve[1:])))
    return values


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path, nargs="+", help="JSON of plan_search")
    outcomes = [
        each
        for file in parser.parse_args().results
        for each in json.loads(file.read_text("utf-8"))["outcomes"]
        if each["lead"] is not None
    ]
    features = np.array([[each["lead"], each["similarity"]] for each in outcomes])
    right = np.array(
        [float(bool({*each["baseline"][:1]} & {*each["wanted"]})) for each in outcomes]
    )
    answerable = np.array([bool(each["wanted"]) for each in outcomes])
    weights = np.where(answerable, 1.0, UNANSWERABLE_WEIGHT)
    repos = np.array([each["repo"] for each in outcomes])
    said = np.zeros(len(outcomes))
    for repo in np.unique(repos):
        others, mine = repos != repo, repos == repo
        curve = fitted(features[others], right[others], weights[others])
        said[mine] = chances(curve, features[mine])
    bias, lead, similarity = fitted(features, right, weights)
    print(f"BIAS, LEAD_SLOPE, SIMILARITY_SLOPE = {bias:.2f}, {lead:.2f}, {similarity:.2f}")
    print(f"{answerable.sum()} searches, {(~answerable).sum()} about other repositories")
    wrong = answerable & (right == 0)
    print(f"area under the curve {area(said[right == 1], said[wrong]):.3f}")
    print("chance, n, share right, n of other repositories")
    for low, high in pairwise(BANDS):
        band = (said >= low) & (said < high)
        mine = band & answerable
        share = right[mine].mean() if mine.any() else 0.0
        foreign = (band & ~answerable).sum()
        print(f"{low:.1f} to {min(high, 1):.1f}{mine.sum():>8}{share:>8.3f}{foreign:>8}")


if __name__ == "__main__":
    main()
