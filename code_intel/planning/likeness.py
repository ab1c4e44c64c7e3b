"""Calibrate the similarity of a question and a result to a share of 0 to 1, for any model.

A cosine of e5 alone says little: it is above 0.8 for unrelated texts. So each engine has its own
curves in `likeness.json`, fitted by `benchmarks/fit_likeness.py` on labelled questions; they are
not used for another engine (docs/decisions/0009, 0040).

At 0.5, wanted files have that cosine as often as other results. The curve assumes even odds,
because the share of wanted results depends on their number. Japanese has its own curve: the vector
of a Japanese question is half that of its translation.
"""

import json
import math
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import NamedTuple

from code_intel.chunking.words import words
from code_intel.planning.matching import covered, ideas

MAX_LIKENESS_CHARS = 4_000
"""Characters of a query that are read."""


class LikenessCurve(NamedTuple):
    """From a cosine to a share: a logistic curve that rises."""

    slope: float
    bias: float

    def at(self, cosine: float) -> float:
        """Return the share at a cosine; 0 for what is no number."""
        if math.isnan(cosine):
            return 0.0
        return 1 / (1 + math.exp(-min(30.0, max(-30.0, self.slope * cosine + self.bias))))


@cache
def curves() -> Mapping[str, Mapping[str, LikenessCurve]]:
    """Return the shipped curves by the identity of the engine and the language."""
    raw = json.loads(resources.files(__package__).joinpath("likeness.json").read_text("utf-8"))
    return {
        identity: {language: LikenessCurve(**curve) for language, curve in of.items()}
        for identity, of in raw["engines"].items()
    }


def of_cosine(cosine: float, identity: str, language: str = "en") -> float | None:
    """Return the likeness, 0 to 1, of a question to a result, from the cosine of their vectors.

    None for an engine that has no curve. The cosine of a hit is `2 * similarity - 1`.
    """
    of = curves().get(identity)
    return of.get(language, of["en"]).at(cosine) if of else None


def by_words(query: str, text: str) -> float:
    """Return the share of a query's terms that a text has, 0 to 1: what there is without vectors.

    A Japanese term is there if it is, or one of the English words that code uses for it.
    """
    return covered(ideas(query[:MAX_LIKENESS_CHARS]), frozenset(words(text)))
