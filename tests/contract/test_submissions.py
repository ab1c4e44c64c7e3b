"""Check the fields of submissions and symbol relevance."""

from pathlib import Path

import pytest

from contract.journeys import (
    CONFIRMED,
    FRAME,
    LOGIN,
    SERVICE,
    SUPPOSED,
    agree,
    answered,
    begin,
    framed,
    look,
    to_semantic,
    to_verification,
    unsearched,
)
from served import gateway

pytestmark = pytest.mark.anyio

MAPPED = {"name": LOGIN, "source": "FACT", "confidence": 0.5}


@pytest.mark.covers(
    "tool.submit_understanding",
    "field.submit_understanding: symbols_identified entry_points files_analyzed existing_patterns",
    "field.submit_understanding: notes",
    "answer.submit_understanding: success session_id next_phase evaluated_confidence risk_level",
    "answer.submit_understanding: missing_requirements unknown_symbols unseen_files",
    "answer.submit_understanding: confusable_symbols consistency_errors consistency_hint",
    "answer.submit_understanding: mapped_symbols_count mapped_symbols explored_files message hint",
    "transition.EXPLORATION.doubted",
    "transition.EXPLORATION.understood",
    "rule.need.LOW",
)
@pytest.mark.counts("its answers count what the lists name")
async def test_complete_understanding_leads_to_ready(shop: Path) -> None:
    async with gateway(shop) as call:
        session = await framed(call)
        await look(call)
        short = await call(
            "submit_understanding", symbols_identified=[LOGIN], files_analyzed=[SERVICE]
        )
        assert short == short | {
            "success": True,
            "session_id": session,
            "next_phase": "SEMANTIC",
            "evaluated_confidence": "low",
            "risk_level": "LOW",
            "missing_requirements": [
                "symbols_identified: 1/3",
                "entry_points: 0/1",
                "files_analyzed: 1/2",
                "existing_patterns: 0/1",
            ],
            "consistency_errors": [],
            "consistency_hint": "",
            "unknown_symbols": [],
            "unseen_files": [],
            "confusable_symbols": [],
            "mapped_symbols_count": 1,
            "mapped_symbols": [MAPPED],
            "explored_files": [SERVICE],
        }
        for said in ("SEMANTIC", "submit_semantic", "files_analyzed: 1/2"):
            assert said in short["message"]
        assert "revert_to_exploration" in short["hint"]

        session = await framed(call)
        await look(call)
        await call("find_definitions", symbol="verify_password")
        full = await call(
            "submit_understanding",
            symbols_identified=["AuthService", LOGIN, "verify_password"],
            entry_points=["AuthService.login()"],
            files_analyzed=[SERVICE, "src/auth/passwords.py"],
            existing_patterns=["errors are raised, not returned"],
            notes="passwords are hashed",
        )
        assert (full["next_phase"], full["evaluated_confidence"]) == ("READY", "high")
        assert (full["missing_requirements"], full["mapped_symbols_count"]) == ([], 3)
        assert full["explored_files"] == [SERVICE, "src/auth/passwords.py"]
        assert "check_write_target" in full["hint"]
        status = await call("get_session_status")
        assert (status["session_id"], status["ready_by"]) == (session, "understanding")
        journals = "".join(
            path.read_text("utf-8") for path in (shop / ".code-intel" / "sessions").glob("*.jsonl")
        )
        assert "passwords are hashed" in journals


