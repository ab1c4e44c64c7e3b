"""The whole workflow: map, forest, verification, write, learning, recall."""

import pytest

from code_intel.records import VERIFICATION_SCORE
from projects import Caller, Project, both_eras, code_of

pytestmark = [pytest.mark.anyio, pytest.mark.model]

QUERY = "ログイン機能でパスワードが空のときエラーが出ない"
SERVICE = "src/auth/service.py"


async def start(call: Caller, query: str, feature: str) -> str:
    session = await call("start_session", intent="MODIFY", query=query)
    await call(
        "set_query_frame",
        target_feature={"value": feature, "quote": feature},
        session_id=session["session_id"],
    )
    return str(session["session_id"])


async def explore_and_learn(call: Caller, project: Project) -> dict[str, object]:
    """Run one session from question to outcome; return the answer of record_outcome."""
    session = await call("start_session", intent="MODIFY", query=QUERY)
    assert session["current_phase"] == "EXPLORATION"
    framed = await call(
        "set_query_frame",
        target_feature={"value": "ログイン機能", "quote": "ログイン機能"},
        trigger_condition={"value": "パスワードが空のとき", "quote": "パスワードが空のとき"},
        observed_issue={"value": "エラーが出ない", "quote": "エラーが出ない"},
    )
    assert framed["query_frame"]["slot_sources"]["target_feature"] == "FACT"
    early = await call.refused("search_forest", query="login")
    assert early["error"] == "phase_blocked"

    found = await call("search_smart")
    assert (found["source"], found["status"]) == ("forest", "HYPOTHESIS")
    assert SERVICE in [hit["document"] for hit in found["results"][:3]]

    definitions = await call("find_definitions", symbol="AuthService.login")
    assert definitions["definitions"][0]["file"] == SERVICE
    code = await call("snippets_get", symbol="AuthService.login")
    references = await call("find_references", symbol="AuthService.login")
    assert references["symbol"] == "AuthService.login"

    symbols = ["AuthService.login", "verify_password", "AuthenticationError"]
    proposal = await call(
        "validate_symbol_relevance", target_feature="ログイン機能", symbols=symbols
    )
    assert proposal["embedding_suggestions"][0]["symbol"] in symbols
    understood = await call(
        "submit_understanding",
        symbols_identified=[
            {
                "symbol": "AuthService.login",
                "explanation": "it checks e-mail and password and opens a session",
                "quote": code_of(code),
            }
        ],
    )
    assert understood["next_phase"] == "READY"

    assert (await call("check_write_target", file_path=SERVICE))["allowed"]
    assert not (await call("check_write_target", file_path="src/cart/cart.py"))["allowed"]
    file = project.root / SERVICE
    text = file.read_text(encoding="utf-8")
    changed = text.replace(
        "        user = self.users",
        "        if not credentials.password:\n            raise AuthenticationError('empty')\n"
        "        user = self.users",
        1,
    )
    assert changed != text
    file.write_text(changed, encoding="utf-8")
    return await call(
        "record_outcome",
        session_id=session["session_id"],
        outcome="success",
        analysis={"root_cause": "an empty password was never refused"},
    )


@both_eras
async def test_the_next_process_finds_what_a_session_learned(project: Project, era: str) -> None:
    async with project.connect("code-intel", "serve", era=era) as call:
        learned = await explore_and_learn(call, project)
        assert learned["map_sync"] == "done"
        assert learned["cached_pairs"] == [
            {"nl_term": "ログイン機能", "symbol": "AuthService.login"}
        ]
        written = project.root / ".code-intel" / "agreements" / str(learned["agreement_file"])
        assert "AuthService.login" in written.read_text(encoding="utf-8")
        assert "ログイン機能" in (project.root / ".code-intel" / "learned_pairs.json").read_text(
            "utf-8"
        )
        again = await call("search_map", query="ログイン機能")
        assert again["results"][0]["score"] == 1.0

    async with project.connect("code-intel", "serve", era=era) as call:
        session = await start(call, "サインイン処理を直したい", "サインイン処理")
        hit = await call("search_smart", session_id=session)
        assert (hit["source"], hit["status"]) == ("map", "PREVIOUS_SUCCESS")
        assert hit["results"][0]["score"] >= VERIFICATION_SCORE
        assert hit["results"][0]["agreement"]["symbol"] == "AuthService.login"
        status = await call("get_session_status", session_id=session)
        assert status["current_phase"] == hit["next_phase"]
        assert status["current_phase"] in {"VERIFICATION", "READY"}
        assert SERVICE in status["exploration"]["explored_files"]

        session = await start(call, "CSVに注文を書き出す処理が遅い", "注文を書き出す処理")
        miss = await call("search_smart", session_id=session)
        assert (miss["source"], miss["status"]) == ("forest", "HYPOTHESIS")
        assert "src/reports/csv_export.py" in [hit["document"] for hit in miss["results"][:3]]
        status = await call("get_session_status", session_id=session)
        assert status["current_phase"] == "EXPLORATION"
