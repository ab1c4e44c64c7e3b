"""Check the fields of tools that start, frame, steer and report a session."""

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from contract.journeys import (
    CONFIRMED,
    FRAME,
    LOGIN,
    QUERY,
    SERVICE,
    SUPPOSED,
    begin,
    look,
    to_ready,
    to_semantic,
    to_verification,
    unsearched,
)
from served import gateway

pytestmark = pytest.mark.anyio


@pytest.mark.covers(
    "tool.start_session",
    "field.start_session: intent query repo_path token_budget",
    "field.start_session: target_feature trigger_condition observed_issue desired_action",
    "field.start_session.target_feature: value quote",
    "field.start_session.trigger_condition: value quote",
    "field.start_session.observed_issue: value quote",
    "field.start_session.desired_action: value quote",
    "answer.start_session: session_id current_phase risk_level risk_reason message places",
    "answer.start_session: slot_errors index next_call",
    "row.place: file symbol start_line end_line whole lines callers",
    "row.next_call: tool arguments",
)
async def test_started_session_has_frame_places_and_next_call(shop: Path) -> None:
    async with gateway(shop) as call:
        for wrong in ("src", "/", "nowhere"):
            refused = await call.refused(
                "start_session", intent="MODIFY", query=QUERY, repo_path=wrong
            )
            assert (refused["error"], refused["field"]) == ("invalid_argument", "repo_path")
        wrong_slot = {"value": "delete it", "quote": "delete it"}
        answer = await call(
            "start_session",
            intent="MODIFY",
            query=QUERY,
            repo_path=str(shop),
            token_budget=1500,
            desired_action=wrong_slot,
            **FRAME,
        )
        status = await call("get_session_status", session_id=answer["session_id"])
        (shop / "src/orders.py").write_text("def order():\n    AuthService().login(1)\n", "utf-8")
        await call("find_definitions", symbol="order", exact_match=True)  # indexes the file
        login = (await call("start_session", intent="MODIFY", query=LOGIN))["places"][0]
    assert answer["session_id"] == status["session_id"]
    assert (answer["current_phase"], answer["risk_level"]) == ("EXPLORATION", "MEDIUM")
    assert answer["risk_reason"]
    assert "No agreement matches" in answer["message"]
    assert answer["index"]["degraded"]
    assert [item["slot"] for item in answer["slot_errors"]] == ["desired_action"]
    assert "does not occur" in answer["slot_errors"][0]["error"]
    filled = {name: row["value"] for name, row in status["slot_evidence"].items() if row["value"]}
    assert filled == {name: slot["value"] for name, slot in FRAME.items()}
    first = answer["places"][0]
    assert first["file"] == SERVICE
    lines = (shop / SERVICE).read_text("utf-8").splitlines()
    assert first["lines"] == lines[first["start_line"] - 1 : first["end_line"]]
    assert answer["next_call"]["tool"] == "submit_understanding"
    claim = {"symbol": first["symbol"], "file": SERVICE, "explanation": "…", "quote": "…"}
    assert answer["next_call"]["arguments"] == {"symbols_identified": [claim]}
    assert (login["symbol"], login["whole"]) == (LOGIN, True)
    assert login["callers"] == ["src/orders.py:2 order: AuthService().login(1)"]


@pytest.mark.covers(
    "tool.set_query_frame",
    "field.set_query_frame: target_feature trigger_condition observed_issue desired_action",
    "field.set_query_frame.target_feature: value quote",
    "field.set_query_frame.trigger_condition: value quote",
    "field.set_query_frame.observed_issue: value quote",
    "field.set_query_frame.desired_action: value quote",
    "answer.set_query_frame: success session_id current_phase query_frame risk_level missing_slots",
    "answer.set_query_frame: investigation_guidance message",
    "row.frame: raw_query target_feature trigger_condition observed_issue desired_action",
    "row.frame: validated_slots slot_sources",
)
async def test_frame_is_set_slot_by_slot_with_guidance(shop: Path) -> None:
    query = f"{QUERY}, please repair it"
    async with gateway(shop) as call:
        session = await begin(call, query=query)
        answer = await call("set_query_frame", **FRAME)
        rephrased = {"value": "repair", "quote": "repair it"}
        whole = await call("set_query_frame", desired_action=rephrased)
    assert answer == answer | {
        "success": True,
        "session_id": session,
        "current_phase": "EXPLORATION",
        "query_frame": {
            "raw_query": query,
            "target_feature": "login",
            "trigger_condition": "at night",
            "observed_issue": "fails with an error page",
            "desired_action": None,
            "validated_slots": ["target_feature", "trigger_condition", "observed_issue"],
            "slot_sources": {
                "target_feature": "FACT",
                "trigger_condition": "FACT",
                "observed_issue": "FACT",
                "desired_action": "UNRESOLVED",
            },
        },
        "risk_level": "MEDIUM",
        "missing_slots": ["desired_action"],
        "investigation_guidance": {
            "desired_action": answer["investigation_guidance"]["desired_action"]
        },
    }
    assert "find_references" in answer["investigation_guidance"]["desired_action"]
    assert "search_smart" in answer["message"]
    assert whole["query_frame"]["desired_action"] == "repair"
    assert whole["query_frame"]["validated_slots"][-1] == "desired_action"
    assert (whole["missing_slots"], whole["investigation_guidance"]) == ([], {})


