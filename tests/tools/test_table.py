"""Phases, requirements, plans and hints name existing tools only."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from code_intel.servers.shared.tools.table import TOOLS as SHARED_TOOLS
from code_intel.session.evidence import EVIDENCE_TOOLS
from code_intel.session.frame import GUIDANCE
from code_intel.session.phases import ALLOWED, LOOKUP_TOOLS, NEXT_STEP, UNGATED
from code_intel.session.requirements import EVIDENCE_SLOT_TOOLS, REQUIRED_TOOLS
from code_intel.session.router import SLOT_TOOLS as PLANNED
from code_intel.session.state import CORROBORATION_TOOLS, FOREST_TOOLS
from code_intel.tools.table import GATEWAY_TOOLS, GROUPS, PLANS, SESSION, listed_tools

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


PACKAGE = Path(__file__).resolve().parents[2] / "code_intel"
TERMINAL = ("cli",)
"""Packages whose texts only the terminal shows."""
LISTED = {tool.name for tool in listed_tools()}
NOT_LISTED = {name for tool in GATEWAY_TOOLS for name in (tool.name, *tool.aliases)} - LISTED
NAMES = re.compile(rf"\b(?:{'|'.join(name for name in NOT_LISTED if '_' in name)})\b")
GROUP_OF = {tool.name: {other.name for other in g.tools} for g in GROUPS for tool in g.tools}
OWN_PACKAGES = {"planning": {tool.name for tool in PLANS.tools}}
"""Packages that serve one group alone, and the names in it."""
_STEPS = {tool.name for tool in SESSION.tools}
OWN_MODULES = {
    f"session/{name}.py": _STEPS
    for name in ("understanding/counts_guidance", "frame", "relevance", "steps")
} | {"servers/shared/mcp_server.py": {tool.name for tool in SHARED_TOOLS}}
"""Modules whose texts only tools of `session` show, or servers that list that group."""


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
    assert words <= LISTED


def sentences(tree: ast.Module) -> Iterator[ast.Constant]:
    """Yield the texts of a module that have a space, except docstrings and comments on names."""
    silent = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in silent and " " in str(node.value):
            yield node


@pytest.mark.covers("rule.answer.names")
def test_texts_name_only_tools_that_are_listed_with_them() -> None:
    wrong = []
    for path in sorted(PACKAGE.rglob("*.py")):
        inside = path.relative_to(PACKAGE)
        if inside.parts[0] in TERMINAL:
            continue
        own = GROUP_OF.get(path.stem, set()) | OWN_PACKAGES.get(inside.parts[0], set())
        own |= OWN_MODULES.get(inside.as_posix(), set())
        wrong += [
            f"{inside}:{node.lineno}: {node.value!r}"
            for node in sentences(ast.parse(path.read_text(encoding="utf-8")))
            if set(NAMES.findall(str(node.value))) - own
        ]
    assert wrong == []


def test_listed_tools_describe_themselves_without_tools_that_are_not_listed() -> None:
    for tool in listed_tools():
        assert not NAMES.findall(tool.description), tool.name
        assert not NAMES.findall(str(tool.listed_schema)), tool.name
