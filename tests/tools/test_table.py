"""Phases, requirements, plans and hints name existing tools only."""

import re

import pytest

from code_intel.session.evidence import EVIDENCE_TOOLS
from code_intel.session.frame import GUIDANCE
from code_intel.session.phases import ALLOWED, LOOKUP_TOOLS, NEXT_STEP, UNGATED
from code_intel.session.requirements import EVIDENCE_SLOT_TOOLS, REQUIRED_TOOLS
from code_intel.session.router import SLOT_TOOLS as PLANNED
from code_intel.session.state import CORROBORATION_TOOLS, FOREST_TOOLS
from code_intel.tools.table import CORE, GATEWAY_TOOLS

TOOLS = {tool.name for tool in GATEWAY_TOOLS}
PHASED = {tool for row in ALLOWED.values() for tool in row}
NAMED = {
    "phases": PHASED | set(UNGATED),
    "evidence": set(EVIDENCE_TOOLS),
    "guidance": {tool for row in GUIDANCE.values() for tool in row},
    "requirements": {*REQUIRED_TOOLS, *EVIDENCE_SLOT_TOOLS},
    "plans": {tool for row in PLANNED.values() for tool in row},
    "calls": {*CORROBORATION_TOOLS, *FOREST_TOOLS},
}


@pytest.mark.covers("rule.allowed.always", "rule.allowed.listed")
@pytest.mark.parametrize("who", NAMED)
def test_only_tools_that_exist_are_named(who: str) -> None:
    assert NAMED[who]
    assert NAMED[who] <= TOOLS


def test_every_tool_is_gated_or_ungated() -> None:
    assert PHASED | set(UNGATED) == TOOLS
    assert PHASED.isdisjoint(UNGATED)


def test_next_steps_name_only_tools_that_are_always_listed() -> None:
    words = {
        word
        for text in (*NEXT_STEP.values(), LOOKUP_TOOLS)
        for word in re.findall(r"[a-z]+_[a-z_]+", text)
    }
    assert words
    assert words <= {tool.name for tool in CORE.tools}
