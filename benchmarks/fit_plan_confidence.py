r"""Fit the chance that the first result of a search is right, from its lead over the next three.

    python -m benchmarks.plan_search --vectors --json own.json
    python -m benchmarks.plan_search --json own-words.json
    python -m benchmarks.fit_plan_confidence own.json own-words.json ...

Prints the constants of `planning.evaluation`, the area under the curve, and how often the first
result is right by chance. Each repository is judged by constants that were fitted on the others
(docs/decisions/0090).
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


def fitted(leads: Values, right: Values) -> Values:
    """Return bias and slope of a logistic curve, by Newton's method."""
    rows = np.column_stack([np.ones_like(leads), leads])
    weights = np.zeros(2)
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-rows @ weights))
        spread = chance * (1 - chance) + 1e-9
        slope = rows.T @ (right - chance)
        weights = weights + np.linalg.solve((rows * spread[:, None]).T @ rows, slope)
    return weights


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path, nargs="+", help="JSON of plan_search")
    files = parser.parse_args().results
    outcomes = [
        each
        for file in files
        for each in json.loads(file.read_text("utf-8"))["outcomes"]
        if each["lead"] is not None
    ]
    leads = np.array([each["lead"] for each in outcomes])
    right = np.array(
        [float(bool({*each["baseline"][:1]} & {*each["wanted"]})) for each in outcomes]
    )
    repos = np.array([each["repo"] for each in outcomes])
    chances = np.zeros_like(leads)
    for repo in np.unique(repos):
        bias, slope = fitted(leads[repos != repo], right[repos != repo])
        chances[repos == repo] = 1 / (1 + np.exp(-(bias + slope * leads[repos == repo])))
    bias, slope = fitted(leads, right)
    print(f"LEAD_BIAS, LEAD_SLOPE = {bias:.2f}, {slope:.2f}  # {len(leads)} searches")
    print(f"area under the curve {area(chances[right == 1], chances[right == 0]):.3f}")
    for low, high in pairwise(BANDS):
        mine = (chances >= low) & (chances < high)
        if mine.any():
            print(f"{low:.1f} to {min(high, 1):.1f}{mine.sum():>8}{right[mine].mean():>8.3f}")


if __name__ == "__main__":
    main()
