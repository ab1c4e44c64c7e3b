"""Measure what the map is worth: answered questions, tokens not spent, wrong answers. Pure.

Each measure counts what the logs and the store of this machine contain, and nothing else
(docs/decisions/0086).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from statistics import median
from typing import Any, Literal, NamedTuple

from code_intel.learned.files.agreements import Key
from code_intel.learned.history.experience import POSITIVE_KINDS, AgreementExperience, Objections

Route = Literal["map", "forest"]
MIN_SESSIONS = 5
"""Number of sessions by the map, and by the forest, from which their tokens are compared."""


class SessionCost(NamedTuple):
    """What a session spent until READY.

    Attributes:
        route: `map` if the map led it to READY or VERIFICATION, else `forest`.
        tokens: The tokens of all answers until READY.
    """

    route: Route
    tokens: int


class Worth(NamedTuple):
    """What the map is worth; all fields are JSON data.

    Attributes:
        questions: The number of questions that the map answered: in total, by band of the score,
            and those with which a session succeeded.
        tokens_until_ready: For each route, the number of sessions and the median of their tokens;
            `needed`, the number of sessions needed; and `not_spent`, the difference of the medians,
            or None if there are too few sessions.
        wrong_answers: The number of pairs of an agreement and a question that a session or a person
            objected to: `corrected`, `overruled` and `open` add up to `total`.
    """

    questions: dict[str, int]
    tokens_until_ready: dict[str, Any]
    wrong_answers: dict[str, int]


def worth_of(
    experiences: Sequence[AgreementExperience],
    costs: Iterable[SessionCost],
    objections: Mapping[Key, Objections],
) -> Worth:
    """Return what the map is worth.

    Args:
        experiences: The events in the store, in order.
        costs: The sessions that reached READY and whose answers were all measured.
        objections: The objections in force, for each agreement that exists.
    """
    return Worth(_questions(experiences), _tokens(list(costs)), _wrong(experiences, objections))


def _questions(experiences: Iterable[AgreementExperience]) -> dict[str, int]:
    """Count the questions of sessions; a question of a session counts once."""
    bands: dict[tuple[str, str], str] = {}
    accepted: set[tuple[str, str]] = set()
    for found in experiences:
        question = (found.session_id, found.wording)
        if found.kind == "offered":
            bands[question] = found.detail
        elif found.kind == "accepted":
            accepted.add(question)
    values = list(bands.values())
    return {
        "answered": len(bands),
        "ready": values.count("ready"),
        "verification": values.count("verification"),
        "succeeded": len(accepted & bands.keys()),
    }


def _tokens(costs: Collection[SessionCost]) -> dict[str, Any]:
    routes: dict[Route, list[int]] = {"map": [], "forest": []}
    for cost in costs:
        routes[cost.route].append(cost.tokens)
    data: dict[str, Any] = {
        route: {"sessions": len(tokens), "median": round(median(tokens)) if tokens else None}
        for route, tokens in routes.items()
    }
    enough = min(map(len, routes.values())) >= MIN_SESSIONS
    not_spent = data["forest"]["median"] - data["map"]["median"] if enough else None
    return {**data, "needed": MIN_SESSIONS, "not_spent": not_spent}


def _wrong(
    experiences: Iterable[AgreementExperience], objections: Mapping[Key, Objections]
) -> dict[str, int]:
    """Count wrong answers by what became of them.

    An objection is overruled by a later success of the same agreement for the same question, or by
    a person's confirmation; that of a person, by any later success. It is corrected if the
    agreement no longer exists, or no longer answers this question. Otherwise it is open, such as
    the failure of one session.
    """
    overruled: dict[tuple[Key, str], bool] = {}
    for found in experiences:
        if found.kind in {"rejected", "failed"}:
            overruled[found.key, found.wording] = False
        elif found.kind in POSITIVE_KINDS:
            for key, wording in overruled:
                if key == found.key and (
                    "" in {wording, found.wording} or wording == found.wording
                ):
                    overruled[key, wording] = True
    counts = {"total": len(overruled), "corrected": 0, "overruled": 0, "open": 0}
    for (key, wording), is_overruled in overruled.items():
        known = objections.get(key)
        stands = known is None or bool(known.doubt) or wording in known.wordings
        counts["overruled" if is_overruled else "corrected" if stands else "open"] += 1
    return counts
