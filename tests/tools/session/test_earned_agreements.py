"""What a whole session may teach under the demands of evidence, with a real index and real git."""

from pathlib import Path
from typing import Any

import pytest

from projects import Caller, code_of
from served import gateway
from shop_sessions import FEE, FEE_FILE, LOGIN, LOGIN_FILE, change

pytestmark = pytest.mark.anyio

QUERY = "login accepts an empty password when the form is sent"
ISSUE = "accepts an empty password"
QUOTE = "if user is None or not verify_password(credentials.password, user.password_hash):"
SAYS = "compares the password of a login"
PASSWORDS, VERIFY = "src/auth/passwords.py", "verify_password"


async def start(call: Caller, intent: str = "MODIFY", feature: str = "login") -> None:
    query = QUERY if feature in QUERY else f"{feature}: {QUERY}"
    await call(
        "start_session",
        intent=intent,
        query=query,
        target_feature={"value": feature, "quote": feature},
        observed_issue={"value": ISSUE, "quote": ISSUE},
    )


async def submit(call: Caller, symbol: str = LOGIN, quote: str = QUOTE, says: str = SAYS) -> None:
    await call("snippets_get", symbol=symbol)
    await call("find_references", symbol=symbol)
    claim = {"symbol": symbol, "explanation": says, "quote": quote}
    answer = await call("submit_understanding", symbols_identified=[claim])
    assert answer["next_phase"] == "READY"


async def succeed(call: Caller, **given: Any) -> tuple[dict[str, str], str]:
    """Report success; return the status of each agreement by symbol, and the note."""
    outcome = await call("record_outcome", outcome="success", **given)
    rows = (await call("list_agreements"))["agreements"]
    return {row["symbol"]: row["status"] for row in rows}, outcome["note"]


@pytest.mark.covers("rule.learning.earned")
async def test_changed_and_quoted_plausible_symbol_is_confirmed(shop: Path) -> None:
    async with gateway(shop, groups=("agreements",), demands="evidence") as call:
        await start(call)
        await submit(call)
        change(shop, LOGIN_FILE)
        assert (await succeed(call))[0] == {LOGIN: "valid"}


@pytest.mark.covers("rule.learning.earned")
async def test_quoted_symbol_that_is_not_plausible_at_the_end_is_unconfirmed(shop: Path) -> None:
    path = shop / FEE_FILE
    before = path.read_text("utf-8")
    words = "login accepts an empty password when the form is sent"
    planted = before.replace("    return Decimal", f"    {words!r}\n    return Decimal")
    assert planted != before
    async with gateway(shop, groups=("agreements",), demands="evidence") as call:
        await start(call)
        path.write_text(f"# {words}\n{planted}", "utf-8")
        await submit(call, FEE, repr(words))
        path.write_text(before, "utf-8")
        change(shop, FEE_FILE)
        statuses, note = await succeed(call)
        assert statuses == {FEE: "unconfirmed"}
        assert f"{FEE} is hardly linked to the request" in note


@pytest.mark.covers("rule.learning.earned")
async def test_symbol_without_a_quote_is_unconfirmed_whatever_the_evidence_says(
    shop: Path,
) -> None:
    async with gateway(shop, groups=("agreements",), demands="evidence") as call:
        await start(call)
        await submit(call)
        await call("find_definitions", symbol=VERIFY)
        says = f"{VERIFY}: {QUERY}"
        await call("confirm_symbol_relevance", relevant_symbols=[VERIFY], code_evidence=says)
        change(shop, PASSWORDS)
        statuses, note = await succeed(call)
        assert statuses == {VERIFY: "unconfirmed"}
        assert f"no quote of {VERIFY} was accepted in this session" in note


@pytest.mark.covers("rule.learning.earned")
@pytest.mark.parametrize(("feature", "status"), [(VERIFY, "unconfirmed"), ("login", "valid")])
async def test_term_that_names_another_symbol_exactly_is_unconfirmed(
    shop: Path, feature: str, status: str
) -> None:
    async with gateway(shop, groups=("agreements",), demands="evidence") as call:
        await start(call, feature=feature)
        await submit(call)
        change(shop, LOGIN_FILE)
        statuses, note = await succeed(call)
        assert statuses == {LOGIN: status}
        assert (f"the term names {feature} exactly" in note) == (status == "unconfirmed")


@pytest.mark.covers("rule.learning.reading")
@pytest.mark.parametrize("intent", ["INVESTIGATE", "EXPLORE", "QUESTION"])
async def test_reading_session_learns_only_what_it_quoted(shop: Path, intent: str) -> None:
    async with gateway(shop, groups=("agreements",), demands="evidence") as call:
        await start(call, intent)
        await call("find_definitions", symbol=VERIFY)
        says = f"{VERIFY} compares the password"
        await call("confirm_symbol_relevance", relevant_symbols=[VERIFY], code_evidence=says)
        statuses, note = await succeed(call)
        assert statuses == {}
        assert f"Nothing learned: no quote of {VERIFY} was accepted" in note
        await start(call, intent)
        await submit(call, VERIFY, code_of(await call("snippets_get", symbol=VERIFY)))
        statuses, note = await succeed(call)
        assert statuses == {VERIFY: "unconfirmed"}
        assert "the intent is read-only" in note
