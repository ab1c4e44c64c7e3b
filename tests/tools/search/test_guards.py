"""Every guard of READY lowers a map answer to VERIFICATION, with a reason and a next step."""

import os
import shutil
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from code_intel.index.facade import Index
from code_intel.learned.files.agreements import write
from code_intel.learned.history.feedback import note
from code_intel.learned.history.state import open_state
from code_intel.records import Agreement, FileReference
from code_intel.session.short_circuit import GUARDS
from contract.journeys import agree
from privileges import without_root
from programs import git
from projects import Caller
from served import AGREEMENTS, gateway, settings_of
from shop_sessions import (
    FEE,
    FEE_FILE,
    LOGIN,
    LOGIN_FILE,
    ask,
    claim,
    start,
    succeed,
    verify,
)

pytestmark = [pytest.mark.anyio, pytest.mark.model]

TERM = "ログイン機能"
Try = Callable[[Caller, Path], Awaitable[dict[str, Any]]]


@pytest.fixture(scope="module")
def agreed_shop(embedded_shop: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Add one confirmed agreement to the shop."""
    root = Path(shutil.copytree(embedded_shop, tmp_path_factory.mktemp("agreed") / "shop"))
    agree(root, TERM, LOGIN)
    return root


@pytest.fixture
def shop(embedded_shop: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(embedded_shop, tmp_path / "shop"))


@pytest.fixture
def agreed(agreed_shop: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(agreed_shop, tmp_path / "shop"))


def synced(shop: Path) -> None:
    """Index the words of both corpora."""
    config = settings_of(shop)
    for each in (config.map, config.forest):
        with Index(each) as index:
            index.complete(words_only=True)


def edit(shop: Path, old: str, new: str, file: str = LOGIN_FILE) -> None:
    path = shop / file
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


async def changed(call: Caller, shop: Path) -> dict[str, Any]:
    edit(shop, "by e-mail and password", "by e-mail")
    return await ask(call, TERM)


async def renamed(call: Caller, shop: Path) -> dict[str, Any]:
    edit(shop, "def login(", "def sign_in(")
    return await ask(call, TERM)


async def unconfirmed(call: Caller, shop: Path) -> dict[str, Any]:
    (file,) = (shop / AGREEMENTS).glob("*.md")
    file.write_bytes(file.read_bytes() + b"\nA note.\n")
    return await ask(call, TERM)


async def ambiguous(call: Caller, shop: Path) -> dict[str, Any]:
    agree(shop, "送料計算", FEE, aliases=(TERM,))
    with open_state(shop / ".code-intel") as state:
        for session in ("s1", "s2"):
            state.record_alias(("送料計算", FEE), TERM, session, datetime.now(UTC))
    return await ask(call, TERM)


async def other_request(call: Caller, shop: Path) -> dict[str, Any]:
    del shop
    action = "shipping_fee を確かめる"
    await call("start_session", intent="MODIFY", query=f"{TERM} {action} (動作のバグ)")
    slots = {"target_feature": TERM, "observed_issue": "動作のバグ", "desired_action": action}
    await call("set_query_frame", **{k: {"value": v, "quote": v} for k, v in slots.items()})
    return await call("search_smart")


async def undefined(call: Caller, shop: Path) -> dict[str, Any]:
    (shop / "deploy.xyz").write_text("deploy the shop\n", encoding="utf-8")
    term = "デプロイ手順"
    files = (FileReference("deploy.xyz", 1),)
    agreement = Agreement(
        term, "deploy_shop", ("e",), files, learned_at="2026-01-01T00:00:00+00:00", confirmed=True
    )
    write(settings_of(shop).agreements, agreement)
    git(shop, "add", "-A")
    git(shop, "commit", "-qm", "agreed")
    synced(shop)
    return await ask(call, term)


async def disputed(call: Caller, shop: Path) -> dict[str, Any]:
    note(settings_of(shop), (TERM, LOGIN), "rejected", detail="person")
    return await ask(call, TERM)


async def deleting(call: Caller, shop: Path) -> dict[str, Any]:
    del shop
    return await ask(call, TERM, "DELETE")


async def defined_twice(call: Caller, shop: Path) -> dict[str, Any]:
    term = "送料計算"
    (shop / "mirror").mkdir()
    shutil.copy(shop / FEE_FILE, shop / "mirror" / "fees.py")
    write(
        settings_of(shop).agreements,
        Agreement(term, FEE, ("e",), learned_at="2026-01-01T00:00:00+00:00", confirmed=True),
    )
    git(shop, "add", "-A")
    git(shop, "commit", "-qm", "agreed")
    synced(shop)
    return await ask(call, term)


CASES: dict[str, list[Try]] = {
    "valid": [changed, renamed],
    "confirmed": [unconfirmed],
    "margin": [ambiguous],
    "symbol_defined": [undefined],
    "risk": [deleting],
    "undisputed": [disputed],
    "intent": [deleting],
    "request": [other_request],
    "one_definition": [defined_twice],
}
ELSEWHERE = {"alias", "elsewhere"}
"""Guards that test_laundering.py (several sessions) and tests/hostile (an upstream) test."""


@pytest.mark.covers(
    "rule.guard.valid",
    "rule.guard.confirmed",
    "rule.guard.margin",
    "rule.guard.symbol_defined",
    "rule.guard.risk",
    "rule.guard.undisputed",
    "rule.guard.request",
    "rule.guard.one_definition",
)
@pytest.mark.parametrize(
    ("guard", "lower"), [(guard, lower) for guard, tries in CASES.items() for lower in tries]
)
async def test_guard_lowers_ready_to_verification_with_a_reason(
    agreed: Path, guard: str, lower: Try
) -> None:
    async with gateway(agreed, embedding="faithful") as call:
        assert (await ask(call, TERM))["next_phase"] == "READY"
        answer = await lower(call, agreed)
        assert answer["next_phase"] == "VERIFICATION"
        assert guard in answer["guards"]
        details = {item["guard"]: item for item in answer["guard_details"]}
        assert details.keys() == set(answer["guards"])
        assert details[guard]["reason"] in answer["message"]
        assert details[guard]["next_step"]
        status = await call("get_session_status")
        assert details[guard] in status["guards"]


def test_every_guard_has_a_test() -> None:
    assert CASES.keys() | ELSEWHERE >= {guard.name for guard in GUARDS}
    assert {guard.name for guard in GUARDS} >= CASES.keys()


async def test_renamed_symbol_is_learned_under_its_new_name(
    agreed: Path,
) -> None:
    async with gateway(agreed, embedding="faithful") as call:
        before = await renamed(call, agreed)
        agreement = before["results"][0]["agreement"]
        assert (agreement["symbol"], agreement["renamed_to"]) == (LOGIN, "AuthService.sign_in")
        assert any("renamed to AuthService.sign_in" in reason for reason in agreement["reasons"])
        assert LOGIN_FILE in before["explored_files"]
        assert await verify(call, "AuthService.sign_in", LOGIN_FILE) == "READY"
        await call(
            "confirm_symbol_relevance",
            relevant_symbols=["AuthService.sign_in"],
            code_evidence="sign_in is it",
        )
        await call("find_references", symbol="AuthService.sign_in")
        outcome = await succeed(call, agreed, LOGIN_FILE)
        assert outcome["cached_pairs"] == [{"nl_term": TERM, "symbol": "AuthService.sign_in"}]
        listed = (await call("list_agreements"))["agreements"]
        assert [(row["symbol"], row["status"]) for row in listed] == [
            ("AuthService.sign_in", "valid")
        ]
        assert (await ask(call, TERM))["next_phase"] == "READY"


async def test_symbol_renamed_during_verification_is_offered_again(
    agreed: Path,
) -> None:
    async with gateway(agreed, embedding="faithful") as call:
        assert (await unconfirmed(call, agreed))["next_phase"] == "VERIFICATION"
        edit(agreed, "def login(", "def sign_in(")
        assert await verify(call, LOGIN, LOGIN_FILE, "rejected") == "EXPLORATION"
        with open_state(agreed / ".code-intel") as state:
            assert "rejected" not in {found.kind for found in state.experiences()}
        again = await call("search_smart")
        assert (again["source"], again["next_phase"]) == ("map", "VERIFICATION")
        await claim(call, "AuthService.sign_in")
        assert await verify(call, "AuthService.sign_in", LOGIN_FILE) == "READY"


async def test_moved_symbol_leads_to_ready_with_its_new_file(agreed: Path) -> None:
    async with gateway(agreed, embedding="faithful") as call:
        (agreed / LOGIN_FILE).rename(agreed / "src" / "auth" / "door.py")
        synced(agreed)
        answer = await ask(call, TERM)
        assert answer["next_phase"] == "READY", answer["guards"]
        assert answer["explored_files"] == ["src/auth/door.py"]
        (reason,) = answer["results"][0]["agreement"]["reasons"]
        assert "has moved to src/auth/door.py" in reason


async def test_unsynced_edit_is_noticed_before_ready(agreed: Path) -> None:
    async with gateway(agreed, embedding="faithful") as call:
        edit(
            agreed,
            "raise AuthenticationError(credentials.email)",
            "raise AuthenticationError(credentials.xmail)",
        )
        answer = await ask(call, TERM)
        assert answer["next_phase"] == "VERIFICATION"
        assert answer["results"][0]["agreement"]["status"] == "changed"


async def test_edit_with_the_same_size_and_time_is_noticed_before_ready(agreed: Path) -> None:
    file = agreed / LOGIN_FILE
    before = file.stat()
    edit(agreed, "if user is None or", "if user is not str")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    async with gateway(agreed, embedding="faithful") as call:
        assert (await ask(call, TERM))["next_phase"] == "VERIFICATION"


async def test_unreadable_file_prevents_ready(agreed: Path) -> None:
    (agreed / LOGIN_FILE).chmod(0)
    with without_root():
        async with gateway(agreed, embedding="faithful") as call:
            answer = await ask(call, TERM)
            assert answer["next_phase"] == "VERIFICATION"
            assert "symbol_defined" in answer["guards"]
            assert answer["explored_files"] == []


async def test_every_map_answer_has_status_and_reasons(agreed: Path) -> None:
    async with gateway(agreed, embedding="faithful") as call:
        edit(agreed, "by e-mail and password", "by e-mail")
        synced(agreed)
        found = await call("search_map", query=TERM)
        smart = await ask(call, TERM)
        (listed,) = (await call("list_agreements"))["agreements"]
        for row in (smart["results"][0]["agreement"], found["results"][0]["agreement"], listed):
            assert row["status"] == "changed"
            assert any("has changed since" in reason for reason in row["reasons"])


def smuggled_file(shop: Path) -> Path:
    """Write an agreement that claims to be confirmed, with a correct digest."""
    config = settings_of(shop)
    with Index(config.forest) as forest:
        (found,) = forest.store.definitions(FEE, exact=True, limit=2)
    files = (FileReference(found.file, found.line),)
    return write(
        config.agreements,
        Agreement(
            TERM,
            FEE,
            ("trust me",),
            files,
            1.0,
            confirmed=True,
            digest=found.digest,
            body=found.body,
        ),
    )


def on_a_branch(shop: Path) -> None:
    git(shop, "switch", "-qc", "feature")
    git(shop, "add", "-A")
    git(shop, "commit", "-qm", "Agreed")


async def test_agreement_on_the_trunk_leads_to_ready(shop: Path) -> None:
    smuggled_file(shop)
    on_a_branch(shop)
    git(shop, "switch", "-q", "main")
    git(shop, "merge", "-q", "feature")
    synced(shop)
    async with gateway(shop, embedding="faithful") as call:
        assert (await ask(call, TERM))["next_phase"] == "READY"


async def test_answer_to_another_query_does_not_change_the_phase(
    agreed: Path,
) -> None:
    async with gateway(agreed, embedding="faithful") as call:
        await start(call, "送料の計算方法")
        term = (await call("list_agreements"))["agreements"][0]["nl_term"]
        answer = await call("search_smart", query=term)
        assert (answer["source"], answer["next_phase"]) == ("map", "EXPLORATION")
        assert answer["explored_files"] == []