@pytest.mark.covers(
    "error.requirements_missing",
    "error.requirements_missing: missing_requirements consistency_errors unseen_files",
    "error.requirements_missing: current_phase consistency_hint",
    "rule.slip.no_move",
    "rule.need.tools",
)
@pytest.mark.counts("its answers count what the lists name")
async def test_inconsistent_submission_does_not_move_the_phase(shop: Path) -> None:
    async with gateway(shop) as call:
        await unsearched(call, shop)
        await call("set_query_frame", **FRAME)
        untried = await call.refused(
            "submit_understanding", symbols_identified=[LOGIN], files_analyzed=[SERVICE]
        )
        assert untried["error"] == "requirements_missing"
        *counts, unseen, tools, mapping, unverified = untried["missing_requirements"]
        assert counts == [
            "symbols_identified: 0/3",
            "entry_points: 0/1",
            "files_analyzed: 0/2",
            "existing_patterns: 0/1",
        ]
        assert unseen.startswith(f"files_seen: {SERVICE} ")
        assert tools == "required_tools: missing find_definitions, find_references"
        assert mapping.startswith("nl_symbol_mapping: ")
        assert unverified == f"unverified_symbols: {LOGIN}"
        assert (untried["consistency_errors"], untried["unseen_files"]) == ([], [SERVICE])
        await look(call)
        assert untried["consistency_hint"] == ""
        slip = await call.refused(
            "submit_understanding",
            symbols_identified=[LOGIN],
            files_analyzed=["gone.py", SERVICE, f"./{SERVICE}"],
        )
        assert slip["error"] == "requirements_missing"
        assert slip["consistency_errors"] == [
            f"files_analyzed: ./{SERVICE} is listed twice",
            "files_analyzed: gone.py does not exist in the project",
        ]
        assert slip["consistency_hint"]
        assert slip["current_phase"] == "EXPLORATION"
        assert (await call("get_session_status"))["current_phase"] == "EXPLORATION"


@pytest.mark.covers("error.requirements_missing: risk_level risk_reason", "rule.slip.no_move")
async def test_a_refused_symbol_names_the_risk_and_does_not_move_the_phase(shop: Path) -> None:
    async with gateway(shop) as call:
        await framed(call)
        refused = await call.refused("submit_understanding", symbols_identified=[LOGIN])
        assert refused["missing_requirements"] == [f"quote: {LOGIN} has no quote"]
        assert (refused["risk_level"], refused["current_phase"]) == ("MEDIUM", "EXPLORATION")
        assert refused["risk_reason"] == f"{LOGIN} is public, and no agreement names it"
        assert (await call("get_session_status"))["current_phase"] == "EXPLORATION"


@pytest.mark.covers("rule.need: defined_symbols seen_files confusable")
@pytest.mark.counts("its answers count what the lists name")
async def test_unknown_unseen_and_confusable_names_do_not_count(
    shop: Path,
) -> None:
    twin = "\N{CYRILLIC CAPITAL LETTER A}uthService"
    unseen = "src/reports/csv_export.py"
    async with gateway(shop) as call:
        await framed(call)
        await look(call)
        answer = await call(
            "submit_understanding",
            symbols_identified=[LOGIN, "make_it_work", twin],
            files_analyzed=[SERVICE, unseen],
        )
        assert answer["unknown_symbols"] == ["make_it_work", twin]
        assert answer["confusable_symbols"] == [twin]
        assert answer["unseen_files"] == [unseen]
        assert "symbols_identified: 1/3" in answer["missing_requirements"]
        assert "files_analyzed: 1/2" in answer["missing_requirements"]
        assert "\\u0410uthService" in answer["message"]
        sources = {row["name"]: row["source"] for row in answer["mapped_symbols"]}
        assert sources == {LOGIN: "FACT", "make_it_work": "HYPOTHESIS", twin: "HYPOTHESIS"}
        assert answer["explored_files"] == [SERVICE]


