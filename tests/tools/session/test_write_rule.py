"""A file opens if it has to do with a confirmed symbol and its lines were printed (0059)."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from code_intel.learned.history import decisions
from code_intel.session.risk import MANY_FILES
from projects import Caller, code_of
from served import gateway

pytestmark = pytest.mark.anyio

QUERY = "login accepts an empty password when the form is sent"
SLOTS = {
    "target_feature": "login",
    "observed_issue": "accepts an empty password",
    "trigger_condition": "when the form is sent",
}
LOGIN, SERVICE = "AuthService.login", "src/auth/service.py"
QUOTE = "if user is None or not verify_password(credentials.password, user.password_hash):"
CALLER, TEST, MODULE_TEST = "src/web/handler.py", "tests/test_signin.py", "tests/test_service.py"
LOG, PAGE, LICENCE = "CHANGES.md", "docs/signin.md", "LICENSE.md"
IMPORTER, UNRELATED, FORM = "src/web/app.py", "src/cart/cart.py", "docs/form.md"
FILES = {
    CALLER: "from auth.service import AuthService\n\n\n"
    "def sign_in(service: AuthService, form: dict) -> str:\n    return service.login(form)\n",
    TEST: "from auth.service import AuthService\n\n\n"
    "def test_sign_in(service: AuthService) -> None:\n    assert service.login({})\n",
    MODULE_TEST: "import pytest\n\n\ndef test_customer_is_let_in(client) -> None:\n"
    "    assert client.post('/sign-in').ok\n",
    LOG: "# Changes\n\n- `AuthService.login` opens a session.\n",
    PAGE: "# Sign-in\n\nThe server calls `login()` with the form.\n",
    LICENCE: "Copyright 2026 AuthService.login() and others\n",
    IMPORTER: "from auth.service import AuthService, login\n\nAPP = object()\n",
    FORM: "# The sign-in form\n\nThe login form refuses an empty password before it is sent.\n",
}


@pytest.fixture
async def call(shop: Path) -> AsyncIterator[Caller]:
    async with gateway(shop) as caller:
        yield caller


def add_files(shop: Path) -> None:
    """Add files that no answer of a session has printed yet."""
    for file, text in FILES.items():
        (shop / file).parent.mkdir(parents=True, exist_ok=True)
        (shop / file).write_text(text, "utf-8")


async def start(call: Caller, action: str = "") -> str:
    slots = SLOTS | ({"desired_action": action} if action else {})
    frame = {name: {"value": text, "quote": text} for name, text in slots.items()}
    query = f"{QUERY}; {action}" if action else QUERY
    answer = await call("start_session", intent="MODIFY", query=query, **frame)
    return str(answer["session_id"])


async def ready(call: Caller, action: str = "") -> str:
    """Read the login and its uses, quote it, and be READY."""
    handle = await start(call, action)
    await call("snippets_get", symbol=LOGIN)
    await call("find_references", symbol=LOGIN, path="src")
    claim = {"symbol": LOGIN, "explanation": "it checks the password", "quote": QUOTE}
    await call("submit_understanding", symbols_identified=[claim])
    return handle


async def check(call: Caller, file: str, **given: Any) -> tuple[bool, str]:
    answer = await call("check_write_target", file_path=file, **given)
    return answer["allowed"], answer["error"] or ""


async def refused(call: Caller, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await call.client.call_tool(tool, arguments)
    assert result.is_error, result.structured_content
    return dict(result.structured_content or {})


@pytest.mark.covers("rule.write.related", "error: file_not_related file_not_explored")
async def test_file_opens_once_its_lines_are_printed(call: Caller, shop: Path) -> None:
    await ready(call)
    add_files(shop)
    assert await check(call, SERVICE) == (True, "")
    for file in (TEST, MODULE_TEST, LOG, PAGE):
        denied = await call("check_write_target", file_path=file)
        assert (denied["allowed"], denied["error"]) == (False, "file_not_explored"), file
        assert f'snippets_get(path="{file}"' in denied["hint"]
        await call("snippets_get", path=file)
        assert await check(call, file) == (True, ""), file


@pytest.mark.covers("rule.write.related")
async def test_listed_use_opens_the_callers_file(call: Caller, shop: Path) -> None:
    await ready(call)
    add_files(shop)
    await call("find_references", symbol=LOGIN)
    assert await check(call, CALLER) == (True, "")


@pytest.mark.covers("rule.write.related")
async def test_new_file_goes_beside_an_open_one(call: Caller, shop: Path) -> None:
    await ready(call)
    add_files(shop)
    assert await check(call, "src/auth/lockout.py") == (True, "")
    assert await check(call, "src/cart/lockout.py") == (False, "folder_not_explored")


@pytest.mark.covers("rule.write.related")
async def test_test_that_reaches_the_code_by_a_facade_opens(call: Caller, shop: Path) -> None:
    await ready(call)
    add_files(shop)
    facade, foreign = "tests/test_shop.py", "tests/test_cart_page.py"
    (shop / facade).write_text("def test_page(shop):\n    assert shop.service.page() == 'ok'\n")
    (shop / foreign).write_text("def test_page(shop):\n    assert shop.cart.page() == 'ok'\n")
    await call("snippets_get", places=[facade, foreign])
    assert await check(call, facade) == (True, "")
    assert await check(call, foreign) == (False, "file_not_related")


@pytest.mark.covers("rule.write.related")
async def test_new_test_is_named_after_the_module(call: Caller, shop: Path) -> None:
    await ready(call)
    (shop / "tests").mkdir(exist_ok=True)
    for file in ("tests/test_form.py", "tests/deep/test_service.py"):
        assert await check(call, file) == (False, "folder_not_explored"), file
    assert await check(call, "tests/test_service.py") == (True, "")


@pytest.mark.covers("rule.write.related")
async def test_printed_file_without_relation_stays_closed(call: Caller, shop: Path) -> None:
    await ready(call)
    add_files(shop)
    for file in (UNRELATED, LICENCE, IMPORTER, FORM):
        await call("snippets_get", path=file)
        assert await check(call, file) == (False, "file_not_related"), file
    assert await check(call, "src/cart/new.py") == (False, "folder_not_explored")


@pytest.mark.covers("rule.write.related")
async def test_document_that_names_the_module_as_code_opens(call: Caller, shop: Path) -> None:
    (shop / "docs" / "guide.md").write_text("Import `auth.service` first.\n", encoding="utf-8")
    (shop / "docs" / "prose.md").write_text("We offer good service.\n", encoding="utf-8")
    await ready(call)
    await call("search_text", pattern="service", path="docs")
    assert await check(call, "docs/guide.md") == (True, "")
    assert await check(call, "docs/prose.md") == (False, "file_not_related")


@pytest.mark.covers("rule.write.change_log")
async def test_change_log_opens_once_a_line_is_printed(call: Caller, shop: Path) -> None:
    (shop / "NEWS.rst").write_text("News\n====\n\nNothing so far.\n", encoding="utf-8")
    (shop / "src" / "history.py").write_text("EVENTS = []\n", encoding="utf-8")
    await ready(call)
    add_files(shop)
    assert await check(call, "NEWS.rst") == (False, "file_not_explored")
    await call("search_text", pattern="^News")
    assert await check(call, "NEWS.rst") == (True, "")
    assert await check(call, "conftest.py") == (False, "folder_not_explored")
    await call("snippets_get", path="src/history.py")
    assert await check(call, "src/history.py") == (False, "file_not_related")


@pytest.mark.covers("rule.write.related")
async def test_boilerplate_opens_nothing(call: Caller, shop: Path) -> None:
    await ready(call)
    add_files(shop)
    await call("search_text", pattern="import|^$|Copyright")
    for file in (UNRELATED, LICENCE, IMPORTER, TEST, MODULE_TEST, LOG):
        assert not (await check(call, file))[0], file


@pytest.mark.covers("rule.write.related")
async def test_file_in_a_list_of_hits_stays_closed(call: Caller, shop: Path) -> None:
    await ready(call)
    add_files(shop)
    await call("search_files", pattern="test")
    await call("files_search", query="sign in handler form")
    for file in (TEST, MODULE_TEST, UNRELATED):
        assert not (await check(call, file))[0], file


@pytest.mark.covers("rule.write.related")
async def test_lines_that_have_changed_must_be_read_again(call: Caller, shop: Path) -> None:
    await ready(call)
    add_files(shop)
    await call("snippets_get", path=TEST)
    path = shop / TEST
    path.write_text(path.read_text("utf-8").replace("login({})", "login({}) is None"), "utf-8")
    denied = await call("check_write_target", file_path=TEST)
    assert denied["error"] == "file_not_explored"
    assert "have changed since they were printed" in denied["hint"]
    await call("snippets_get", path=TEST)
    assert await check(call, TEST) == (True, "")


@pytest.mark.covers("rule.write.related")
async def test_prints_of_another_session_open_nothing(call: Caller, shop: Path) -> None:
    first, second = await ready(call), await ready(call)
    add_files(shop)
    await call("snippets_get", path=TEST, session_id=first)
    assert await check(call, TEST, session_id=second) == (False, "file_not_explored")
    assert await check(call, TEST, session_id=first) == (True, "")


@pytest.mark.covers("rule.write.stays_open")
async def test_allowed_file_stays_open_after_its_edit_until_exploration(
    call: Caller, shop: Path
) -> None:
    await ready(call)
    add_files(shop)
    await call("snippets_get", path=TEST)
    files = [SERVICE, TEST, "src/auth/lockout.py"]
    assert (await call("check_write_target", file_path=files))["allowed"]
    for file in files:
        (shop / file).write_text("def sign_in():\n    return None\n", "utf-8")
        assert await check(call, file) == (True, ""), file
    await call("revert_to_exploration")
    assert await check(call, TEST) == (False, "not_ready")


@pytest.mark.covers("rule.write.stays_open")
async def test_file_that_was_never_allowed_closes_with_its_lines(call: Caller, shop: Path) -> None:
    await ready(call)
    add_files(shop)
    (shop / SERVICE).write_text("class AuthService:\n    def login(self): return 1\n", "utf-8")
    assert await check(call, SERVICE) == (False, "file_not_explored")


@pytest.mark.covers(
    "answer.submit_understanding.explored_files", "answer.submit_understanding.next_call"
)
async def test_understanding_names_open_files_and_reads_related_ones(
    call: Caller, shop: Path
) -> None:
    add_files(shop)
    name = "test_customer_is_let_in"
    await call("find_definitions", symbol=name, path=MODULE_TEST)  # indexes the file
    await start(call)
    await call("snippets_get", symbol=LOGIN)
    await call("find_references", symbol=LOGIN, path="src")
    claim = {"symbol": LOGIN, "explanation": "it checks the password", "quote": QUOTE}
    answer = await call("submit_understanding", symbols_identified=[claim])
    assert answer["explored_files"][0] == SERVICE
    assert CALLER in answer["explored_files"]
    assert not {TEST, LOG, PAGE, FORM, LICENCE} & set(answer["explored_files"])
    next_call = answer["next_call"]
    assert next_call["tool"] == "snippets_get"
    assert {TEST, MODULE_TEST, PAGE, LOG} <= set(next_call["arguments"]["places"])
    await call("snippets_get", **next_call["arguments"])
    files = [SERVICE, CALLER, TEST, MODULE_TEST, PAGE, LOG]
    assert (await call("check_write_target", file_path=files))["allowed"]


@pytest.mark.covers("answer.check_write_target.hint", "row.write_target.hint")
async def test_several_refused_files_share_their_next_steps(call: Caller, shop: Path) -> None:
    await ready(call)
    add_files(shop)
    files = [SERVICE, TEST, PAGE, UNRELATED, FORM, ".git/config", ".git/index"]
    answer = await call("check_write_target", file_path=files)
    hints = [row["hint"] for row in answer["targets"]]
    assert "tests AuthService.login, but its lines 5-5 were not printed" in hints[1]
    assert hints[0] == hints[3] == hints[4] == hints[5] == ""
    hint = answer["hint"]
    assert hint.count("snippets_get(places=") == 1
    assert f'"{TEST}:5-5", "{PAGE}:3-3"' in hint
    assert f"{UNRELATED}, {FORM} do not define" in hint
    assert hint.count("submit_understanding(") == hint.count("This file belongs to git") == 1


@pytest.mark.covers(
    "rule.write.by_quote",
    "field.add_explored_files.files.file",
    "field.add_explored_files.files.explanation",
    "field.add_explored_files.files.quote",
)
@pytest.mark.parametrize("tool", ["add_explored_files", "submit_understanding"])
async def test_quote_opens_a_plausible_file(call: Caller, shop: Path, tool: str) -> None:
    await ready(call)
    add_files(shop)
    await call("snippets_get", path=FORM)
    assert await check(call, FORM) == (False, "file_not_related")
    quote = "The login form refuses an empty password before it is sent."
    await call(tool, **by_quote(tool, FORM, "the page describes the empty password", quote))
    assert await check(call, FORM) == (True, "")


@pytest.mark.covers("rule.evidence_need.other_names")
@pytest.mark.parametrize(
    ("table", "error"),
    [
        ('COMMANDS = {"login-form": check_login_form}', ""),
        ('COMMANDS = {"sign-in": check_login_form}', "file_not_related"),
        ('COMMANDS = {"login-form": object()}', "file_not_related"),
    ],
)
async def test_tests_and_documents_open_by_the_name_under_which_code_registers_the_symbol(
    call: Caller, shop: Path, table: str, error: str
) -> None:
    name, quote = "check_login_form", "Refuse a login with an empty password when it is sent."
    code = f'def {name}(form):\n    """{quote}"""\n    return form.password\n\n\n{table}\n'
    texts = {
        "src/auth/forms.py": code,
        "tests/cases.test": "run login-form a b\nrun sign-in\n",
        "docs/commands.md": "# Commands\n\nCall login-form or sign-in.\n",
    }
    for file, text in texts.items():
        (shop / file).parent.mkdir(exist_ok=True)
        (shop / file).write_text(text, "utf-8")
    await start(call)
    for file in texts:
        await call("snippets_get", path=file)
    claim = {"symbol": name, "explanation": "it checks the password", "quote": quote}
    await call("submit_understanding", symbols_identified=[claim])
    for file in ("tests/cases.test", "docs/commands.md"):
        assert await check(call, file) == (not error, error), file


@pytest.mark.covers("rule.write.by_quote")
async def test_any_quote_opens_a_document_that_names_the_symbol(call: Caller, shop: Path) -> None:
    await ready(call)
    add_files(shop)
    await call("snippets_get", path=PAGE, start_line=1, end_line=1)
    assert await check(call, PAGE) == (False, "file_not_explored")
    quoted = by_quote("submit_understanding", PAGE, "the page describes the form", "# Sign-in")
    await call("submit_understanding", **quoted)
    assert await check(call, PAGE) == (True, "")


def by_quote(tool: str, file: str, explanation: str, quote: str) -> dict[str, Any]:
    claim = {"explanation": explanation, "quote": quote}
    if tool == "add_explored_files":
        return {"files": [{"file": file, **claim}]}
    return {"symbols_identified": [{"symbol": file, **claim}]}


@pytest.mark.covers("rule.write.by_quote")
@pytest.mark.parametrize("tool", ["add_explored_files", "submit_understanding"])
async def test_foreign_quote_opens_nothing(call: Caller, shop: Path, tool: str) -> None:
    await ready(call)
    add_files(shop)
    says = "the login needs it for the empty password"
    for file, explanation, quote, demand in (
        (UNRELATED, says, QUOTE, "quote"),
        (UNRELATED, says, "", "quote"),
        (UNRELATED, "", "return total", "quote"),
        (FORM, says, "The login form refuses an empty password", "quote"),
    ):
        answer = await refused(call, tool, **by_quote(tool, file, explanation, quote))
        assert answer["missing_requirements"][0].startswith(f"{demand}: {file}"), answer
    await call("snippets_get", path=UNRELATED)
    await call("snippets_get", path=FORM)
    total = "return sum((item.unit_price * item.quantity for item in self.items), Decimal(0))"
    for file, explanation, quote, demand in (
        (UNRELATED, says, total, "plausible"),
        (UNRELATED, says, "from decimal import Decimal", "quote"),
        (FORM, "the page has nothing to do with it", "# The sign-in form", "denial"),
    ):
        answer = await refused(call, tool, **by_quote(tool, file, explanation, quote))
        assert answer["missing_requirements"][0].startswith(f"{demand}: {file}"), answer
    for file in (UNRELATED, FORM):
        assert await check(call, file) == (False, "file_not_related")


@pytest.mark.covers("rule.write.by_quote")
async def test_further_symbol_opens_its_file_and_never_lowers_the_risk(
    call: Caller, shop: Path
) -> None:
    await ready(call, "verify the password against the stored hash")
    add_files(shop)
    other, file = "verify_password", "src/auth/passwords.py"
    await call("snippets_get", symbol=other)
    await call("find_references", symbol=other)
    quote = code_of(await call("snippets_get", symbol=other))
    assert (await check(call, file)) == (False, "file_not_related")
    claim = {"symbol": other, "explanation": "it compares the password", "quote": quote}
    answer = await call("submit_understanding", symbols_identified=[claim])
    assert (answer["next_phase"], answer["risk_level"]) == ("READY", "HIGH")
    assert await check(call, file) == (True, "")
    claim = {"symbol": LOGIN, "explanation": "it checks the password", "quote": QUOTE}
    await call("find_references", symbol=LOGIN)
    again = await call("submit_understanding", symbols_identified=[claim])
    assert again["risk_level"] == "HIGH"
    answer = await refused(call, "submit_understanding", symbols_identified=[])
    assert "symbols_identified" in answer["missing_requirements"][0]


@pytest.mark.model
@pytest.mark.covers("rule.write.related")
async def test_agreement_opens_the_file_of_its_symbol_and_no_other(
    embedded_shop: Path, tmp_path: Path
) -> None:
    root = Path(shutil.copytree(embedded_shop, tmp_path / "shop", symlinks=True))
    padding = "src/users/repository.py"
    async with gateway(root, embedding="faithful") as call:
        await ready(call)
        assert await check(call, SERVICE) == (True, "")
        for file, old, new in (
            (SERVICE, "user is None or", "not user or"),
            (padding, "return", "assert True\n        return"),
        ):
            text = (root / file).read_text("utf-8")
            assert old in text
            (root / file).write_text(text.replace(old, new), "utf-8")
        learned = await call("record_outcome", outcome="success")
        assert learned["cached_pairs"] == [{"nl_term": "login", "symbol": LOGIN}]
        handle = await start(call)
        assert (await call("get_session_status"))["current_phase"] == "READY"
        assert await check(call, SERVICE) == (True, "")
        assert await check(call, padding) == (False, "file_not_related")
        assert handle


@pytest.mark.covers("rule.write.related")
async def test_caller_of_a_renamed_symbol_still_opens(call: Caller, shop: Path) -> None:
    await ready(call)
    add_files(shop)
    await call("snippets_get", path=TEST)
    assert await check(call, SERVICE) == (True, "")
    source = shop / SERVICE
    source.write_text(source.read_text("utf-8").replace("def login(", "def sign_in("), "utf-8")
    assert await check(call, TEST) == (True, "")
    assert await check(call, UNRELATED) == (False, "file_not_related")


@pytest.mark.covers("rule.write.related")
async def test_new_code_opens_the_file_that_it_joins_and_its_own(call: Caller, shop: Path) -> None:
    await start(call)
    await call("snippets_get", symbol=LOGIN)
    new = [
        {"name": "require_password", "file": SERVICE, "beside": LOGIN},
        {"name": "EmptyPassword", "file": "src/auth/errors.py", "beside": LOGIN},
    ]
    await call("submit_understanding", symbols_identified=[], new_symbols=new)
    assert await check(call, SERVICE) == (True, "")
    (shop / "src/auth/errors.py").write_text("class EmptyPassword(Exception):\n    pass\n", "utf-8")
    assert await check(call, "src/auth/errors.py") == (True, "")
    assert await check(call, "src/auth/tokens.py") == (False, "file_not_related")


@pytest.mark.covers("rule.write.common_names")
async def test_use_of_a_common_name_must_be_linked_to_the_symbol(call: Caller, shop: Path) -> None:
    pages = [f"src/desk/page_{number}.py" for number in range(MANY_FILES + 1)]
    foreign, deputy, view = "src/desk/foreign.py", "src/desk/deputy.py", "src/desk/view.cs"
    stranger = "src/desk/stranger.cs"
    texts = dict.fromkeys((*pages, foreign), "def show(page, form):\n    page.login(form)\n")
    texts[deputy] = "def show(auth_service, form):\n    auth_service.login(form)\n"
    texts[view] = "class View {\n  AuthService auth;\n  void Show() { auth.login(); }\n}\n"
    texts[stranger] = "class Page {\n  void Show() { page.login(); }\n}\n"
    add_files(shop)
    (shop / "src/desk").mkdir()
    for file, text in texts.items():
        (shop / file).write_text(text, "utf-8")
    await ready(call)
    await call("search_text", pattern=r"login\(", max_results=100)
    expected = {CALLER: True, TEST: True, deputy: True, view: True, foreign: False, stranger: False}
    assert {file: (await check(call, file))[0] for file in expected} == expected


@pytest.mark.covers("rule.write.common_names")
async def test_use_of_a_rare_name_needs_no_import(call: Caller, shop: Path) -> None:
    (shop / "src/desk").mkdir()
    (shop / "src/desk/page.py").write_text("def show(a, form):\n    a.login(form)\n", "utf-8")
    await ready(call)
    await call("snippets_get", path="src/desk/page.py")
    assert await check(call, "src/desk/page.py") == (True, "")


@pytest.mark.covers("rule.decision.logged")
async def test_a_refused_write_is_logged_with_its_reason(shop: Path) -> None:
    async with gateway(shop) as call:
        await start(call)
        assert await check(call, SERVICE) == (False, "not_ready")
    (journal,) = (shop / ".code-intel" / "sessions").glob("*.jsonl")
    (row,) = (
        row
        for row in decisions.newest(shop / ".code-intel" / "logs", journal.stem).records
        if row["decision"] == "refused"
    )
    assert row["what"] == f"write {SERVICE} in EXPLORATION: not_ready"
    assert "submit_understanding" in row["why"]
