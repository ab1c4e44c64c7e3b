"""Facts concern the current code and the file that the session changed."""

from pathlib import Path

import pytest

from served import AGREEMENTS, gateway
from shop_sessions import explore, start

pytestmark = pytest.mark.anyio


async def test_changed_definition_is_learned(shop: Path) -> None:
    for name, text in (("a", "archives"), ("b", "invoices")):
        (shop / name).mkdir()
        code = f'def run():\n    """Handle {text}."""\n    return "{text}"\n'
        (shop / name / "job.py").write_text(code, encoding="utf-8")
    (shop / "main.py").write_text("from b.job import run\n\nrun()\n", encoding="utf-8")
    async with gateway(shop) as call:
        await call("find_definitions", symbol="run")
        handle = await start(call, "invoice run")
        await explore(call, "run", "b/job.py")
        file = shop / "b" / "job.py"
        file.write_text(
            file.read_text("utf-8").replace("return", "return 'x' or"), encoding="utf-8"
        )
        outcome = await call("record_outcome", session_id=handle, outcome="success")
        assert outcome["agreement_file"], outcome["note"]
        written = (shop / AGREEMENTS / outcome["agreement_file"]).read_text(encoding="utf-8")
        assert "`b/job.py" in written
        assert "a/job.py" not in written
        assert (await call("list_agreements"))["agreements"][0]["status"] == "valid"
        file.write_text('def run():\n    return "something else"\n', encoding="utf-8")
        await call("find_definitions", symbol="run")
        assert (await call("list_agreements"))["agreements"][0]["status"] == "changed"


async def test_new_definition_is_found_at_once(shop: Path) -> None:
    async with gateway(shop) as call:
        assert (await call("find_definitions", symbol="brand_new_symbol"))["total"] == 0
        file = shop / "src" / "cart" / "cart.py"
        code = file.read_text(encoding="utf-8") + "\n\ndef brand_new_symbol():\n    return 1\n"
        file.write_text(code, encoding="utf-8")
        found = await call("find_definitions", symbol="brand_new_symbol")
        assert [row["file"] for row in found["definitions"]] == ["src/cart/cart.py"]


async def test_project_with_code_does_not_count_as_empty(shop: Path) -> None:
    (shop / "NOTES.md").write_text("Some notes about refunds.\n", encoding="utf-8")
    async with gateway(shop) as call:
        await call("start_session", intent="IMPLEMENT", query="add refunds")
        await call("search_text", pattern="notes", path="NOTES.md")
        await call("submit_understanding", symbols_identified=[])
        await call(
            "submit_semantic", hypotheses=["nothing here"], devrag_reason="architecture_unknown"
        )
        await call("search_text", pattern="zzzqqqxx")
        evidence = {
            "tool": "search_text",
            "target": "zzzqqqxx",
            "result": "nothing",
            "files": ["src/payments/refund.py"],
        }
        item = {"hypothesis": "nothing here", "status": "confirmed", "evidence": evidence}
        refused = await call.refused("submit_verification", verified=[item])
        assert "search_text found nothing for 'zzzqqqxx'" in refused["message"]


async def test_empty_project_needs_no_analyzed_file(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "README.md").write_text("# New\n", encoding="utf-8")
    async with gateway(tmp_path / "new") as call:
        await call("start_session", intent="IMPLEMENT", query="add a login form")
        await call("search_text", pattern="login")
        answer = await call("submit_understanding", symbols_identified=[])
        assert answer["next_phase"] == "SEMANTIC"
