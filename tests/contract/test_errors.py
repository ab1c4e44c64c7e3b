"""Check the code, the details, the message and the hint of errors."""

import os
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import apsw
import pytest
from mcp import Client
from mcp.types import CallToolResult

from code_intel.chunking.agreement import AgreementProblem, read
from code_intel.embedding.lazy import LazyEmbedder
from code_intel.errors import (
    BusyError,
    CodeIntelError,
    EmbeddingError,
    StorageError,
    UpstreamError,
)
from code_intel.forest.text.grep import TextQuery, grep
from code_intel.index.store import Store
from code_intel.servers import protocol
from code_intel.servers.upstream.answer import content_of
from code_intel.session import journal
from code_intel.session.phases import Intent
from code_intel.tools.declaration import Answer, Tool
from contract.journeys import framed
from contract.manifest import faults_of_error
from projects import ERAS, Caller
from served import gateway, settings_of
from session.sessions import place_in
from upstreams import command, point

pytestmark = pytest.mark.anyio


@pytest.mark.covers(
    "error.any: error message hint",
    "error.unknown_tool",
    "error.invalid_argument.field",
    "error.not_found",
    "error.not_found.field",
    "error.path_outside_root.field",
)
async def test_an_error_has_a_code_a_message_and_the_next_step(shop: Path) -> None:
    async with gateway(shop) as call:
        tried = {
            "unknown_tool": await call.refused("no_such_tool"),
            "invalid_argument": await call.refused("find_definitions", symbol=""),
            "not_found": await call.refused("snippets_get", symbol="no_such_symbol"),
            "path_outside_root": await call.refused("search_text", pattern="x", path="../.."),
        }
    assert {code: error["error"] for code, error in tried.items()} == {code: code for code in tried}
    assert all(error["message"] and error["hint"] for error in tried.values())
    assert "no_such_tool" in tried["unknown_tool"]["message"]
    assert "start_session" in tried["unknown_tool"]["hint"]
    fields = [error.get("field") for error in tried.values()]
    assert fields == [None, "symbol", "symbol", "path"]


@pytest.mark.covers("error.invalid_argument.value", "error.invalid_argument")
async def test_expression_that_ripgrep_rejects_is_an_invalid_argument(shop: Path) -> None:
    async with gateway(shop) as call:
        regex = await call.refused("search_text", pattern="(")
        assert (regex["error"], regex["field"], regex["value"]) == (
            "invalid_argument",
            "pattern",
            "(",
        )
        kind = await call.refused("search_text", pattern="x", file_type="klingon")
        assert (kind["field"], kind["value"]) == ("file_type", "klingon")


@pytest.mark.covers("error.session_broken.file", "rule.session.chain")
async def test_edited_journal_is_refused_with_its_path(shop: Path) -> None:
    async with gateway(shop) as call:
        session = await framed(call)
        (file,) = (shop / ".code-intel" / "sessions").glob("*.jsonl")
        whole = file.read_bytes()
        file.write_bytes(whole.replace(b'"risk":"MEDIUM"', b'"risk":"LOW"', 1))
        error = await call.refused("get_session_status", session_id=session)
        assert error["error"] == "session_broken"
        assert error["file"] == str(file)
        assert "start_session" in error["hint"]
        assert file.read_bytes() != whole


@pytest.mark.covers("error.no_active_session")
async def test_invalid_handle_is_refused(shop: Path) -> None:
    async with gateway(shop) as call:
        for handle in ("session_20250101_000000_00000000", "../x", ""):
            error = await call.refused("get_session_status", session_id=handle)
            assert error["error"] == "no_active_session"
            assert "start_session" in error["hint"]


@pytest.mark.covers("error.invalid_config: field profile", "error.invalid_config")
async def test_invalid_profile_is_named_with_its_key(shop: Path) -> None:
    profiles = shop / ".code-intel" / "scoring-profiles.toml"
    profiles.write_text("[review]\nstructural = -1\n", encoding="utf-8")
    async with gateway(shop) as call:
        error = await call.refused("context_bundle", goal="shipping fee", profile="review")
        assert (error["error"], error["field"], error["profile"]) == (
            "invalid_config",
            "structural",
            "review",
        )


