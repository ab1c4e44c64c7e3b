"""query answers by several calls and records in the session only what it shows."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from code_intel.errors import StorageError
from code_intel.learned.history import decisions
from code_intel.session.router import PlannedCall
from code_intel.tools.context.corpus_service import open_project
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.declaration import Answer
from code_intel.tools.search.findings import CallFinding, Output, merged
from code_intel.tools.search.query import MAX_PAGE_PLACES, query
from code_intel.tools.search.run_calls import run
from code_intel.tools.session.set_query_frame import SlotValue, set_query_frame
from code_intel.tools.session.start_session import start_session
from code_intel.tools.wire.answers import MAX_SEARCH_TOKENS, tokens
from contract.journeys import LOGIN, SUPPOSED, unsearched
from projects import Caller
from served import gateway, index_server, settings_of

pytestmark = pytest.mark.anyio


def journaled(root: Path, event: str = "called") -> list[dict[str, Any]]:
    """Return the data of events in the project's only session."""
    (journal,) = (root / ".code-intel" / "sessions").glob("*.jsonl")
    lines = map(json.loads, journal.read_text("utf-8").splitlines())
    return [line["data"] for line in lines if line["event"] == event]


async def index_words(shop: Path) -> None:
    """Index the words of new files."""
    async with index_server(shop, "forest") as forest:
        await forest("sync")


async def start(call: Caller, query: str, intent: str = "MODIFY", **slots: str) -> str:
    session = await call("start_session", intent=intent, query=query)
    if slots:
        frame = {name: {"value": text, "quote": text} for name, text in slots.items()}
        await call("set_query_frame", **frame)
    return str(session["session_id"])


async def test_japanese_question_is_translated_to_english_names(shop: Path) -> None:
    async with gateway(shop) as call:
        answer = await call("query", question="ログインの仕組みを知りたい")
    assert answer["results"][0]["symbol_name"] == "AuthService.login"


async def test_code_with_japanese_names_is_found_by_them(shop: Path) -> None:
    file = shop / "src" / "画面.py"
    file.write_text("def 領収書(利用者):\n    return 利用者.挨拶()\n", "utf-8")
    async with gateway(shop) as call:
        answer = await call("query", question="領収書はどこでログインを確かめますか")
    asked = [step["params"].get("symbol") for step in answer["plan"]]
    assert "領収書" in asked
    assert "login" in asked  # this name is English in the code
    found = {(row["file_path"], row["symbol_name"]) for row in answer["results"]}
    assert {("src/画面.py", "領収書"), ("src/auth/service.py", "AuthService.login")} <= found
    assert not answer["fallback_triggered"]


async def test_results_are_ordered_by_confidence_without_repetition(shop: Path) -> None:
    async with gateway(shop) as call:
        answer = await call("query", question="AuthService login logout verify_password token")
    sure = [row["confidence"] for row in answer["results"]]
    assert sure == sorted(sure, reverse=True)
    places = [(row["file_path"], row["start_line"]) for row in answer["results"]]
    assert len(places) == len(set(places)) > 3


async def test_named_file_is_outlined_and_a_listed_folder_shows_no_file(
    shop: Path,
) -> None:
    async with gateway(shop) as call:
        await start(call, "explain the gateway", intent="INVESTIGATE")
        answer = await call("query", question="?", file_path="src/payments/gateway.py")
        found = {row["source_tool"] for row in answer["results"]}
        assert found == {"analyze_structure", "get_symbols"}
        assert {row["file_path"] for row in answer["results"]} == {"src/payments/gateway.py"}
        await call("query", question="?", path="src/users")
    outlined, listed = (
        [data["files"] for data in journaled(shop) if data["tool"] == tool]
        for tool in ("analyze_structure", "get_symbols")
    )
    assert outlined == [["src/payments/gateway.py"]]
    assert listed == [["src/payments/gateway.py"], []]
    last = [data for data in journaled(shop) if data["tool"] == "query"][-1]
    assert (last["files"], last["found"]) == ([], 0)


