"""Check searches that are evaluated and added to a query plan."""

import uuid
from pathlib import Path
from typing import Any

import pytest

from code_intel.planning.records import DEFAULT_CONFIDENCE
from projects import Caller
from served import gateway

pytestmark = pytest.mark.anyio

GOAL = "How is the cart total computed?"
TOOLS = ("search_forest", "files_search")


async def start_plan(call: Caller) -> str:
    answer = await call(
        "gistdex_query_plan",
        goal=GOAL,
        initialQueries=["csv writer"],
        expectedResults={"keywords": ["cart", "nowheretobefound"], "confidence": 0.6},
        maxIterations=1,
    )
    return str(answer["planId"])


@pytest.mark.covers(
    "field.search_forest: evaluateResult expectedKeywords",
    "field.files_search: evaluateResult expectedKeywords",
    "answer.search_forest.evaluation",
    "answer.files_search.evaluation",
    "row.evaluation: status score confidence metrics matchedExpectations unmatchedExpectations",
    "row.evaluation: feedback refinements",
)
@pytest.mark.parametrize("tool", TOOLS)
async def test_search_is_evaluated_by_expected_keywords(shop: Path, tool: str) -> None:
    async with gateway(shop) as call:
        plain = await call(tool, query="cart total")
        evaluated = await call(tool, query="cart total", evaluateResult=True)
        named = await call(tool, query="cart total", expectedKeywords=["cart", "nowheretobefound"])
        silent = await call(
            tool, query="cart total", expectedKeywords=["cart"], evaluateResult=False
        )
        result = await call.client.call_tool(
            tool, {"query": "cart total", "expectedKeywords": ["nowheretobefound"]}
        )
    assert "evaluation" not in plain
    assert "evaluation" not in silent
    assert evaluated["evaluation"]["matchedExpectations"] == ["cart", "total"]
    evaluation = named["evaluation"]
    assert evaluation == evaluation | {
        "matchedExpectations": ["cart"],
        "unmatchedExpectations": ["nowheretobefound"],
    }
    assert isinstance(evaluation["refinements"], list)
    assert evaluation["metrics"]["recall"] == 0.5
    assert "nowheretobefound" in evaluation["feedback"]
    assert evaluated["evaluation"]["score"] > evaluation["score"] > 0.3
    assert evaluation["status"] == (
        "success" if evaluation["confidence"] >= DEFAULT_CONFIDENCE else "partial"
    )
    assert {key: named[key] for key in plain if key != "index"} == {
        key: plain[key] for key in plain if key != "index"
    }
    assert result.content[0].text.startswith("Evaluation: ")  # type: ignore[union-attr]  # a text


@pytest.mark.covers("field.search_forest.planId", "field.files_search.planId")
@pytest.mark.parametrize("tool", TOOLS)
async def test_search_with_a_plan_id_is_a_query_of_the_plan(shop: Path, tool: str) -> None:
    async with gateway(shop) as call:
        plan = await start_plan(call)
        answer = await call(tool, query="cart total", planId=plan)
        quiet = await call(tool, query="shipping zones", planId=plan, evaluateResult=False)
        after = await call("gistdex_query_plan", goal=GOAL, planId=plan, maxIterations=1)
    assert answer["evaluation"]["unmatchedExpectations"] == ["nowheretobefound"]
    assert "evaluation" not in quiet
    queries = [each["query"] for each in after["iterations"]]
    assert queries == ["csv writer", "cart total", "shipping zones", f"{GOAL} nowheretobefound"]
    assert [each["iterationNumber"] for each in after["iterations"]] == [1, 2, 3, 4]
    step = after["iterations"][1]
    assert step["evaluationScore"] == answer["evaluation"]["score"]
    assert step["metrics"] == answer["evaluation"]["metrics"]


@pytest.mark.parametrize("tool", TOOLS)
async def test_unknown_plan_is_refused_before_the_search(shop: Path, tool: str) -> None:
    async with gateway(shop) as call:
        errors: list[dict[str, Any]] = [
            await call.refused(tool, query="cart", planId=plan)
            for plan in ("../../etc/passwd", str(uuid.uuid4()))
        ]
    assert [error["error"] for error in errors] == ["invalid_argument", "not_found"]
    assert {error["field"] for error in errors} == {"planId"}
    assert not (shop / ".gistdex").exists()


async def test_search_without_results_scores_0(shop: Path) -> None:
    async with gateway(shop) as call:
        answer = await call("files_search", query="zzzyyyxxx", evaluateResult=True)
    assert answer["evaluation"]["score"] == 0
    assert answer["evaluation"]["status"] == "failed"
