"""Tables of `map_recall.py`: rates, intervals, kinds, curve, calibration, grown maps, aliases."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.map_asking import AliasRound
from benchmarks.map_judging import (
    THRESHOLDS,
    Judgements,
    Reliability,
    Share,
    best_within,
    hit,
    pooled,
    shares,
    wrong,
)

MEASURES = ("hit", "wrong", "near_miss", "unrelated")
BOUNDS = ((0.02, 0.01), (0.03, 0.01), (0.04, 0.01), (0.05, 0.01), (0.1, 0.01))
"""Most near misses and most unrelated questions that the best threshold may take."""

Table = dict[str, dict[str, Share]]


def show_rates(sets: Mapping[str, Judgements]) -> dict[float, Table]:
    """Print hits and what is wrongly taken by set, then hits by kind over all; return all of it."""
    found: dict[float, Table] = {}
    for threshold in THRESHOLDS:
        table = {name: shares(questions, threshold) for name, questions in sets.items()}
        found[threshold] = table
        print(f"\nat {threshold:<20}" + "".join(f"{name:>23}" for name in MEASURES))
        for name, row in table.items():
            print(f"  {name:<21}" + "".join(f"{_said(row.get(each)):>23}" for each in MEASURES))
    *_, last = sets
    print(f"\nhits by kind, {last:<14}" + "".join(f"at {each:<20}" for each in THRESHOLDS))
    for kind, share in found[THRESHOLDS[0]][last].items():
        if kind not in MEASURES:
            rows = "".join(f"{_said(found[each][last][kind]):<23}" for each in THRESHOLDS)
            print(f"  {kind.removeprefix('paraphrase_'):<18}{share.questions:>5}   {rows}")
    return found


def show_curve(points: Sequence[Mapping[str, float]], questions: Judgements) -> None:
    """Print the curve, and the best point within each bound."""
    print("\nthreshold" + "".join(f"{name:>11}" for name in MEASURES))
    for point in points:
        print(f"{point['threshold']:9.2f}" + "".join(f"{point.get(n, 0):11.3f}" for n in MEASURES))
    for near, unrelated in BOUNDS:
        best = best_within(questions, near, unrelated)
        said = f"hit {best['hit']:.3f} from {best['threshold']:.3f}" if best else "never"
        print(f"  near misses ≤ {near:.0%}, unrelated ≤ {unrelated:.0%}: {said}")


def show_reliability(found: Mapping[str, Reliability]) -> None:
    """Print the expected calibration error by set, and the bins of the last."""
    print("\ncalibration of the best agreement's score, all questions; bins of equal mass")
    for name, each in found.items():
        print(
            f"  {name:<21}ECE {each.error:.3f} [{each.low:.3f}, {each.high:.3f}], "
            f"{each.chance:.3f} by chance alone; Brier {each.brier:.3f}"
        )
    *_, last = found.values()
    print("  score  right  questions")
    for row in last.bins:
        print(f"  {row.score:5.3f}  {row.right:5.3f}  {row.questions:9.0f}")


def show_alone(sets: Mapping[str, Judgements], unrelated: Mapping[str, float]) -> None:
    """Print what maps of one agreement answer.

    Args:
        sets: Questions that are about an agreement, asked of it alone.
        unrelated: Share of the pairs of an unrelated question and a map that it is taken by.
    """
    low, high = THRESHOLDS
    head = f"{f'hit at {low}':>12}{high:>8}{f'near {low}':>10}{high:>8}{f'unrelated {low}':>15}"
    print(f"\nmaps of one agreement  {head}")
    for name, questions in sets.items():
        near = questions.kinds == "near_miss"
        row = [mean(hit(questions, each)[questions.answerable]) for each in THRESHOLDS]
        row += [mean(wrong(questions, each)[near]) for each in THRESHOLDS]
        cells = zip((*row, unrelated[name]), (12, 8, 10, 8, 15), strict=True)
        print(f"  {name:<21}" + "".join(f"{share:{width}.3f}" for share, width in cells))


def mean(found: NDArray[np.bool_]) -> float:
    """Return the share that is true, NaN of nothing: a set may lack a kind of question."""
    return float(found.mean()) if found.size else math.nan


def show_sizes(found: Mapping[int, Mapping[str, tuple[int, Judgements]]]) -> dict[int, Table]:
    """Print the same questions asked of maps of several sizes; return shares at `THRESHOLDS`."""
    print("\nquestions that no added agreement answers; `by others`: taken by one")
    names = "".join(f"{name:>23}" for name in MEASURES)
    print(f"filled up to  agreements  at {names}  by others")
    tables: dict[int, Table] = {}
    for size, sets in found.items():
        whole = pooled([questions for _, questions in sets.values()])
        held = sorted({agreements for agreements, _ in sets.values()})
        tables[size] = {str(each): shares(whole, each) for each in THRESHOLDS}
        for each in THRESHOLDS:
            row = tables[size][str(each)]
            others = int((wrong(whole, each) & whole.stranger).sum())
            measured = "".join(f"{_said(row.get(name)):>23}" for name in MEASURES)
            label = f"{size or 'own only':>12}{f'{held[0]}-{held[-1]}':>12}"
            print(f"{label}  {each}{measured}{others:>11}")
    return tables


def show_aliases(rounds: Sequence[AliasRound]) -> dict[str, Table]:
    """Print what one alias an agreement does to the other questions; return the shares."""
    print("\none alias an agreement, the alias itself not asked")
    print("  alias of       at " + "".join(f"{name:>23}" for name in MEASURES))
    found: dict[str, Table] = {}
    for column, name in enumerate(("nothing", "one session", "two sessions")):
        whole = pooled([each[column] for each in rounds])
        found[name] = {str(each): shares(whole, each) for each in THRESHOLDS}
        for each in THRESHOLDS:
            row = found[name][str(each)]
            print(f"  {name:<13}{each:>4} " + "".join(f"{_said(row.get(n)):>23}" for n in MEASURES))
    return found


def _said(share: Share | None) -> str:
    return f"{share.share:.3f} [{share.low:.3f}, {share.high:.3f}]" if share else ""