async def test_long_answer_is_split_into_pages_within_the_budget(shop: Path) -> None:
    for number in range(40):
        text = f"def handle_{number}():\n    return 'order {number}: 注文を処理する'\n"
        (shop / "src" / f"orders_{number:02}.py").write_text(text, encoding="utf-8")
    await index_words(shop)
    async with gateway(shop) as call:
        seen: list[tuple[str, int]] = []
        cursor = ""
        while True:
            answer = await call("query", question="handle an order", cursor=cursor)
            assert tokens(json.dumps(answer, ensure_ascii=False)) <= MAX_SEARCH_TOKENS
            assert len(answer["results"]) <= MAX_PAGE_PLACES
            seen += [(row["file_path"], row["start_line"]) for row in answer["results"]]
            assert answer["truncated"] == bool(answer["next_cursor"])
            cursor = answer["next_cursor"] or ""
            if not cursor:
                break
        assert len(seen) == len(set(seen)) == answer["total_results"] > 2 * MAX_PAGE_PLACES
        error = await call.refused("query", question="another", cursor="12.00000000")
        assert error["field"] == "cursor"


@pytest.mark.covers("rule.query.fallback")
async def test_forest_is_searched_only_after_a_map_miss(
    shop: Path,
) -> None:
    question = "zzyzx qwxyz"
    async with gateway(shop) as call:
        await unsearched(call, shop, query=f"why does {question} fail")
        first = await call("query", question=question)
        assert not first["fallback_triggered"]
        assert "search_smart" in first["fallback_reason"]
        await call("search_smart", query="login")
        second = await call("query", question=question)
        assert second["fallback_triggered"]
        assert "hypotheses" in second["fallback_reason"]
        found = await call("query", question="login")
        assert (found["fallback_triggered"], found["fallback_reason"]) == (False, "")
    own = [data for data in journaled(shop) if data["tool"] == "query"]
    assert [data["found"] > 0 for data in own] == [False, False, True]


@pytest.mark.covers("rule.query.shown")
async def test_only_shown_places_count_in_the_session(shop: Path) -> None:
    async with gateway(shop) as call:
        await start(call, "fix the login", target_feature="login")
        answer = await call("query", question="AuthService and verify_password")
        shown = {row["file_path"] for row in answer["results"]}
        status = await call("get_session_status")
        assert status["tool_calls"]["query"] == 1
        assert {"find_definitions", "find_references"} <= set(status["tool_calls"])
        assert answer["current_phase"] == "EXPLORATION"
    calls = [data for data in journaled(shop) if data["tool"] != "start_session"]
    assert {file for data in calls for file in data["files"]} == shown
    assert calls[-1]["tool"] == "query"
    assert calls[-1]["target"] == "AuthService and verify_password"
    assert decisions_of(shop)[0]["decision"] == "plan_made"


def decisions_of(root: Path) -> list[dict[str, Any]]:
    (journal,) = (root / ".code-intel" / "sessions").glob("*.jsonl")
    return list(decisions.newest(root / ".code-intel" / "logs", journal.stem).records)


async def test_slot_is_evidenced_by_calls_with_its_words(shop: Path) -> None:
    async with gateway(shop) as call:
        await start(
            call,
            "the login raises AuthenticationError for everybody",
            target_feature="login",
            observed_issue="AuthenticationError",
        )
        before = (await call("get_session_status"))["slot_evidence"]
        assert not any(slot["evidenced"] for slot in before.values())
        answer = await call("query", question="where is the cart priced")
        slots = {step.get("slot", "") for step in answer["plan"]}
        assert slots == {"", "target_feature", "observed_issue"}
        after = (await call("get_session_status"))["slot_evidence"]
        assert after["target_feature"]["evidenced"]
        again = await call("query", question="where is the cart priced")
        assert "target_feature" not in {step.get("slot", "") for step in again["plan"]}


async def test_frequent_word_shows_no_file_and_evidences_no_slot(
    shop: Path,
) -> None:
    for number in range(60):
        (shop / "src" / f"page_{number:02}.txt").write_text("the widget\n", encoding="utf-8")
    async with gateway(shop) as call:
        await start(call, "ウィジェットが壊れた", target_feature="ウィジェット")
        answer = await call("query", question="the widget page")
        assert answer["total_results"] > 30
        assert len(answer["results"]) <= MAX_PAGE_PLACES
        status = await call("get_session_status")
        assert not status["slot_evidence"]["target_feature"]["evidenced"]
    discounted = [d for d in decisions_of(shop) if d["decision"] == "step_discounted"]
    assert discounted
    assert not any(file.endswith(".txt") for data in journaled(shop) for file in data["files"])