@pytest.mark.covers(
    "tool.submit_semantic",
    "field.submit_semantic: hypotheses devrag_reason search_queries",
    "field.submit_semantic.hypotheses: text confidence",
    "answer.submit_semantic: success session_id next_phase hypotheses_to_verify search_queries",
    "answer.submit_semantic: message hint",
    "error.invalid_devrag_reason: valid_reasons missing_requirements",
    "transition.SEMANTIC.supposed",
)
async def test_hypotheses_require_a_valid_reason(shop: Path) -> None:
    async with gateway(shop) as call:
        session = await framed(call)
        await to_semantic(call)
        wrong = await call.refused(
            "submit_semantic", hypotheses=[SUPPOSED], devrag_reason="it was late"
        )
        assert wrong["error"] == "invalid_devrag_reason"
        assert wrong["valid_reasons"] == [
            "no_definition_found",
            "architecture_unknown",
            "context_fragmented",
        ]
        assert wrong["missing_requirements"] == ["symbols_identified: 0/1"]
        unsure = await call.refused(
            "submit_semantic",
            hypotheses=[{"text": SUPPOSED, "confidence": "absolute"}],
            devrag_reason="architecture_unknown",
        )
        assert unsure["error"] == "invalid_argument"
        assert unsure["field"].startswith("hypotheses.0")
        answer = await call(
            "submit_semantic",
            hypotheses=[SUPPOSED, {"text": "it raises", "confidence": "high"}],
            devrag_reason="no_definition_found",
            search_queries=["who logs in"],
        )
        assert answer == answer | {
            "success": True,
            "session_id": session,
            "next_phase": "VERIFICATION",
            "hypotheses_to_verify": [SUPPOSED, "it raises"],
            "search_queries": ["who logs in"],
        }
        assert "submit_verification" in answer["message"]
        assert "that the hypothesis names" in answer["hint"]


@pytest.mark.covers(
    "tool.submit_verification",
    "field.submit_verification.verified",
    "field.submit_verification.verified: hypothesis status evidence",
    "answer.submit_verification: success session_id next_phase confirmed rejected corroborated",
    "answer.submit_verification: explored_files warning message",
    "transition.VERIFICATION.verified",
    "transition.VERIFICATION.refuted",
    "rule.evidence.rejected",
)
async def test_a_confirmation_leads_to_ready_and_rejections_lead_back(shop: Path) -> None:
    async with gateway(shop) as call:
        session = await framed(call)
        await to_verification(call)
        await call("snippets_get", symbol=LOGIN)
        (item,) = answered()
        for field in ("hypothesis", "status", "evidence"):
            short = {name: value for name, value in item.items() if name != field}
            error = await call.refused("submit_verification", verified=[short])
            assert error["field"] == f"verified.0.{field}"
        answer = await call("submit_verification", verified=[item])
        assert answer == answer | {
            "success": True,
            "session_id": session,
            "next_phase": "READY",
            "confirmed": [SUPPOSED],
            "rejected": [],
            "corroborated": [True],
            "explored_files": [SERVICE],
            "warning": "",
        }
        assert "check_write_target" in answer["message"]
        session = await framed(call)
        await to_verification(call)
        refuted = answered("rejected", "logout", quote="")
        answer = await call("submit_verification", verified=refuted)
        assert (answer["next_phase"], answer["session_id"]) == ("EXPLORATION", session)
        assert (answer["confirmed"], answer["rejected"]) == ([], [SUPPOSED])
        assert answer["corroborated"] == [False]
        assert "rejected" in answer["warning"]


@pytest.mark.covers("field.submit_verification.verified.evidence: tool target result files")
async def test_a_call_confirms_a_hypothesis_of_a_session_that_only_reads(shop: Path) -> None:
    async with gateway(shop) as call:
        await framed(call, "INVESTIGATE")
        await to_verification(call)
        await call("find_definitions", symbol=LOGIN)
        (item,) = answered(quote="")
        for field in ("tool", "target", "result"):
            proof = {name: value for name, value in item["evidence"].items() if name != field}
            error = await call.refused("submit_verification", verified=[item | {"evidence": proof}])
            assert error["error"] == "requirements_missing", field
        proof = item["evidence"] | {"files": [SERVICE, "README.md"]}
        answer = await call("submit_verification", verified=[item | {"evidence": proof}])
        assert (answer["next_phase"], answer["explored_files"]) == ("READY", [SERVICE])


