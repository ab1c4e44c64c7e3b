"""Calibrate the similarity of two texts, so that a share of 0 to 1 means the same for all models.

A cosine of e5 alone says little: it is above 0.8 for unrelated texts. So each engine has its own
curves in `likeness.json`, fitted by `benchmarks/fit_likeness.py` on labelled questions; they are
not used for another engine (docs/decisions/0009, 0040).

`results` converts the cosine of a question to a chunk that a search returned. At 0.5, wanted files
have that cosine as often as other results. The curve assumes even odds, because the share of wanted
results depends on their number. `keywords` converts the cosine of a keyword to the card of a
result, centred as in the map; at 0.5 the keyword is as likely meant as not.

Japanese has its own curves. The vector of a Japanese question is half that of its translation. The
cosine of a keyword recognises translations, but hardly synonyms within English, where the curve is
nearly flat.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

from code_intel.chunking.card import code_card
from code_intel.chunking.words import words
from code_intel.embedding.engine import Embedder, embeddable
from code_intel.learned.recall.calibration import fitted
from code_intel.planning.goals import language_of
from code_intel.planning.matching import covered, ideas
from code_intel.planning.records import MAX_KEYWORDS, MAX_MATCHES, Likeness, Result
from code_intel.planning.stored import parsed

if TYPE_CHECKING:  # numpy costs a handshake 0.1 s
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

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


class SimilarityCurves(NamedTuple):
    """What is fitted for one engine, by the language of what is asked."""

    results: Mapping[str, LikenessCurve]
    keywords: Mapping[str, LikenessCurve]


@cache
def curves() -> Mapping[str, SimilarityCurves]:
    """Return the shipped curves by the identity of the engine; read on first use."""
    data = resources.files(__package__).joinpath("likeness.json").read_bytes()
    shipped = parsed(dict[str, dict[str, SimilarityCurves]], data, "likeness.json")
    return shipped["engines"]


def of_cosine(cosine: float, identity: str, language: str = "en") -> float | None:
    """Return the likeness of a question to a result, from the cosine of their vectors.

    Args:
        cosine: -1 to 1; of a hit it is `2 * similarity - 1`.
        identity: Of the engine that made the result's vector.
        language: Of the question: `ja`, or `en` for all others.

    Returns:
        0 to 1; None for an engine that has no curve.
    """
    of = curves().get(identity)
    return of.results.get(language, of.results["en"]).at(cosine) if of else None


def by_words(query: str, text: str) -> float:
    """Return the share of a query's terms that a text has, 0 to 1: what there is without vectors.

    A Japanese term is there if it is, or one of the English words that code uses for it.
    """
    return covered(ideas(query[:MAX_LIKENESS_CHARS]), frozenset(words(text)))


def measure(embedder: Embedder | None) -> Likeness | None:
    """Return the comparison of keywords with results by meaning; None without a calibrated model.

    Each text is embedded once, in one batch with other new texts. Texts beyond the limits of a plan
    have no similarity. The comparison blocks, and raises EmbeddingError if the model fails.
    """
    of = curves().get(embedder.identity) if embedder is not None else None
    calibration = fitted(embedder.identity) if embedder is not None and of else None
    if embedder is None or of is None or calibration is None:
        return None
    space = calibration.space
    asked: dict[str, Vector] = {}
    shown: dict[str, Vector] = {}

    def likeness(keywords: Sequence[str], results: Sequence[Result]) -> list[list[float]]:
        rows = [[0.0] * len(results) for _ in keywords]
        cards = [card(result) for result in results[:MAX_MATCHES]]
        wanted = [word for word in keywords[:MAX_KEYWORDS] if embeddable(word)]
        _fill(asked, wanted, lambda texts: space.queries(embedder.queries(texts)))
        _fill(shown, cards, lambda texts: space.passages(embedder.passages(texts)))
        for row, word in zip(rows, keywords[:MAX_KEYWORDS], strict=False):
            if word in asked:
                curve = of.keywords[language_of(word)]
                row[: len(cards)] = [curve.at(float(asked[word] @ shown[each])) for each in cards]
        return rows

    return likeness


def card(result: Result) -> str:
    """Return the text that is compared: path, symbol and salient identifiers."""
    return code_card(result.document, result.text, (), inside=result.symbol) or "?"


def _fill(
    known: "dict[str, Vector]",
    texts: Sequence[str],
    embed: Callable[[list[str]], "NDArray[np.float64]"],
) -> None:
    """Embed what is not known yet, in one batch."""
    new = [text for text in dict.fromkeys(texts) if text not in known]
    if new:
        known.update(zip(new, embed(new), strict=True))