@pytest.mark.covers("error.busy")
def test_locked_session_is_busy(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    _, handle = journal.create(place, Intent.MODIFY, "fix it")
    with (
        journal.transaction(place, handle),
        pytest.raises(BusyError) as caught,
        journal.transaction(place, handle, timeout=0.02),
    ):
        pass
    error = caught.value.as_dict()
    assert (error["error"], faults_of_error(error)) == ("busy", [])
    assert "again" in error["hint"]


@pytest.mark.covers("error.storage_failed")
async def test_folder_in_place_of_the_log_is_a_storage_error(shop: Path) -> None:
    (shop / ".code-intel" / "logs" / "outcomes.jsonl").mkdir(parents=True)
    async with gateway(shop) as call:
        error = await call.refused("get_outcome_stats")
        assert error["error"] == "storage_failed"
        assert "outcomes.jsonl" in error["message"]


@pytest.mark.covers("error: index_damaged index_newer index_unusable")
def test_unreadable_index_has_a_code_for_its_cause(tmp_path: Path) -> None:
    whole = tmp_path / "whole.db"
    Store.open(whole).close()
    newer = tmp_path / "newer.db"
    Store.open(newer).close()
    with closing(apsw.Connection(str(newer))) as database:
        database.execute("PRAGMA user_version = 9999")
    foreign = tmp_path / "foreign.db"
    with closing(apsw.Connection(str(foreign))) as database:
        database.execute("CREATE TABLE theirs (x)")
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(b"no database" * 1000)
    found = {}
    for path in (damaged, newer, foreign):
        with pytest.raises(StorageError) as caught:
            Store.open(path, readonly=True)
        error = caught.value.as_dict()
        assert faults_of_error(error) == []
        found[path.stem] = error["error"]
    assert found == {
        "damaged": "index_damaged",
        "newer": "index_newer",
        "foreign": "index_unusable",
    }


@pytest.mark.covers("error.embed_failed")
def test_without_a_model_nothing_is_embedded(shop: Path) -> None:
    embedder = LazyEmbedder(settings_of(shop, "off"))
    with pytest.raises(EmbeddingError) as caught:
        embedder.queries(["login"])
    error = caught.value.as_dict()
    assert (error["error"], faults_of_error(error)) == ("embed_failed", [])
    assert error["hint"]


@pytest.mark.covers("error: tool_failed tool_missing")
async def test_an_expression_needs_ripgrep_and_the_error_says_how_to_get_it(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CodeIntelError) as caught:
        await grep(shop, TextQuery("log(in)+"), program=str(shop / "nowhere"))
    failed = caught.value.as_dict()
    monkeypatch.setenv("PATH", str(shop))
    monkeypatch.setattr(sys, "executable", str(shop / "python"))
    with pytest.raises(CodeIntelError) as caught:
        await grep(shop, TextQuery("log(in)+"))
    missing = caught.value.as_dict()
    assert (failed["error"], missing["error"]) == ("tool_failed", "tool_missing")
    for error in (failed, missing):
        assert faults_of_error(error) == []
        assert "ripgrep>=14" in error["hint"]


@pytest.mark.covers("error: agreement_invalid agreement_conflict")
def test_invalid_agreement_and_merge_conflict_have_different_codes() -> None:
    found = []
    for text in ("just a text", "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\n"):
        with pytest.raises(AgreementProblem) as caught:
            read(text)
        found.append(caught.value.as_dict())
    assert [error["error"] for error in found] == ["agreement_invalid", "agreement_conflict"]
    assert [faults_of_error(error) for error in found] == [[], []]


async def breaks(_work: None) -> Answer:
    """Raise an unexpected error."""
    raise ZeroDivisionError("/secret/place")


@pytest.mark.covers("error.unexpected")
async def test_unexpected_error_hides_its_text_and_the_server_continues() -> None:
    tool = Tool(breaks)

    async def invoke(tool: Tool, arguments: dict[str, Any], _call: protocol.ToolCall) -> Answer:
        return await tool.run(None, **arguments)

    async def nothing() -> None:
        """Do nothing in the background."""

    spec = protocol.ServerSpec((tool,), invoke, nothing, lambda: None)
    server = protocol.build(name="broken", instructions="", make_spec=lambda: spec)
    async with Client(server, mode=ERAS[0]) as client:
        for _ in range(2):
            error = await Caller(client).refused("breaks")
            assert error["error"] == "unexpected"
            assert error["message"] == "breaks failed: ZeroDivisionError."
            assert "/secret/place" not in str(error)


@pytest.mark.skipif(sys.platform == "win32", reason="limits of children are POSIX's")
@pytest.mark.covers("error.refused", "row.upstream.said")
async def test_refusal_of_an_upstream_is_quoted_as_data(shop: Path) -> None:
    point(shop, forest=command("server_error") | {"call_seconds": 60})
    async with gateway(shop) as call:
        answer = await call("search_smart", query="login")
        (silent,) = answer["unavailable"]
        assert "it refused" in silent["error"]
        assert silent["said"] == "the database is locked"
        assert "the database is locked" not in answer["message"]
    refusal = CallToolResult(content=[], structured_content={"message": "no"}, is_error=True)
    with pytest.raises(UpstreamError) as caught:
        content_of(refusal)
    assert caught.value.error == "refused"


@pytest.mark.skipif(sys.platform == "win32", reason="limits of children are POSIX's")
@pytest.mark.covers("row.upstream: restarts ignored")
async def test_ignored_messages_and_restarts_of_an_upstream_are_counted(
    shop: Path,
) -> None:
    log = shop / "log"
    point(shop, forest=command("banner", "--log", str(log)) | {"call_seconds": 60})
    async with gateway(shop) as call:
        await framed(call)
        await call("search_smart")
        forest = (await call("get_session_status"))["upstreams"][1]
        assert (forest["name"], forest["state"]) == ("devrag-forest", "ready")
        assert forest["ignored"] == {"messages that are not JSON-RPC": 2}
        assert "restarts" not in forest
        os.kill(int(log.read_text(encoding="utf-8").split()[1]), 9)
        with anyio.fail_after(60):
            while forest["state"] == "ready" and "restarts" not in forest:
                await call("search_smart", query="login")
                forest = (await call("get_session_status"))["upstreams"][1]
        await call("search_smart", query="login")
        forest = (await call("get_session_status"))["upstreams"][1]
        assert (forest["state"], forest["restarts"]) == ("ready", 1)