@pytest.mark.covers("error.validation_failed.validation_errors", "row.slot_error: slot error")
async def test_invalid_frame_names_every_invalid_slot(shop: Path) -> None:
    async with gateway(shop) as call:
        await begin(call)
        wrong = {
            "target_feature": {"value": "logout", "quote": "login"},
            "observed_issue": {"value": "slow", "quote": "slow"},
        }
        error = await call.refused("set_query_frame", **wrong)
        status = await call("get_session_status")
    assert error["error"] == "validation_failed"
    errors = {row["slot"]: row["error"] for row in error["validation_errors"]}
    assert errors.keys() == {"target_feature", "observed_issue"}
    assert "quote does not occur" in errors["observed_issue"]
    assert not any(row["value"] for row in status["slot_evidence"].values())


@pytest.mark.covers(
    "tool.get_session_status",
    "answer.get_session_status: session_id intent query current_phase allowed_tools risk_level",
    "answer.get_session_status: ready_by exploration semantic verification short_circuit guards",
    "answer.get_session_status: truncated tool_calls_count tool_calls phase_history warnings",
    "answer.get_session_status: upstreams next_step requirements recovery_options slot_evidence",
    "answer.get_session_status: map_results forest_results",
    "row.exploration: explored_files explored_files_count mapped_symbols mapped_symbols_count",
    "row.exploration: missing_requirements",
    "row.progress: key have need",
    "row.option: tool purpose",
    "row.slot_state: value source required evidenced",
    "row.last_result: document symbol score status",
    "row.semantic.hypotheses",
    "row.verification.pending",
    "row.mapped_symbol: name source confidence confirmed",
    "row.phase_change: at from to event",
    "row.map_answer: query band nl_term symbol score symbol_defined failed files",
    "row.upstream: name where state since",
)
async def test_status_describes_the_whole_session(shop: Path) -> None:
    async with gateway(shop) as call:
        session = await unsearched(call, shop)
        await call("set_query_frame", **FRAME)
        await call("search_smart")
        await look(call)
        await call("confirm_symbol_relevance", **CONFIRMED)
        await to_verification(call)
        status = await call("get_session_status")
        blocked = await call.refused("submit_semantic", **_anything("submit_semantic"))
    assert status["allowed_tools"] == blocked["allowed_tools"]
    assert status["phase_history"] == [
        {"at": row["at"], "from": before, "to": after, "event": event}
        for row, (before, after, event) in zip(
            status["phase_history"],
            [
                ("", "EXPLORATION", "started"),
                ("EXPLORATION", "SEMANTIC", "doubted"),
                ("SEMANTIC", "VERIFICATION", "supposed"),
            ],
            strict=True,
        )
    ]
    assert all(datetime.fromisoformat(row["at"]).tzinfo for row in status["phase_history"])
    ours = {
        "session_id": session,
        "intent": "MODIFY",
        "query": QUERY,
        "current_phase": "VERIFICATION",
        "risk_level": "MEDIUM",
        "ready_by": "",
        "exploration": {
            "explored_files": [],
            "explored_files_count": 0,
            "mapped_symbols": [
                {"name": LOGIN, "source": "FACT", "confidence": 0.7, "confirmed": True}
            ],
            "mapped_symbols_count": 1,
            "missing_requirements": ["symbols_identified: 0/1"],
        },
        "semantic": {"hypotheses": [SUPPOSED]},
        "verification": {"pending": 1},
        "short_circuit": {
            "query": "login",
            "band": "forest",
            "nl_term": "",
            "symbol": "",
            "score": None,
            "symbol_defined": False,
            "failed": [],
            "files": [],
        },
        "guards": [],
        "requirements": [{"key": "symbols_identified", "have": 0, "need": 1}],
        "slot_evidence": {
            name: {"value": value, "source": source, "required": False, "evidenced": evidenced}
            for name, value, source, evidenced in (
                ("target_feature", "login", "FACT", True),
                ("trigger_condition", "at night", "FACT", True),
                ("observed_issue", "fails with an error page", "FACT", True),
                ("desired_action", None, "UNRESOLVED", False),
            )
        },
        "map_results": [],
        "forest_results": [
            {
                "document": SERVICE,
                "symbol": LOGIN,
                "score": 1.0,
                "status": "HYPOTHESIS",
            }
        ],
        "truncated": False,
        "tool_calls_count": 3,
        "tool_calls": {"search_smart": 1, "find_definitions": 1, "find_references": 1},
        "warnings": [],
    }
    assert {name: status[name] for name in ours} == ours
    ways = {row["tool"]: row["purpose"] for row in status["recovery_options"]}
    assert (
        {"submit_verification", "revert_to_exploration"}
        <= ways.keys()
        <= set(status["allowed_tools"])
    )
    assert ways["submit_verification"] == "confirm or reject each hypothesis with evidence"
    assert "submit_verification" in status["allowed_tools"]
    assert "submit_verification" in status["next_step"]
    assert [
        {"name": row["name"], "where": row["where"], "state": row["state"]}
        for row in status["upstreams"]
    ] == [
        {"name": "devrag-map", "where": "in process", "state": "ready"},
        {"name": "devrag-forest", "where": "in process", "state": "ready"},
    ]
    assert all(datetime.fromisoformat(row["since"]) for row in status["upstreams"])


