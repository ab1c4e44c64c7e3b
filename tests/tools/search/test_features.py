"""A feature is all agreements of one term, each with a role; READY shows the notes on it."""

import shutil
from pathlib import Path

import pytest

from code_intel.learned.notes.change_notes import add_note
from code_intel.records import Note
from contract.journeys import agree
from projects import code_of
from served import gateway, index_server, settings_of
from shop_sessions import FEE, LOGIN, LOGIN_FILE, ask

pytestmark = [pytest.mark.anyio, pytest.mark.model]

TERM = "ログイン機能"
SLOTS = {
    "target_feature": {"value": TERM, "quote": TERM},
    "trigger_condition": {"value": "見直す時", "quote": "見直す時"},
    "observed_issue": {"value": "動作のバグ", "quote": "動作のバグ"},
}
WARNING = Note("warning", "Do not log passwords", "They end in files.", files=(LOGIN_FILE,))


@pytest.fixture
def shop(embedded_shop: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(embedded_shop, tmp_path / "shop"))


@pytest.mark.covers(
    "field.add_agreement.role",
    "row.agreement.role",
    "row.known_agreement.role",
    "row.agreement_row.role",
)
async def test_the_symbols_of_a_feature_are_shown_with_their_roles(shop: Path) -> None:
    roles = {LOGIN: "entry", FEE: "storage"}
    async with gateway(shop, embedding="faithful") as call:
        for symbol, role in roles.items():
            given = {"nl_term": TERM, "symbol": symbol, "code_evidence": "It is.", "role": role}
            await call("add_agreement", **given)
        refused = await call.refused(
            "add_agreement", nl_term=TERM, symbol=LOGIN, code_evidence="It is.", role="the entry"
        )
        assert (refused["error"], refused["field"]) == ("invalid_argument", "role")
        found = (await call("search_map", query=TERM))["results"]
        assert {hit["agreement"]["symbol"]: hit["agreement"]["role"] for hit in found} == roles
        listed = (await call("list_agreements"))["agreements"]
        assert {row["symbol"]: row["role"] for row in listed} == roles
        result = await call.client.call_tool(
            "start_session",
            {"intent": "MODIFY", "query": f"{TERM} を見直す時に動作のバグ", **SLOTS},
        )
    known = (result.structured_content or {})["map"]
    assert {row["symbol"]: row["role"] for row in known} == roles
    text = "".join(getattr(part, "text", "") for part in result.content)
    (first,) = (line for line in text.splitlines() if line.startswith(f"{TERM} → "))
    (second,) = (line for line in text.splitlines() if line.startswith("   → "))
    assert {("entry" in first, "storage" in second), ("storage" in first, "entry" in second)} == {
        (True, True), (False, False),
    }  # fmt: skip


@pytest.mark.covers(
    "answer.start_session.guidance",
    "answer.search_smart.guidance",
    "answer.submit_verification.guidance",
)
async def test_every_way_to_ready_shows_the_notes_on_the_files(shop: Path) -> None:
    agree(shop, TERM, LOGIN)
    add_note(settings_of(shop), WARNING)
    async with gateway(shop, embedding="faithful") as call:
        begun = await call(
            "start_session", intent="MODIFY", query=f"{TERM} を見直す時に動作のバグ", **SLOTS
        )
        assert begun["current_phase"] == "READY"
        assert [row["title"] for row in begun["guidance"]] == [WARNING.title]
        found = await ask(call, TERM)
        assert found["next_phase"] == "READY"
        assert [row["title"] for row in found["guidance"]] == [WARNING.title]
        source = shop / LOGIN_FILE
        text = source.read_text("utf-8")
        source.write_text(text.replace("by e-mail and password", "by e-mail"), encoding="utf-8")
        assert (await ask(call, TERM))["next_phase"] == "VERIFICATION"
        hypotheses = (await call("get_session_status"))["semantic"]["hypotheses"]
        code = code_of(await call("snippets_get", symbol=LOGIN))
        evidence = {"tool": "snippets_get", "target": LOGIN, "result": "seen", "quote": code}
        answers = [
            {"hypothesis": text, "status": "confirmed", "evidence": {**evidence, "files": []}}
            for text in hypotheses
        ]
        done = await call("submit_verification", verified=answers)
        assert done["next_phase"] == "READY"
        assert [row["title"] for row in done["guidance"]] == [WARNING.title]


@pytest.mark.covers("row.hit.note")
async def test_the_map_server_finds_notes(shop: Path) -> None:
    add_note(settings_of(shop), WARNING)
    async with index_server(shop, "map") as call:
        await call("sync")
        (hit,) = (await call("search", query="log passwords"))["results"]
    assert (hit["note"]["title"], hit["note"]["kind"]) == (WARNING.title, "warning")
