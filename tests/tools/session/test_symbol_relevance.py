"""The similarity of a symbol's name decides what confirming it needs, with the real model."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from code_intel.learned.learn import confirm as confirm_pair
from contract.journeys import to_semantic
from projects import Caller
from served import gateway, settings_of
from shop_sessions import FEE, FEE_FILE, LOGIN, LOGIN_FILE, claim, explore, start, succeed, verify

pytestmark = [pytest.mark.anyio, pytest.mark.model]

TERM = "ログイン機能"


@pytest.fixture
def shop(embedded_shop: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(embedded_shop, tmp_path / "shop"))


async def confirm(call: Caller, symbol: str, evidence: str) -> dict[str, Any]:
    return await call("confirm_symbol_relevance", relevant_symbols=[symbol], code_evidence=evidence)


@pytest.mark.counts("only its risk depends on names")
async def test_symbol_with_an_unlike_name_must_be_looked_up_and_raises_the_risk(
    shop: Path,
) -> None:
    async with gateway(shop, embedding="faithful") as call:
        await start(call, TERM)
        proposed = await call(
            "validate_symbol_relevance", target_feature=TERM, symbols=[LOGIN, FEE]
        )
        rows = {row["symbol"]: row for row in proposed["embedding_suggestions"]}
        assert rows[FEE]["band"] == "low"
        assert rows[FEE]["risk_adjustment"] == "MEDIUM"
        assert "find_definitions" in rows[FEE]["asks"]
        error = await call.refused(
            "confirm_symbol_relevance", relevant_symbols=[FEE], code_evidence=f"{FEE} is it"
        )
        assert error["unproven_symbols"][0]["band"] == "low"
        assert error["hint"].startswith(f"Look up {FEE} with find_definitions")
        await call("find_definitions", symbol=FEE)
        answer = await confirm(call, FEE, f"{FEE} is it")
        assert (answer["risk_level"], answer["risk_adjustment"]) == ("MEDIUM", "MEDIUM")
        assert f"the name of {FEE} is not similar" in answer["message"]
        assert (await confirm(call, FEE, f"{FEE} is it"))["risk_adjustment"] is None
        assert (await call("get_session_status"))["risk_level"] == "MEDIUM"


async def test_agreed_symbol_is_similar_whatever_its_name(shop: Path) -> None:
    words = "配達の値段"
    async with gateway(shop, embedding="faithful") as call:
        await start(call, words)
        await explore(call, FEE, FEE_FILE)
        await claim(call, LOGIN)
        outcome = await succeed(call, shop, LOGIN_FILE)
        assert "no quote of AuthService.login was accepted" in outcome["note"]
        confirm_pair(settings_of(shop), (words, LOGIN))
        await start(call, words)
        proposed = await call("validate_symbol_relevance", target_feature=words, symbols=[LOGIN])
        assert (proposed["cache_status"], proposed["cached_matches"]) == ("hit", [LOGIN])
        (row,) = proposed["embedding_suggestions"]
        assert (row["band"], row["similarity"], row["risk_adjustment"]) == ("high", 1.0, None)
        assert (await confirm(call, LOGIN, "そこにある"))["risk_adjustment"] is None


async def test_japanese_session_gets_a_clear_next_step(
    shop: Path,
) -> None:
    async with gateway(shop) as call:
        await start(call, "認証の入口")
        await to_semantic(call)
        await call(
            "submit_semantic",
            hypotheses=[f"認証の入口は {LOGIN} である"],
            devrag_reason="architecture_unknown",
        )
        await call("find_definitions", symbol=LOGIN)
        evidence = {"tool": "find_definitions", "target": LOGIN, "result": "そこにある"}
        verified = [
            {
                "hypothesis": f"認証の入口は {LOGIN} である",
                "status": "confirmed",
                "evidence": evidence,
            }
        ]
        error = await call.refused("submit_verification", verified=verified)
        assert error["error"] == "requirements_missing"
        assert error["hint"].startswith("Read the code with snippets_get")
        await call("snippets_get", symbol=LOGIN)
        evidence["quote"] = "def login(self, credentials: Credentials) -> str:"
        answer = await call("submit_verification", verified=verified)
        assert (answer["next_phase"], answer["warning"]) == ("READY", "")


async def test_evidence_may_be_json_text(shop: Path) -> None:
    async with gateway(shop) as call:
        await start(call, "login")
        await to_semantic(call)
        guess = json.dumps({"text": f"{LOGIN} is it", "confidence": "high"})
        supposed = await call(
            "submit_semantic", hypotheses=[guess], devrag_reason="architecture_unknown"
        )
        assert supposed["hypotheses_to_verify"] == [f"{LOGIN} is it"]
        bad = {"tool": "x", "target": "\u0000", "result": "y"}
        item = {"hypothesis": f"{LOGIN} is it", "status": "rejected", "evidence": json.dumps(bad)}
        error = await call.refused("submit_verification", verified=[json.dumps(item)])
        assert error["error"] == "invalid_argument"
        assert await verify(call, LOGIN, LOGIN_FILE) == "READY"