@pytest.mark.covers(
    "error.requirements_missing: valid_tools hypotheses_to_verify",
    "rule.evidence.own_log",
    "rule.evidence.every_hypothesis",
)
async def test_evidence_must_match_the_call_log(shop: Path) -> None:
    answer = answered(quote="")
    async with gateway(shop) as call:
        await framed(call, "INVESTIGATE")
        await to_verification(call)
        made_up = await call.refused("submit_verification", verified=answer)
        assert made_up["error"] == "requirements_missing"
        assert "no successful find_definitions call" in made_up["missing_requirements"][0]
        assert made_up["hypotheses_to_verify"] == [SUPPOSED]
        assert made_up["valid_tools"] == [
            "find_definitions",
            "find_references",
            "search_text",
        ]
        await call("find_definitions", symbol="shipping_fee")
        assert "error" in await call.refused("submit_verification", verified=answer)
        await call("find_definitions", symbol="no_such_symbol")
        empty = answered(target="no_such_symbol", quote="")
        assert "error" in await call.refused("submit_verification", verified=empty)
        nothing = await call.refused("submit_verification", verified=[])
        assert f"unanswered: {SUPPOSED}" in nothing["missing_requirements"]
        assert (await call("get_session_status"))["current_phase"] == "VERIFICATION"


@pytest.mark.covers(
    "tool.confirm_symbol_relevance",
    "field.confirm_symbol_relevance: relevant_symbols code_evidence reasoning",
    "answer.confirm_symbol_relevance: success session_id current_phase updated_count",
    "answer.confirm_symbol_relevance: mapped_symbols not_found hint reasoning message",
    "answer.confirm_symbol_relevance: unproven_symbols risk_level risk_adjustment",
    "row.mapped_symbol.band",
    "row.unproven: name band why then",
    "error.invalid_argument.unproven_symbols",
    "error.no_query_frame",
    "error.invalid_argument.not_found",
)
async def test_a_symbol_is_confirmed_for_the_feature_and_others_are_named(shop: Path) -> None:
    async with gateway(shop) as call:
        await begin(call)
        assert (await call.refused("confirm_symbol_relevance", **CONFIRMED))[
            "error"
        ] == "no_query_frame"
        session = await framed(call)
        unknown = await call.refused(
            "confirm_symbol_relevance", **CONFIRMED | {"relevant_symbols": ["nope"]}
        )
        assert (unknown["error"], unknown["not_found"]) == ("invalid_argument", ["nope"])
        mute = await call.refused("confirm_symbol_relevance", **CONFIRMED | {"code_evidence": " "})
        assert mute["field"] == "code_evidence"
        loose = await call.refused(
            "confirm_symbol_relevance", **CONFIRMED | {"relevant_symbols": ["shipping_fee"]}
        )
        (unproven,) = loose["unproven_symbols"]
        assert (unproven["name"], unproven["band"]) == ("shipping_fee", None)
        assert unproven["why"] in loose["message"]
        assert unproven["then"] in loose["hint"]
        answer = await call(
            "confirm_symbol_relevance",
            **CONFIRMED | {"relevant_symbols": [LOGIN, "nope"]},
            reasoning="the others only format",
        )
        assert answer == answer | {
            "success": True,
            "session_id": session,
            "current_phase": "EXPLORATION",
            "updated_count": 1,
            "mapped_symbols": [
                {
                    "name": LOGIN,
                    "source": "FACT",
                    "confidence": 0.7,
                    "confirmed": True,
                    "band": None,
                }
            ],
            "not_found": ["nope"],
            "unproven_symbols": [],
            "risk_level": "MEDIUM",
            "risk_adjustment": None,
            "hint": "Find the spelling of the missing symbols with find_definitions.",
            "reasoning": "the others only format",
        }
        assert answer["message"].startswith(f"Confirmed: {LOGIN}. Not defined: nope.")