@pytest.mark.covers(
    "tool.revert_to_exploration",
    "field.revert_to_exploration.reason",
    "answer.revert_to_exploration: success session_id next_phase message",
    "transition.SEMANTIC.reverted",
    "transition.VERIFICATION.reverted",
    "transition.READY.reverted",
)
async def test_every_later_phase_can_be_reverted(shop: Path) -> None:
    async with gateway(shop) as call:
        for go in (to_semantic, to_verification, to_ready):
            session = await begin(call)
            await call("set_query_frame", **FRAME)
            await go(call)
            answer = await call("revert_to_exploration", reason="it is about something else")
            assert answer == answer | {
                "success": True,
                "session_id": session,
                "next_phase": "EXPLORATION",
            }
            assert "submit_understanding" in answer["message"]
            journal = _journal(shop, session)
            assert '"reason":"it is about something else"' in journal
        refused = await call.refused("revert_to_exploration")
        assert (refused["error"], refused["current_phase"]) == ("phase_blocked", "EXPLORATION")


def _journal(shop: Path, session: str) -> str:
    """Return the text of all journals if there is a session."""
    texts = [
        path.read_text("utf-8") for path in (shop / ".code-intel" / "sessions").glob("*.jsonl")
    ]
    return "".join(texts) if session else ""


@pytest.mark.covers(
    "tool.add_explored_files",
    "field.add_explored_files.files",
    "answer.add_explored_files: success session_id current_phase explored_files message",
    "error.invalid_argument.refused",
)
async def test_explored_file_may_be_added_in_ready(shop: Path) -> None:
    other = "docs/form.md"
    (shop / other).write_text("The form shows an error page if the login fails.\n", "utf-8")
    async with gateway(shop) as call:
        session = await unsearched(call, shop)
        await call("set_query_frame", **FRAME)
        await to_ready(call)
        item = {
            "file": other,
            "explanation": "the page describes how the login fails",
            "quote": "The form shows an error page if the login fails.",
        }
        for unread in (other, item):
            refused = await call.refused("add_explored_files", files=[unread])
            assert refused["missing_requirements"][0].startswith(f"quote: {other}")
        await call("search_text", pattern="form", path=other)
        answer = await call("add_explored_files", files=[item])
        assert answer == {
            "success": True,
            "session_id": session,
            "current_phase": "READY",
            "explored_files": [SERVICE, other],
            "message": f"Explored now: {SERVICE}, {other}.",
        }
        assert (await call("check_write_target", file_path=other))["allowed"]


@pytest.mark.covers(
    "answer.check_write_target.targets", "row.write_target: file_path allowed error hint"
)
async def test_several_files_are_checked_in_one_call(shop: Path) -> None:
    async with gateway(shop) as call:
        await begin(call)
        await call("set_query_frame", **FRAME)
        await to_ready(call)
        alone = {"file_path": SERVICE, "allowed": True, "error": None, "hint": ""}
        for file in (SERVICE, ".git/config"):
            one = await call("check_write_target", file_path=[file])
            (row,) = one["targets"]
            alike = await call("check_write_target", file_path=file)
            assert one == {k: v for k, v in alike.items() if k != "explored_files"} | {
                "targets": [row]
            }
            assert row == {**alone, **{k: one[k] for k in ("file_path", "allowed", "error")}}
        several = await call("check_write_target", file_path=[SERVICE, ".git/config", SERVICE])
        assert (several["allowed"], several["error"]) == (False, "protected_path")
        assert several["file_path"] == ".git/config"
        assert [row["allowed"] for row in several["targets"]] == [True, False, True]
        assert several["targets"][0] == alone
        error = await call.refused("check_write_target", file_path=[])
        assert error["error"] == "invalid_argument"


