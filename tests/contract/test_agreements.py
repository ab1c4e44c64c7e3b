"""Check the pages and fields of `list_agreements`."""

from datetime import datetime
from pathlib import Path

import pytest

from served import AGREEMENTS, gateway

pytestmark = pytest.mark.anyio


@pytest.mark.covers(
    "tool.list_agreements",
    "field.list_agreements: nl_term symbol status limit cursor",
    "answer.list_agreements: agreements total truncated next_cursor",
    "row.agreement_row: file status reasons confirmed nl_term symbol evidence files aliases",
    "row.agreement_row: learned_at",
)
async def test_agreements_are_listed_page_by_page_and_narrowed(shop: Path) -> None:
    async with gateway(shop) as call:
        for place in range(5):
            await call(
                "add_agreement",
                nl_term=f"login {place}",
                symbol="AuthService.login" if place else "gone_symbol",
                code_evidence="it logs in",
            )
        every = await call("list_agreements")
        page = await call("list_agreements", limit=2)
        rest = await call("list_agreements", cursor=page["next_cursor"])
        broken = await call("list_agreements", status="broken")
        term = await call("list_agreements", nl_term="GIN 3")
        symbol = await call("list_agreements", symbol="authservice")
        other = await call.refused("list_agreements", nl_term="x", cursor=page["next_cursor"])
    assert other["field"] == "cursor"
    assert (every["total"], every["truncated"], every["next_cursor"]) == (5, False, None)
    assert (page["truncated"], rest["truncated"]) == (True, False)
    assert len(page["agreements"]) == 2
    assert page["agreements"] + rest["agreements"] == every["agreements"]
    assert [row["symbol"] for row in broken["agreements"]] == ["gone_symbol"]
    assert symbol["total"] == 4
    (row,) = term["agreements"]
    assert row == row | {
        "status": "unconfirmed",
        "confirmed": False,
        "nl_term": "login 3",
        "symbol": "AuthService.login",
        "evidence": ["it logs in"],
        "files": ["src/auth/service.py:29"],
        "aliases": [],
    }
    assert row["file"].startswith("login_3_AuthService.login-")
    assert (shop / AGREEMENTS / row["file"]).exists()
    assert "not confirmed" in row["reasons"][0].lower()
    assert datetime.fromisoformat(row["learned_at"]).tzinfo
