"""Convert a cosine to a score of 0 to 1 with the bands of seed 001.

| score from (`records`) | seed 001 | right, of first results |
|---|---|---|
| VERY_GOOD_SCORE | very high | 19 of 20 |
| FAIR_SCORE | medium | 4 of 5 |
| WEAK_SCORE | low | 2 of 5 |
| 0 | nearly unrelated | 1 of 5; called unlikely |

A cosine says little. The score depends on how far a command stands out from the others of its
registry, and on whether the question is about a command at all: questions close to everyday
matters, such as the weather, score lower. `benchmarks/fit_commands.py` fits the curves for each
engine, and measures the table on registries that were left out (docs/decisions/0087).
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:  # numpy costs a handshake 0.1 s
    import numpy as np
    from numpy.typing import NDArray

    Values = NDArray[np.float64]

RIVAL_COUNT = 5
"""Number of the closest other commands that a command has to stand out from."""


class ScoreCurve(NamedTuple):
    """Weights of the log-odds of a command being right."""

    margin: float
    everyday: float
    bias: float

    def at(self, margins: "Values", everyday: "float | Values") -> "Values":
        """Return shares, 0 to 1, of the results of `margins`; the question is this `everyday`."""
        import numpy as np

        odds = self.margin * margins + self.everyday * everyday + self.bias
        shares: Values = 1 / (1 + np.exp(-np.clip(odds, -30.0, 30.0)))
        return shares


@cache
def _shipped() -> Mapping[str, Any]:
    text = resources.files(__package__).joinpath("similarity.json").read_text("utf-8")
    raw: Mapping[str, Any] = json.loads(text)
    return raw


@cache
def curves() -> Mapping[str, ScoreCurve]:
    """Return the shipped curves by the identity of the engine; read on first use."""
    return {identity: ScoreCurve(**curve) for identity, curve in _shipped()["engines"].items()}


@cache
def everyday() -> tuple[str, ...]:
    """Return matters that no command is for, in both languages, to be embedded as passages."""
    return tuple(_shipped()["everyday"])


def margins(cosines: "Values", everyday: "Values") -> "Values":
    """Return how much closer each command is than the RIVAL_COUNT closest others.

    Args:
        cosines: Cosines of a question to the commands, shape (commands,).
        everyday: Its cosines to more than RIVAL_COUNT everyday matters, which complete a small
            registry.
    """
    import numpy as np

    pool = cosines if len(cosines) > RIVAL_COUNT else np.concatenate([cosines, everyday])
    # One more than needed, rising.
    closest = np.sort(np.partition(pool, -RIVAL_COUNT - 1)[-RIVAL_COUNT - 1 :])
    among = cosines >= closest[0]
    others: Values = np.where(among, closest.sum() - cosines, closest[1:].sum()) / RIVAL_COUNT
    return cosines - others