@pytest.mark.covers(
    "tool.check_write_target",
    "field.check_write_target: file_path allow_new_files",
    "answer.check_write_target: allowed file_path error explored_files hint current_phase",
    "error.not_ready",
    "error.file_not_explored",
    "error.folder_not_explored",
    "error.new_files_not_allowed",
    "error.path_outside_root",
    "error.protected_path",
)
async def test_write_gate_allows_explored_files_only(
    shop: Path,
) -> None:
    test = shop / "tests" / "test_login.py"
    test.write_text("def test_login(auth):\n    auth.login(None)\n", encoding="utf-8")
    async with gateway(shop) as call:
        await begin(call)
        await call("set_query_frame", **FRAME)
        early = await call("check_write_target", file_path=SERVICE)
        assert early == early | {
            "allowed": False,
            "file_path": SERVICE,
            "error": "not_ready",
            "explored_files": [],
            "current_phase": "EXPLORATION",
        }
        assert "submit_understanding" in early["hint"]
        await to_ready(call)
        assert await call("check_write_target", file_path=SERVICE) == {
            "allowed": True,
            "file_path": SERVICE,
            "error": None,
            "hint": "",
            "current_phase": "READY",
        }
        for file, more, error in (
            ("src/cart/cart.py", {}, "file_not_related"),
            ("tests/test_login.py", {}, "file_not_explored"),
            ("src/new/door.py", {}, "folder_not_explored"),
            ("src/auth/new.py", {"allow_new_files": False}, "new_files_not_allowed"),
            ("../elsewhere.py", {}, "path_outside_root"),
            (".code-intel/config.toml", {}, "protected_path"),
        ):
            answer = await call("check_write_target", file_path=file, **more)
            assert (answer["allowed"], answer["error"]) == (False, error)
            assert answer["hint"]
        assert (await call("check_write_target", file_path="src/auth/new.py"))["allowed"]


@pytest.mark.covers("error.read_only_intent")
async def test_read_only_intent_never_writes(shop: Path) -> None:
    async with gateway(shop) as call:
        await begin(call, intent="QUESTION")
        answer = await call("check_write_target", file_path=SERVICE)
        assert (answer["allowed"], answer["error"]) == (False, "read_only_intent")
        assert answer["current_phase"] == "READY"


@pytest.mark.covers(
    "rule.allowed: always EXPLORATION SEMANTIC VERIFICATION READY after_map_miss listed",
    "error.phase_blocked: current_phase allowed_tools",
)
async def test_each_phase_allows_its_tools_and_a_refusal_names_them(shop: Path) -> None:
    finders = {
        "search_text", "files_search", "context_bundle", "find_definitions", "find_references",
        "deps_closure", "snippets_get",
    }  # fmt: skip
    gated = {
        "EXPLORATION": {*finders, "search_map", "search_smart", "submit_understanding"},
        "SEMANTIC": {
            "search_forest", "search_smart", "search_map", "search_text", "find_definitions",
            "find_references", "submit_semantic", "revert_to_exploration",
        },
        "VERIFICATION": {*finders, "submit_verification", "revert_to_exploration"},
        "READY": {
            *finders, "search_map", "search_smart", "search_forest", "submit_understanding",
            "add_explored_files", "revert_to_exploration",
        },
    }  # fmt: skip
    ungated = {
        "start_session", "set_query_frame", "get_session_status", "validate_symbol_relevance",
        "confirm_symbol_relevance", "check_write_target", "record_outcome", "add_agreement",
        "list_agreements",
    }  # fmt: skip
    ways: dict[str, Any] = {
        "EXPLORATION": None,
        "SEMANTIC": to_semantic,
        "VERIFICATION": to_verification,
        "READY": to_ready,
    }
    optional = {"query"}  # listed if it exists
    async with gateway(shop, groups=("session", "search", "agreements")) as call:
        for phase, go in ways.items():
            await unsearched(call, shop)
            await call("set_query_frame", **FRAME)
            if go:
                await go(call)
            allowed = set((await call("get_session_status"))["allowed_tools"]) - optional
            assert allowed == gated[phase] | ungated
            blocked = "submit_understanding" if go and go is not to_ready else "submit_semantic"
            error = await call.refused(blocked, **_anything(blocked))
            assert (error["error"], error["current_phase"]) == ("phase_blocked", phase)
            assert set(error["allowed_tools"]) - optional == allowed
        await unsearched(call, shop)
        assert (await call.refused("search_forest", query="login"))["error"] == "phase_blocked"
        await call("search_map", query="login")
        assert "search_forest" in (await call("get_session_status"))["allowed_tools"]
        assert (await call("search_forest", query="login"))["source"] == "forest"


def _anything(tool: str) -> dict[str, Any]:
    if tool == "submit_understanding":
        return {"symbols_identified": [LOGIN]}
    return {"hypotheses": [SUPPOSED], "devrag_reason": "architecture_unknown"}
