"""A question is planned as calls of tools, by the slots of its frame."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.session.frame import SLOTS, missing_slots
from code_intel.session.phases import Intent
from code_intel.session.requirements import EVIDENCE_SLOT_TOOLS as EVIDENCE
from code_intel.session.router import (
    CALLS_BY_TOOL,
    MAX_NAMES,
    MAX_PLAN_CALLS,
    MAX_WORDS,
    PURPOSE,
    SLOT_TOOLS,
    CallPlan,
    SearchScope,
    SearchTerms,
    intent_of,
    plan,
)

EVERYTHING = SearchTerms(("AuthService",), (("login", "sign in"),))
HERE = SearchScope("src", "src/auth.py")
texts = st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=12)
asked = st.tuples(
    st.lists(texts, max_size=5).map(tuple),
    st.lists(st.lists(texts, min_size=1, max_size=3).map(tuple), max_size=5).map(tuple),
).map(lambda both: SearchTerms(*both))


def tools(made: CallPlan) -> list[str]:
    return [step.tool for step in made.steps]


def unframed(question: SearchTerms, intent: str = "MODIFY", scope: SearchScope = HERE) -> CallPlan:
    return plan(question, (), intent, missing=SLOTS, scope=scope)


@pytest.mark.covers("rule.query.plan")
def test_an_unframed_question_is_planned_for_every_slot_in_the_order_of_the_intent() -> None:
    assert tools(unframed(EVERYTHING)) == [
        "find_definitions",
        "search_text",
        "get_symbols",
        "analyze_structure",
        "find_references",
    ]
    assert tools(unframed(EVERYTHING, "INVESTIGATE")) == [
        "find_definitions",
        "search_text",
        "get_symbols",
        "find_references",
        "analyze_structure",
    ]


@pytest.mark.parametrize("name", ["", "REFACTOR", "explore", "EXPLORE"])
def test_an_unknown_intent_is_planned_as_explore(name: str) -> None:
    assert intent_of(name) is Intent.EXPLORE
    assert unframed(EVERYTHING, name) == unframed(EVERYTHING, "EXPLORE")


def test_a_read_only_plan_also_analyzes_the_structure() -> None:
    def filled(intent: str) -> list[str]:
        return tools(plan(EVERYTHING, (), intent, missing=(), scope=HERE))

    assert filled("MODIFY") == ["find_definitions", "search_text", "get_symbols"]
    assert filled("EXPLORE") == [*filled("MODIFY"), "analyze_structure"]


def test_the_first_call_has_the_highest_priority_and_the_last_has_one() -> None:
    made = unframed(EVERYTHING)
    assert [step.priority for step in made.steps] == [5, 4, 3, 2, 1]
    assert all(step.purpose == PURPOSE[step.tool] for step in made.steps)


@pytest.mark.covers("rule.query.plan")
def test_a_repeated_call_is_planned_once_for_its_first_terms() -> None:
    slot = EVERYTHING._replace(slot="target_feature")
    made = plan(EVERYTHING, [slot], "MODIFY", missing=(), scope=HERE)
    assert [step.slot for step in made.steps] == [""] * 3


@pytest.mark.covers("rule.query.slot_words")
def test_a_call_for_a_slot_uses_its_own_words() -> None:
    slots = [
        SearchTerms((), (("error",),), "observed_issue"),
        SearchTerms((), (("submit",),), "trigger_condition"),
        SearchTerms(("LoginForm",), (), "target_feature"),
    ]
    made = plan(EVERYTHING, slots, "MODIFY", missing=(), scope=SearchScope())
    assert [(step.slot, next(iter(step.params.values()))) for step in made.steps] == [
        ("", "AuthService"),
        ("", "login|sign[ _-]?in"),
        ("target_feature", "LoginForm"),
        ("target_feature", "LoginForm"),
        ("observed_issue", "error"),
        ("trigger_condition", "submit"),
    ]


def test_an_empty_question_skips_every_call_with_the_reason() -> None:
    made = unframed(SearchTerms(), scope=SearchScope())
    assert made.steps == ()
    assert {skipped.tool for skipped in made.skipped} == set(CALLS_BY_TOOL)
    assert all(skipped.why for skipped in made.skipped)


def test_words_are_looked_up_as_definitions_only_without_symbols() -> None:
    words = SearchTerms((), (("error page", "failure"), ("login",)))
    assert [
        step.params["symbol"]
        for step in unframed(words).steps
        if step.tool in {"find_definitions", "find_references"}
    ] == ["failure", "login"]


def test_an_unavailable_tool_is_skipped() -> None:
    made = plan(EVERYTHING, (), "EXPLORE", missing=SLOTS, scope=HERE, available={"search_text"})
    assert tools(made) == ["search_text"]
    assert {skipped.why for skipped in made.skipped} == {"it is not available"}


def test_results_of_planned_tools_count_as_evidence() -> None:
    planned = {tool for row in SLOT_TOOLS.values() for tool in row}
    assert planned <= set(EVIDENCE)
    assert set(SLOT_TOOLS) == set(SLOTS)
    assert planned == set(PURPOSE) == set(CALLS_BY_TOOL)


@given(asked, st.lists(st.sampled_from(SLOTS), unique=True), asked, st.sampled_from([*Intent, "?"]))
def test_any_plan_is_short_and_ordered_without_repetitions(
    question: SearchTerms, filled: Sequence[str], words: SearchTerms, intent: str
) -> None:
    slots = [words._replace(slot=name) for name in filled]
    missing = [name for name in SLOTS if name not in filled]
    made = plan(question, slots, intent, missing=missing, scope=HERE)
    assert len(made.steps) <= MAX_PLAN_CALLS
    calls = [(step.tool, repr(step.params)) for step in made.steps]
    assert len(calls) == len(set(calls))
    order = ["", *missing_slots(None, intent_of(intent))]
    places = [order.index(step.slot) for step in made.steps]
    assert places == sorted(places)
    own = [step for step in made.steps if not step.slot and step.tool == "find_references"]
    assert len(own) <= max(MAX_NAMES, MAX_WORDS)
    for step in made.steps:
        if step.tool == "search_text":
            re.compile(str(step.params["pattern"]))