async def test_only_the_exact_symbol_of_many_counts_as_seen(shop: Path) -> None:
    text = "".join(f"def handle_{number}():\n    return {number}\n\n" for number in range(20))
    (shop / "src" / "handlers.py").write_text(text, encoding="utf-8")
    (shop / "src" / "handle.py").write_text("def handle():\n    return 0\n", encoding="utf-8")
    await index_words(shop)
    async with gateway(shop) as call:
        await start(call, "how are orders handled", intent="INVESTIGATE")
        answer = await call("query", question="orders, and how to handle them")
        shown = {row["symbol_name"] for row in answer["results"]}
        assert len(shown & {f"handle_{number}" for number in range(20)}) > 2
    found = [data for data in journaled(shop) if data["tool"] == "find_definitions"]
    (handled,) = [data for data in found if data["target"] == "handl"]
    assert (handled["symbols"], handled["files"]) == ([], [])
    assert handled["found"] > 2


async def test_one_broad_question_opens_only_what_it_printed_whole(shop: Path) -> None:
    words = "login cart payment stock export mail AuthService Cart PaymentGateway verify_password"
    async with gateway(shop) as call:
        await start(call, f"fix {words}")
        await call("query", question=words)
        claims = [
            {"symbol": name, "explanation": f"fix {name}", "quote": f"class {name}:"}
            for name in ("AuthService", "PaymentGateway")
        ]
        judged = await call("submit_understanding", symbols_identified=claims)
        assert judged["confirmed_symbols"] == ["AuthService"]
        assert judged["left_out"] == ["PaymentGateway was printed only in part"]
        target = await call("check_write_target", file_path="src/payments/gateway.py")
        assert not target["allowed"]


@pytest.mark.covers("error.phase_blocked")
async def test_query_is_refused_in_semantic_and_is_evidence_in_verification(shop: Path) -> None:
    question = f"{LOGIN} verify_password"
    evidence = {"tool": "query", "target": question, "result": "it calls verify_password"}
    verified = [{"hypothesis": SUPPOSED, "status": "confirmed", "evidence": evidence}]
    async with gateway(shop) as call:
        await start(call, "explain the login", "INVESTIGATE", target_feature="login")
        await call("query", question=question)
        await call("submit_understanding", symbols_identified=[])
        error = await call.refused("query", question="login")
        assert (error["error"], error["current_phase"]) == ("phase_blocked", "SEMANTIC")
        supposed = {"hypotheses": [SUPPOSED], "devrag_reason": "architecture_unknown"}
        await call("submit_semantic", **supposed)
        error = await call.refused("submit_verification", verified=verified)
        assert error["error"] == "requirements_missing"
        await call("query", question=question)
        answer = await call("submit_verification", verified=verified)
        assert answer["next_phase"] == "READY"
        await call("query", question="login")


async def test_results_for_an_earlier_frame_are_not_recorded(shop: Path) -> None:
    maps, forest = open_project(settings_of(shop))
    context = GatewayContext(settings_of(shop), None, maps.index, forest.index, maps.embedder)
    await start_session(context, "MODIFY", "fix the login of an empty cart")
    await set_query_frame(context, SlotValue(value="login", quote="login"))
    try:

        async def meanwhile(done: float, total: float | None, message: str) -> None:
            if (done, message) == (total, "done"):
                await set_query_frame(
                    context, trigger_condition=SlotValue(value="cart", quote="cart")
                )

        answer = await query(replace(context, report=meanwhile), "AuthService.login")
        assert answer.data["results"]
        assert any("Call again" in warning for warning in answer.data["warnings"])
        assert {data["tool"] for data in journaled(shop)} == {"start_session"}
        again = await query(context, "AuthService.login")
        assert "warnings" not in again.data
        assert {data["tool"] for data in journaled(shop)} >= {"query", "find_definitions"}
    finally:
        maps.index.close()
        forest.index.close()


async def test_query_without_an_index_finds_text_and_says_so(shop: Path) -> None:
    settings = settings_of(shop)
    for file in settings.forest.db_path.parent.glob(f"{settings.forest.db_path.name}*"):
        file.unlink()
    maps, forest = open_project(settings)
    context = GatewayContext(settings, None, maps.index, forest.index, maps.embedder)
    try:
        answer = await query(context, "who sends the login form")
        assert answer.data["needs_bootstrap"]
        assert answer.data["cache_status"] == answer.data["index"]["state"]
        assert answer.data["cache_status"] in {"missing", "building"}
        assert "search_text" in {row["source_tool"] for row in answer.data["results"]}
        assert "not complete" in answer.text
    finally:
        maps.index.close()
        forest.index.close()


