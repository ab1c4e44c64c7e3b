"""submit_understanding by evidence: what was printed, quotes, plausible places, new symbols."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from code_intel.config import load_settings
from contract.journeys import unsearched
from projects import Caller
from served import gateway, settings_of

pytestmark = pytest.mark.anyio

QUERY = "login accepts an empty password when the form is sent"
LOGIN, SERVICE = "AuthService.login", "src/auth/service.py"
QUOTE = "if user is None or not verify_password(credentials.password, user.password_hash):"
CLAIM = {"symbol": LOGIN, "explanation": "compares the password of a login", "quote": QUOTE}
THEME = {
    "symbol": "toggleTheme",
    "explanation": "accepts an empty password at the login when the form is sent",
    "quote": "export function toggleTheme",
}


async def begun(call: Caller, intent: str = "MODIFY", **slots: str) -> str:
    session = await call("start_session", intent=intent, query=QUERY)
    return await framed(call, str(session["session_id"]), **slots)


async def unread(call: Caller, shop: Path, intent: str = "MODIFY") -> str:
    """Begin a session that has printed nothing."""
    return await framed(call, await unsearched(call, shop, intent, QUERY))


async def framed(call: Caller, handle: str, **slots: str) -> str:
    named = slots or {"target_feature": "login", "observed_issue": "accepts an empty password"}
    frame = {name: {"value": text, "quote": text} for name, text in named.items()}
    await call("set_query_frame", session_id=handle, **frame)
    return handle


async def read(call: Caller, handle: str, symbol: str = LOGIN) -> None:
    await call("snippets_get", session_id=handle, symbol=symbol)
    await call("find_references", session_id=handle, symbol=symbol)


async def submit(call: Caller, handle: str, *claims: Any, **other: Any) -> dict[str, Any]:
    result = await call.client.call_tool(
        "submit_understanding", {"session_id": handle, "symbols_identified": list(claims)} | other
    )
    await call.check_names("submit_understanding", result)
    return dict(result.structured_content or {})


@pytest.mark.covers(
    "tool.submit_understanding",
    "field.submit_understanding.symbols_identified.*",
    "answer.submit_understanding: risk_reason confirmed_symbols",
    "answer.set_query_frame: risk_reason risk_provisional",
    "answer.get_session_status: risk_reason risk_provisional",
    "answer.confirm_symbol_relevance: risk_reason risk_provisional",
)
async def test_read_and_quoted_symbol_leads_to_ready(shop: Path) -> None:
    async with gateway(shop) as call:
        handle = await begun(call)
        await read(call, handle)
        answer = await call("submit_understanding", session_id=handle, symbols_identified=[CLAIM])
        assert answer["next_phase"] == "READY"
        assert answer["confirmed_symbols"] == [LOGIN]
        assert answer["explored_files"] == [SERVICE]
        assert answer["risk_reason"] not in answer["message"]
        status = await call("get_session_status", session_id=handle)
        assert status["risk_reason"] == answer["risk_reason"]
        assert "risk_provisional" not in status


@pytest.mark.covers("answer.submit_understanding.uses", "rule.evidence_need.uses")
async def test_answer_lists_who_uses_a_symbol_if_no_other_answer_has(shop: Path) -> None:
    code = "def form(service, given):\n    return service.login(given)\n"
    for name in ("orders", "returns"):
        (shop / "src/auth" / f"{name}.py").write_text(code, encoding="utf-8")
    async with gateway(shop) as call:
        for name in ("orders", "returns"):  # indexes the files
            await call("snippets_get", path=f"src/auth/{name}.py")
        handle = await unread(call, shop)
        await call("snippets_get", session_id=handle, symbol=LOGIN)
        answer = await submit(call, handle, CLAIM)
        assert answer["next_phase"] == "READY"
        listed = [row for row in answer["uses"] if row.startswith("src/auth/")]
        assert listed == [
            f"src/auth/{name}.py:2 form: return service.login(given)"
            for name in ("orders", "returns")
        ]
        handle = await unread(call, shop)
        await read(call, handle)
        assert "uses" not in await submit(call, handle, CLAIM)


@pytest.mark.covers("rule.evidence_need.never_printed")
async def test_bare_name_is_answered_with_what_to_read_and_then_with_the_missing_quote(
    shop: Path,
) -> None:
    async with gateway(shop) as call:
        handle = await unread(call, shop)
        refused = await submit(call, handle, LOGIN)
        assert refused["message"] == f"{LOGIN} was never printed in this session."
        assert f'snippets_get(path="{SERVICE}"' in refused["hint"]
        await read(call, handle)
        refused = await submit(call, handle, LOGIN)
        assert refused["message"] == f"{LOGIN} has no quote."
        assert '"quote": "…"' in refused["hint"]
        assert (await submit(call, handle, CLAIM))["next_phase"] == "READY"


@pytest.mark.covers("rule.prints.changed")
async def test_symbol_that_changed_must_be_read_again(shop: Path) -> None:
    async with gateway(shop) as call:
        handle = await begun(call)
        await read(call, handle)
        file = shop / SERVICE
        text = file.read_text("utf-8")
        file.write_text(f"# moved\n{text}", encoding="utf-8")
        await submit(call, handle, "toggleTheme")  # the index reads the file again
        changed = text.replace("if user is None or not", "if user is None or  not ")
        file.write_text(changed.replace("user.id)", "user.id)  # x"), encoding="utf-8")
        refused = await submit(call, handle, CLAIM)
        assert refused["message"] == f"{LOGIN} has changed since it was printed."
        await read(call, handle)
        assert (await submit(call, handle, CLAIM))["next_phase"] == "READY"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"quote": "return self.tokens.revoke(user.id)"}, "does not stand in its printed code"),
        ({"quote": "self.tokens.revoke(token)"}, "does not stand in its printed code"),
        ({"quote": "if"}, "does not stand in its printed code"),
        ({"explanation": ""}, "has no explanation"),
        ({"explanation": "login has nothing to do with passwords"}, "denies the link"),
        ({"symbol": "LoginController"}, "is not defined in the index"),
    ],
)
async def test_false_claim_is_refused(shop: Path, change: dict[str, str], message: str) -> None:
    async with gateway(shop) as call:
        handle = await begun(call)
        await read(call, handle)
        assert message in (await submit(call, handle, CLAIM | change))["message"]


async def test_quote_may_have_line_numbers_and_several_lines(shop: Path) -> None:
    async with gateway(shop) as call:
        handle = await begun(call)
        await read(call, handle)
        quote = (
            "32: if user is None or not verify_password(credentials.password, user.password_hash):"
            "\n33:     raise AuthenticationError(credentials.email)"
        )
        assert (await submit(call, handle, CLAIM | {"quote": quote}))["next_phase"] == "READY"


@pytest.mark.covers(
    "rule.evidence_need.padding",
    "answer.submit_understanding.left_out",
    "error.requirements_missing.first_hits",
)
async def test_unrelated_symbol_is_refused_and_padding_neither_counts_nor_opens(
    shop: Path,
) -> None:
    async with gateway(shop) as call:
        handle = await begun(call)
        await read(call, handle, "toggleTheme")
        refused = await submit(call, handle, THEME)
        assert "not a plausible place" in refused["message"]
        assert "code that the search ranks first" in refused["hint"]
        assert refused["first_hits"][0].startswith("src/auth/")
        await read(call, handle)
        answer = await submit(call, handle, THEME, CLAIM)
        assert answer["confirmed_symbols"] == [LOGIN]
        assert "toggleTheme" in answer["left_out"][0]
        assert answer["explored_files"] == [SERVICE]


async def test_prints_of_another_session_do_not_count(shop: Path) -> None:
    async with gateway(shop) as call:
        await read(call, await begun(call))
        refused = await submit(call, await unread(call, shop), CLAIM)
        assert "never printed" in refused["message"]


@pytest.mark.covers("rule.evidence_need.ambiguous")
async def test_name_with_several_definitions_needs_its_file(shop: Path) -> None:
    for folder in ("a", "b"):
        (shop / folder).mkdir()
        code = f"def check_login(password):\n    return password == '{folder}'\n"
        (shop / folder / "check.py").write_text(code, encoding="utf-8")
    async with gateway(shop) as call:
        for folder in ("a", "b"):
            await call("find_definitions", symbol="check_login", path=folder)
        handle = await begun(call, "INVESTIGATE")
        claim = {
            "symbol": "check_login",
            "explanation": "compares the password of a login",
            "quote": "return password == 'b'",
        }
        refused = await submit(call, handle, claim)
        assert "is defined in a/check.py:1, b/check.py:1" in refused["message"]
        for folder in ("a", "b"):
            await call("snippets_get", session_id=handle, path=f"{folder}/check.py")
        assert "is defined in" in (await submit(call, handle, claim))["message"]
        answer = await submit(call, handle, claim | {"file": "b/check.py"})
        assert answer["explored_files"] == ["b/check.py"]


async def test_new_code_joins_the_definition_in_its_own_file(shop: Path) -> None:
    for folder in ("auth", "cart"):
        (shop / "src" / folder / "twin.py").write_text("def twin():\n    return 1\n", "utf-8")
    async with gateway(shop) as call:
        handle = await begun(call)
        await read(call, handle)
        await call("find_definitions", session_id=handle, symbol="twin")
        await call("snippets_get", session_id=handle, path="src/auth/twin.py")
        new = {"name": "other", "file": "src/auth/twin.py", "beside": "twin"}
        answer = await submit(call, handle, CLAIM, new_symbols=[new])
    assert answer["next_phase"] == "READY"


async def test_any_printed_lines_of_a_document_stand_for_it_beside_a_new_file(shop: Path) -> None:
    text = "".join(f"Line {number} of the guide.\n" for number in range(1, 121))
    (shop / "GUIDE.md").write_text(text, encoding="utf-8")
    async with gateway(shop) as call:
        handle = await begun(call)
        await read(call, handle)
        await call("snippets_get", session_id=handle, path="GUIDE.md", start_line=90, end_line=99)
        new = {"name": "RELEASE", "file": "RELEASE.md", "beside": "GUIDE.md"}
        answer = await submit(call, handle, CLAIM, new_symbols=[new])
    assert answer["next_phase"] == "READY"


async def test_quote_says_which_of_several_overloads_is_meant(shop: Path) -> None:
    body = "\n".join(f"    print({n})" for n in range(9))
    code = (
        f"def check_login(form):\n{body}\n\n\n"
        "def check_login(form):\n    return form.password == ''  # an empty password\n"
    )
    (shop / "check.py").write_text(code, encoding="utf-8")
    async with gateway(shop) as call:
        await call("find_definitions", symbol="check_login", path="check.py")  # indexes the file
        handle = await begun(call)
        await call("snippets_get", session_id=handle, path="check.py")
        claim = {
            "symbol": "check_login",
            "explanation": "compares the password of a login",
            "quote": "return form.password == ''  # an empty password",
        }
        answer = await submit(call, handle, claim)
        assert answer.get("next_phase") == "READY", answer["message"]


@pytest.mark.parametrize(("start", "is_public"), [("static int", False), ("int", True)])
async def test_static_function_of_c_is_not_public(
    shop: Path, start: str, *, is_public: bool
) -> None:
    quote = "return password[0] == 0; /* an empty password */"
    code = f"{start} check_login(const char *password) {{\n  {quote}\n}}\n"
    (shop / "check.c").write_text(code, encoding="utf-8")
    async with gateway(shop, demands="evidence") as call:
        await call("find_definitions", symbol="check_login", path="check.c")  # indexes the file
        handle = await begun(call)
        await call("snippets_get", session_id=handle, path="check.c")
        explanation = "compares the password of a login"
        claim = {"symbol": "check_login", "explanation": explanation, "quote": quote}
        answer = await submit(call, handle, claim)
    assert ("is public" in answer["risk_reason"]) == is_public


@pytest.mark.covers(
    "rule.evidence_need.new_symbols",
    "field.submit_understanding.new_symbols",
    "field.submit_understanding.new_symbols.*",
    "answer.submit_understanding.planned_files",
)
async def test_new_symbol_opens_its_neighbour_and_its_new_file(shop: Path) -> None:
    new = {"name": "lock_account", "file": "src/auth/locking.py", "beside": LOGIN}
    async with gateway(shop) as call:
        handle = await unread(call, shop, "IMPLEMENT")
        refused = await submit(call, handle, new_symbols=[new])
        assert "never printed" in refused["message"]
        await read(call, handle)
        answer = await submit(call, handle, new_symbols=[new])
        assert answer["explored_files"] == [SERVICE]
        assert answer["planned_files"] == ["src/auth/locking.py"]
        allowed = await call(
            "check_write_target", session_id=handle, file_path="src/auth/locking.py"
        )
        assert allowed["allowed"]


async def test_new_symbol_beside_a_document_or_unrelated_code_is_refused(shop: Path) -> None:
    async with gateway(shop) as call:
        handle = await begun(call, "IMPLEMENT")
        for beside in ("README.md", "web/src/theme.js", "toggleTheme"):
            await call("search_text", session_id=handle, pattern=".", path="README.md")
            await call("snippets_get", session_id=handle, path="web/src/theme.js")
            folder = "web/src/" if beside != "README.md" else ""
            new = {"name": "lock_account", "file": f"{folder}locking.js", "beside": beside}
            refused = await submit(call, handle, new_symbols=[new])
            assert refused["error"] == "requirements_missing", beside


@pytest.mark.covers(
    "rule.evidence_need.quote_verifies",
    "answer.submit_semantic.next_call",
    "answer.get_session_status.next_call",
    "row.next_call.*",
    "field.submit_verification.verified.evidence.quote",
)
async def test_quote_confirms_a_hypothesis_about_plausible_code_only(shop: Path) -> None:
    texts = [f"{LOGIN} accepts an empty password", "toggleTheme accepts an empty password"]
    async with gateway(shop) as call:
        handle = await begun(call)
        await submit(call, handle)
        supposed = await call(
            "submit_semantic",
            session_id=handle,
            hypotheses=texts,
            devrag_reason="architecture_unknown",
        )
        status = await call("get_session_status", session_id=handle)
        assert status["next_call"] == supposed["next_call"]
        assert supposed["next_call"]["tool"] == "submit_verification"
        answers = supposed["next_call"]["arguments"]["verified"]
        assert [item["hypothesis"] for item in answers] == texts
        quotes = [QUOTE, "export function toggleTheme"]
        for item, quote in zip(answers, quotes, strict=True):
            item["evidence"]["quote"] = quote
        unread = await call.refused("submit_verification", session_id=handle, verified=answers)
        assert "stands in no code" in unread["message"]
        for symbol in (LOGIN, "toggleTheme"):
            await call("snippets_get", session_id=handle, symbol=symbol)
        refused = await call.refused("submit_verification", session_id=handle, verified=answers)
        (problem,) = refused["missing_requirements"]
        assert "toggleTheme is not linked to the request" in problem
        answers[1] |= {"status": "rejected", "evidence": looked_up("toggleTheme")}
        await call("find_definitions", session_id=handle, symbol="toggleTheme")
        answer = await call("submit_verification", session_id=handle, verified=answers)
        assert answer["next_phase"] == "READY"
        assert answer["explored_files"] == [SERVICE]


def looked_up(symbol: str) -> dict[str, str]:
    return {"tool": "find_definitions", "target": symbol, "result": "it switches the colours"}


async def test_call_alone_confirms_no_own_hypothesis_of_a_writing_session(shop: Path) -> None:
    text = f"{LOGIN} accepts an empty password"
    async with gateway(shop) as call:
        handle = await begun(call)
        await submit(call, handle)
        await call(
            "submit_semantic",
            session_id=handle,
            hypotheses=[text],
            devrag_reason="architecture_unknown",
        )
        await call("find_definitions", session_id=handle, symbol=LOGIN)
        answer = {"hypothesis": text, "status": "confirmed", "evidence": looked_up(LOGIN)}
        refused = await call.refused("submit_verification", session_id=handle, verified=[answer])
        assert "quotes no code" in refused["message"]


@pytest.mark.covers("rule.evidence_need.setting")
async def test_session_keeps_the_rules_with_which_it_began(shop: Path) -> None:
    async with gateway(shop) as call:
        handle = await begun(call)
    async with gateway(shop, demands="counts") as call:
        refused = await submit(call, handle, LOGIN)
        assert refused["message"] == f"{LOGIN} has no quote."
    (shop / ".code-intel" / "config.toml").write_text('[gate]\ndemands = "evidence"\n', "utf-8")
    assert load_settings(shop, {}).demands == "evidence"
    assert settings_of(shop, demands="counts").demands == "counts"


@pytest.mark.covers("answer.search_smart.next_call")
@pytest.mark.model
async def test_hypothesis_of_the_map_stands_in_the_answer_with_its_call(
    embedded_shop: Path, tmp_path: Path
) -> None:
    shop = Path(shutil.copytree(embedded_shop, tmp_path / "shop", symlinks=True))
    served = gateway(shop, embedding="faithful", groups=("agreements",))
    async with served as call:
        await call(
            "add_agreement", nl_term="login", symbol=LOGIN, code_evidence=f"{SERVICE}:29 logs in"
        )
        handle = await begun(call)
        found = await call("search_smart", session_id=handle)
        assert found["next_phase"] == "VERIFICATION", found["message"]
        (answer,) = found["next_call"]["arguments"]["verified"]
        assert [answer["hypothesis"]] == found["hypotheses_to_verify"]
        await call("snippets_get", session_id=handle, symbol="toggleTheme")
        answer["evidence"]["quote"] = "export function toggleTheme"
        refused = await call.refused("submit_verification", session_id=handle, verified=[answer])
        assert f"quote the code of {LOGIN} itself" in refused["message"]
        await call("snippets_get", session_id=handle, symbol=LOGIN)
        answer["evidence"]["quote"] = QUOTE
        ready = await call("submit_verification", session_id=handle, verified=[answer])
        assert ready["next_phase"] == "READY"
