"""Two projects in one process keep their sessions, agreements and outcomes apart."""

import contextlib
import json
import shutil
from pathlib import Path

import pytest

from code_intel.learned.history.outcomes import folder_of
from projects import ERAS
from served import gateway
from shop_sessions import FEE, FEE_FILE, LOGIN, LOGIN_FILE, learn, start

pytestmark = pytest.mark.anyio


@pytest.fixture
def office(indexed_shop: Path, tmp_path: Path) -> Path:
    """Copy the shop as a second project."""
    return Path(shutil.copytree(indexed_shop, tmp_path / "office", symlinks=True))


def reported(root: Path) -> list[str]:
    """Return the sessions in a project's outcome log."""
    log = folder_of(root / ".code-intel") / "outcomes.jsonl"
    lines = log.read_text("utf-8").splitlines() if log.exists() else []
    return [json.loads(line)["session_id"] for line in lines]


@pytest.mark.covers("rule.learning.project")
async def test_each_project_keeps_its_own_sessions_agreements_and_outcomes(
    shop: Path, office: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with contextlib.chdir(elsewhere):
        async with gateway(shop) as here, gateway(office, ERAS[1]) as there:
            learned = await learn(here, shop, "ログイン機能", LOGIN, LOGIN_FILE)
            other = await learn(there, office, "送料の計算", FEE, FEE_FILE)
            assert learned["cached_pairs"] == [{"nl_term": "ログイン機能", "symbol": LOGIN}]
            assert other["cached_pairs"] == [{"nl_term": "送料の計算", "symbol": FEE}]
            for call, symbol in ((here, LOGIN), (there, FEE)):
                agreed = (await call("list_agreements"))["agreements"]
                assert [row["symbol"] for row in agreed] == [symbol]
            for call, feature, symbol in (
                (here, "ログイン機能", LOGIN),
                (there, "送料の計算", FEE),
            ):
                await start(call, feature)
                known = await call(
                    "validate_symbol_relevance", target_feature=feature, symbols=[symbol]
                )
                assert known["cached_matches"] == [symbol]
            unknown = await there(
                "validate_symbol_relevance", target_feature="ログイン機能", symbols=[LOGIN]
            )
            assert unknown["cached_matches"] == []
            handle = await start(here, "ログイン機能")
            refused = await there.refused("get_session_status", session_id=handle)
            assert refused["error"] == "no_active_session"
    assert len(reported(shop)) == len(reported(office)) == 1
    assert set(reported(shop)).isdisjoint(reported(office))
    assert list(elsewhere.iterdir()) == []


async def test_agreement_is_known_in_every_spelling_of_its_term(shop: Path) -> None:
    async with gateway(shop) as call:
        await learn(call, shop, "ログイン機能", LOGIN, LOGIN_FILE)
        for words in ("ログイン機能", "ﾛｸﾞｲﾝ機能", "　ログイン機能\n"):
            await call("start_session", intent="MODIFY", query=f"fix {words}")
            known = await call(
                "validate_symbol_relevance", target_feature=words, symbols=[LOGIN, FEE]
            )
            assert known["cached_matches"] == [LOGIN], words