@pytest.mark.covers(
    "tool.validate_symbol_relevance",
    "field.validate_symbol_relevance: target_feature symbols_identified symbols",
    "answer.validate_symbol_relevance: session_id target_feature symbols_count validation_prompt",
    "answer.validate_symbol_relevance: action_required response_schema cached_matches",
    "answer.validate_symbol_relevance: embedding_suggestions embedding_status undefined_symbols",
    "answer.validate_symbol_relevance: cache_note cache_status embedding_note unmeasured_symbols",
    "row.response_schema: tool relevant_symbols code_evidence",
)
async def test_symbols_are_compared_with_agreements_and_definitions(shop: Path) -> None:
    async with gateway(shop) as call:
        await call("add_agreement", nl_term="login", symbol=LOGIN, code_evidence="it logs in")
        session = await begin(call)
        answer = await call(
            "validate_symbol_relevance",
            target_feature="login",
            symbols_identified=[LOGIN],
            symbols=["nope"],
        )
        assert answer == answer | {
            "session_id": session,
            "target_feature": "login",
            "symbols_count": 2,
            "response_schema": {
                "tool": "confirm_symbol_relevance",
                "relevant_symbols": ["names that implement the feature"],
                "code_evidence": answer["response_schema"]["code_evidence"],
            },
            "cached_matches": [],
            "cache_status": "miss",
            "embedding_suggestions": [],
            "embedding_note": "There is no embedding model, so every symbol counts as gray.",
            "unmeasured_symbols": [
                {
                    "symbol": LOGIN,
                    "similarity": None,
                    "rank": 1,
                    "band": None,
                    "risk_adjustment": None,
                    "asks": answer["unmeasured_symbols"][0]["asks"],
                }
            ],
            "embedding_status": "embedding is switched off in the settings",
            "undefined_symbols": ["nope"],
        }
        assert "login" in answer["validation_prompt"]
        assert "mentions each symbol" in answer["response_schema"]["code_evidence"]
        assert answer["cache_note"].startswith("No agreement pairs")
        assert "confirm_symbol_relevance" in answer["action_required"]
        assert (await call.refused("validate_symbol_relevance", target_feature="login"))[
            "field"
        ] == "symbols_identified"


@pytest.mark.model
@pytest.mark.covers(
    "row.suggestion: symbol similarity rank band risk_adjustment asks",
    "answer.validate_symbol_relevance.cached_matches",
    "answer.submit_understanding.mapped_symbols",
)
async def test_with_a_model_symbols_are_ranked_by_their_calibrated_similarity(
    shop: Path,
) -> None:
    async with gateway(shop, embedding="faithful") as call:
        await call("start_session", intent="MODIFY", query="the login of the shop fails")
        answer = await call(
            "validate_symbol_relevance",
            target_feature="login",
            symbols=[LOGIN, "shipping_fee"],
        )
        assert answer["embedding_status"] == "ok"
        first, second = answer["embedding_suggestions"]
        assert (first["symbol"], first["rank"]) == (LOGIN, 1)
        assert (second["symbol"], second["rank"]) == ("shipping_fee", 2)
        assert 1 >= first["similarity"] > second["similarity"] >= 0
        assert (first["band"], second["band"]) == ("high", "low")
        assert first["asks"] != second["asks"]
        assert (first["risk_adjustment"], second["risk_adjustment"]) == (None, None)
        assert answer["cached_matches"] == []
        await call("set_query_frame", target_feature=FRAME["target_feature"])
        confirmed = await call("confirm_symbol_relevance", **CONFIRMED)
        (symbol,) = confirmed["mapped_symbols"]
        assert symbol["confidence"] == pytest.approx(first["similarity"], abs=1e-3)


@pytest.mark.covers("rule.band.agreed")
async def test_exact_agreement_is_high_likeness_without_a_model(shop: Path) -> None:
    agree(shop, "login")
    async with gateway(shop) as call:
        await begin(call)
        answer = await call(
            "validate_symbol_relevance", target_feature="login", symbols=[LOGIN, "shipping_fee"]
        )
        (agreed,) = answer["embedding_suggestions"]
        assert (agreed["symbol"], agreed["band"], agreed["similarity"]) == (LOGIN, "high", 1.0)
        (other,) = answer["unmeasured_symbols"]
        assert (other["symbol"], other["band"]) == ("shipping_fee", None)