async def test_progress_is_reported_per_call_and_failures_are_isolated() -> None:
    progress: list[tuple[float, float | None, str]] = []

    async def report(done: float, total: float | None, message: str) -> None:
        progress.append((done, total, message))

    async def call(step: PlannedCall) -> Answer:
        if step.tool == "find_definitions":
            raise StorageError("the index is gone")
        if step.tool == "find_references":
            await anyio.Event().wait()
        if step.tool == "get_symbols":
            raise RuntimeError("a defect")
        return Answer({"matches": []}, "")

    tools = ("find_definitions", "find_references", "get_symbols", "search_text")
    steps = [PlannedCall(tool, "", 1, {}) for tool in tools]
    outputs = await run(steps, call, report, step_seconds=0.05)
    assert [bool(output.error) for output in outputs] == [True, True, True, False]
    assert "took longer than 0.05 s" in outputs[1].error
    assert [done for done, _, _ in progress] == [0, 1, 2, 3, 4]
    rest = await run(steps[1:2] * 3, call, report, step_seconds=9, seconds=0.05)
    assert ["not started" in output.error for output in rest] == [False, True, True]


def test_merging_keeps_the_surer_of_two_places() -> None:
    def output(tool: str, field: str, rows: list[dict[str, Any]]) -> Output:
        return Output(PlannedCall(tool, "", 1, {"symbol": "f", "pattern": "f"}), {field: rows})

    many = [{"file": "a.py", "line_number": 100 + n, "line_content": "f"} for n in range(20)]
    inside = {"file": "b.py", "line_number": 3, "line_content": "f()"}
    defined = {"name": "f", "file": "b.py", "line": 2, "end_line": 5, "signature": "def f()"}
    found = merged(
        [
            output("search_text", "matches", [*many, inside]),
            output("find_definitions", "definitions", [defined]),
        ]
    )
    assert found[0][:6] == ("b.py", "f", 2, 5, "def f()", "find_definitions")
    assert found[0].found_by == (1, 0)
    assert len(found) == 21
    assert isinstance(found[1], CallFinding)


def test_only_exact_definitions_of_many_count() -> None:
    names = ["Cart.add", "add", "adder", *(f"add_{number}" for number in range(9))]
    rows = [
        {"name": name, "file": f"{place}.py", "line": 1, "end_line": 2, "signature": name}
        for place, name in enumerate(names)
    ]
    few, many = (
        Output(PlannedCall("find_definitions", "", 1, {"symbol": "add"}), {"definitions": some})
        for some in (rows[:3], rows)
    )
    assert (few.is_vague, many.is_vague) == (False, True)
    assert [one.symbol_name for one in few.looked_at(merged([few]))] == names[:3]
    assert [one.symbol_name for one in many.looked_at(merged([many]))] == names[:2]


def test_best_files_of_a_call_come_first_with_one_place_each() -> None:
    rows = [
        {"file": file, "line_number": line, "line_content": "f"}
        for file in ("README.md", "a.py", "b.py")
        for line in (1, 9)
    ]
    output = Output(PlannedCall("search_text", "", 1, {"pattern": "f"}), {"matches": rows})
    found = merged([output], {"b.py": 0, "a.py": 1})
    assert [(one.file_path, one.start_line) for one in found] == [
        ("b.py", 1),
        ("a.py", 1),
        ("README.md", 1),
        ("b.py", 9),
        ("a.py", 9),
        ("README.md", 9),
    ]


async def test_rarest_word_is_searched_first(shop: Path) -> None:
    common = "def session():\n    return 'the session of a session'\n"
    for number in range(20):
        (shop / "src" / f"session_{number}.py").write_text(common, encoding="utf-8")
    await index_words(shop)
    async with gateway(shop) as call:
        answer = await call("query", question="how is a session revoked")
        words = [step["params"].get("symbol") for step in answer["plan"]]
    assert words[0] == "revok"
    assert words.index("session") > 0


async def test_unwritable_log_is_only_a_warning(shop: Path) -> None:
    logs = shop / ".code-intel" / "logs"
    logs.mkdir(exist_ok=True)
    (logs / "decisions.jsonl").mkdir()
    async with gateway(shop) as call:
        answer = await call("query", question="login")
    assert answer["results"]
    assert any("not logged" in warning for warning in answer["warnings"])
