"""The journal notes the lines that answers contain, whichever tool printed them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from code_intel.session import journal, steps
from code_intel.session.phases import Phase
from code_intel.session.state import Print, Session, SessionCall
from code_intel.tools.context.corpus_service import open_project
from code_intel.tools.context.gateway import GatewayContext, sessions_of
from code_intel.tools.context.prints import (
    Passage,
    current_lines,
    print_of,
    prints_in,
    prints_of,
)
from projects import Caller
from served import gateway, settings_of
from session.sessions import after, started

pytestmark = pytest.mark.anyio

SERVICE = "src/auth/service.py"
PRINTING_CALLS: dict[str, dict[str, Any]] = {
    "search_smart": {"query": "login password"},
    "search_text": {"pattern": "verify_password", "context_lines": 1},
    "find_definitions": {"symbol": "AuthService.login"},
    "find_references": {"symbol": "verify_password"},
    "snippets_get": {"symbol": "AuthService.login"},
    "files_search": {"query": "password"},
    "context_bundle": {"goal": "login password"},
    "query": {"question": "where is verify_password used?", "symbol": "verify_password"},
    "get_function_at_line": {"file_path": SERVICE, "line_number": 34},
    "analyze_structure": {"file_path": SERVICE},
    "repo_pack": {"path": "src/auth"},
}
"""Calls that print lines of files in EXPLORATION."""


MISSING = "required_tools: missing {}."


def session_of(shop: Path, handle: str) -> Session:
    return journal.load(sessions_of(settings_of(shop)), handle)


async def begun(call: Caller, query: str = "login accepts an empty password") -> str:
    answer = await call("start_session", intent="MODIFY", query=query)
    return str(answer["session_id"])


@pytest.mark.parametrize("tool", PRINTING_CALLS)
async def test_answer_with_lines_is_noted_with_these_lines(shop: Path, tool: str) -> None:
    async with gateway(shop) as call:
        handle = await begun(call)
        await call(tool, session_id=handle, **PRINTING_CALLS[tool])
    (noted,) = (one for one in session_of(shop, handle).calls if one.tool == tool)
    assert noted.printed
    for item in noted.printed:
        lines = (shop / item.file).read_text("utf-8").splitlines()
        assert item == print_of(item.file, item.first, lines[item.first - 1 : item.last])


async def test_list_of_symbols_prints_no_line(shop: Path) -> None:
    async with gateway(shop) as call:
        handle = await begun(call)
        await call("get_symbols", session_id=handle, path=SERVICE)
    (noted,) = (one for one in session_of(shop, handle).calls if one.tool == "get_symbols")
    assert noted.printed == ()


@pytest.fixture
def context(shop: Path) -> Iterator[GatewayContext]:
    maps, forest = open_project(settings_of(shop))
    yield GatewayContext(settings_of(shop), None, maps.index, forest.index, maps.embedder)
    maps.index.close()
    forest.index.close()


def having_printed(shop: Path, *prints: Print) -> Session:
    """Return a session whose only call has printed these lines."""
    call = SessionCall(2, Phase.EXPLORATION, "snippets_get", "x", ok=True, found=1, printed=prints)
    return started()._replace(root=str(shop), calls=(call,))


@pytest.mark.parametrize(
    ("edit", "current"),
    [
        pytest.param(lambda lines: lines, {3, 4, 5}, id="unchanged"),
        pytest.param(lambda lines: ["new", *lines], {4, 5, 6}, id="moved down"),
        pytest.param(lambda lines: lines[1:], {2, 3, 4}, id="moved up"),
        pytest.param(lambda lines: [f"{line}  " for line in lines], {3, 4, 5}, id="white space"),
        pytest.param(lambda lines: [*lines[:3], "other", *lines[4:]], set(), id="changed"),
        pytest.param(lambda lines: lines[:4], set(), id="shortened"),
    ],
)
def test_printed_lines_are_current_until_they_change(
    shop: Path,
    context: GatewayContext,
    edit: Callable[[list[str]], list[str]],
    current: set[int],
) -> None:
    lines = [f"line {number}" for number in range(1, 9)]
    session = having_printed(shop, print_of("src/some.py", 3, lines[2:5]))
    (shop / "src/some.py").write_text("\n".join(edit(lines)), encoding="utf-8")
    found = current_lines(context, session)
    assert found.get("src/some.py", frozenset()) == current


def test_edit_invalidates_only_its_block(shop: Path, context: GatewayContext) -> None:
    lines = [f"line {number}" for number in range(1, 41)]
    session = having_printed(shop, *prints_of("src/some.py", 1, lines))
    lines[14] = "changed"
    (shop / "src/some.py").write_text("\n".join(lines), encoding="utf-8")
    assert current_lines(context, session)["src/some.py"] == {*range(1, 11), *range(21, 41)}


def test_missing_file_and_file_with_secrets_have_no_current_line(
    shop: Path, context: GatewayContext
) -> None:
    (shop / ".env").write_text("NAME=value\n", encoding="utf-8")
    session = having_printed(
        shop, print_of(".env", 1, ["NAME=value"]), print_of("gone.py", 1, ["x = 1"])
    )
    assert current_lines(context, session) == {}


@pytest.mark.parametrize(
    ("shown", "noted"),
    [
        pytest.param("    def login(self, credentials):", True, id="whole line"),
        pytest.param("def login(self, credentials)", True, id="signature"),
        pytest.param("def login(self, cred…", False, id="cut"),
        pytest.param("def login(self)", False, id="earlier state"),
    ],
)
def test_only_whole_current_lines_are_noted(
    shop: Path, context: GatewayContext, shown: str, *, noted: bool
) -> None:
    text = "class A:\n    def login(self, credentials):\n        return 1\n"
    (shop / "src/some.py").write_text(text, encoding="utf-8")
    found = prints_in(context, [Passage("src/some.py", 2, shown)])
    wanted = [print_of("src/some.py", 2, ["    def login(self, credentials):"])]
    assert list(found) == (wanted if noted else [])


def test_session_keeps_a_limited_number_of_prints() -> None:
    prints = [print_of("a.py", number, [str(number)]) for number in range(1, 500)]
    step = steps.called("repo_pack", ".", printed=prints)
    assert sum(map(len, step.data["printed"].values())) == steps.MAX_PRINTS


def test_call_of_an_earlier_journal_has_no_prints() -> None:
    step = steps.called("snippets_get", "login", found=1)
    assert "printed" not in step.data
    assert after(started(), step).calls[-1].printed == ()
    printing = steps.called("snippets_get", "login", found=1, printed=[Print("a.py", 1, 2, "0f")])
    assert after(started(), printing).calls[-1].printed == (Print("a.py", 1, 2, "0f"),)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("snippets_get", {"symbol": "verify_password"}),
        ("repo_pack", {"path": "src/auth/passwords.py"}),
    ],
)
@pytest.mark.covers("rule.prints.required_tools")
@pytest.mark.counts("only its rules require tools")
async def test_printed_code_stands_for_the_required_tools(
    shop: Path, tool: str, arguments: dict[str, Any]
) -> None:
    async with gateway(shop) as call:
        handle = await begun(call, "the shipping fee abroad")
        claims = {"session_id": handle, "symbols_identified": ["verify_password"]}
        refused = await call.refused("submit_understanding", **claims)
        assert MISSING.format("find_definitions, find_references") in refused["message"]
        await call(tool, session_id=handle, **arguments)
        refused = await call.refused("submit_understanding", **claims)
        assert MISSING.format("find_references") in refused["message"]
        await call("search_text", session_id=handle, pattern="verify_password")
        answer = await call("submit_understanding", **claims)
        assert "required_tools" not in str(answer["missing_requirements"])


@pytest.mark.covers("rule.prints.changed")
async def test_changed_body_no_longer_counts_as_read(shop: Path) -> None:
    async with gateway(shop) as call:
        handle = await begun(call)
        await call("snippets_get", session_id=handle, symbol="AuthService.login")
        file = shop / SERVICE
        text = file.read_text("utf-8").replace("def login(", "def login(\n        ")
        file.write_text(text, encoding="utf-8")
        refused = await call.refused(
            "submit_understanding", session_id=handle, symbols_identified=["AuthService.login"]
        )
        assert refused["message"] == "AuthService.login has changed since it was printed."
