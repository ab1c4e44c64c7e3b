"""Make plans for tests."""

import uuid
from dataclasses import replace
from typing import Any

from code_intel.planning.records import Evaluation, Expected, Iteration, Metrics, QueryPlan, Result

WHOLE = Metrics(1.0, 1.0, 1.0, 1.0, 1.0, 1.0)


def result(
    document: str = "src/auth.py", text: str = "def login():\n    return 1\n", **more: Any
) -> Result:
    found = Result(document, text, 0.9, 1.0, "login", 1, 2, 0, ("meaning", "words"))
    return replace(found, **more)


def iteration(number: int = 1, query: str = "login", score: float = 0.9, **more: Any) -> Iteration:
    found = Iteration(
        number,
        query,
        ("login",),
        (result(),),
        Evaluation(WHOLE, score, score, ("login",), ("token",)),
    )
    return replace(found, **more)


def plan(goal: str = "How does login work?", score: float = 0.9, **more: Any) -> QueryPlan:
    """Return a finished plan with this score."""
    found = QueryPlan(
        id=str(uuid.uuid4()),
        goal=goal,
        expected=Expected(("login", "token")),
        iterations=(iteration(score=score),),
        final=(result(),),
        stop="reached",
        source="forest, words and vectors",
        revision="A1",
        created="2026-03-01T12:00:00+00:00",
    )
    return replace(found, **more)
