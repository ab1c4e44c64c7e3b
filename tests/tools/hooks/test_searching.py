"""A search for a symbol or an agreed phrase gets one line, and all others none."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from client_hooks import ClaudeCode, client_context
from code_intel.tools.hooks.searching import phrases_of, symbol_in
from programs import git
from served import AGREEMENTS, gateway

pytestmark = pytest.mark.anyio

SERVICE, CART = "src/auth/service.py", "src/cart/cart.py"
DEFINED = f"AuthService is defined in {SERVICE}:"


@pytest.fixture
def client(shop: Path) -> Iterator[ClaudeCode]:
    with client_context(shop) as context:
        yield ClaudeCode(context)


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Grep", {"pattern": "AuthService"}),
        ("Grep", {"pattern": r"class\s+AuthService\b", "path": "src"}),
        ("Grep", {"pattern": r"AuthService\(|OtherService\("}),
        ("Glob", {"pattern": "**/*AuthService*.py"}),
        ("Bash", {"command": "rg -n 'class AuthService' src | head -5"}),
        ("Bash", {"command": "cd src && grep -rn AuthService . --include '*.py'"}),
        ("Bash", {"command": "find . -name 'AuthService*'"}),
    ],
)
@pytest.mark.covers("rule.hook.search")
async def test_symbol_gets_a_line(tool: str, given: dict[str, str], client: ClaudeCode) -> None:
    for enforces in (False, True):
        said, refusal = await ClaudeCode(client.context, enforces).before(tool, **given)
        assert refusal == ""
        assert said.startswith(DEFINED), said
        assert "\n" not in said


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Grep", {"pattern": "password"}),
        ("Grep", {"pattern": "login"}),
        ("Grep", {"pattern": "NoSuchService"}),
        ("Grep", {"pattern": "AuthService", "path": SERVICE}),
        ("Grep", {"pattern": ""}),
        ("Grep", {"pattern": "((((" * 2000}),
        ("Grep", {}),
        ("Glob", {"pattern": "**/*.py"}),
        ("Bash", {"command": "ps aux | grep AuthService"}),
        ("Bash", {"command": "ls -la"}),
        ("Bash", {}),
    ],
)
@pytest.mark.covers("rule.hook.search")
async def test_other_searches_get_none(
    tool: str, given: dict[str, str], client: ClaudeCode
) -> None:
    assert await client.before(tool, **given) == ("", "")


@pytest.mark.parametrize("readonly", [False, True])
@pytest.mark.covers("rule.hook.search")
async def test_line_is_about_the_current_files(shop: Path, *, readonly: bool) -> None:
    path = shop / SERVICE
    with client_context(shop, readonly=readonly) as context:
        client = ClaudeCode(context)
        text = path.read_text(encoding="utf-8")
        path.write_text("# one more line\n" + text, encoding="utf-8")
        said, _ = await client.before("Grep", pattern="AuthService")
        line = int(said.removeprefix(DEFINED).partition(" ")[0])
        lines = path.read_text(encoding="utf-8").splitlines()
        assert lines[line - 1].startswith("class AuthService")
        path.write_text(text.replace("AuthService", "OtherService"), encoding="utf-8")
        assert await client.before("Grep", pattern="AuthService") == ("", "")


@pytest.mark.covers("rule.hook.search")
async def test_name_with_many_definitions_and_tests_say_too_little(
    client: ClaudeCode, shop: Path
) -> None:
    for number in range(4):
        (shop / "src" / f"copy{number}.py").write_text("class ManyTimes:\n    pass\n", "utf-8")
    (shop / "tests" / "test_once.py").write_text("class OnlyTested:\n    pass\n", "utf-8")
    for name in ("ManyTimes", "OnlyTested"):
        assert await client.before("Grep", pattern=name) == ("", ""), name


@pytest.mark.covers("rule.hook.search")
async def test_agreement_is_named_for_its_term_and_its_symbol(
    client: ClaudeCode, shop: Path
) -> None:
    async with gateway(shop) as call:
        await call(
            "add_agreement",
            nl_term="会員ログイン",
            symbol="AuthService.login",
            code_evidence="checks the password",
        )
    assert await client.before("Grep", pattern="会員ログイン") == ("", "")
    (file,) = (shop / AGREEMENTS).glob("*.md")
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("confirmed: false", "confirmed: true"), encoding="utf-8")
    git(shop, "add", "-A")
    git(shop, "commit", "-qm", "Agree on the sign-in")
    for pattern in ("会員ログイン", "AuthService.login"):
        said, _ = await client.before("Grep", pattern=pattern)
        assert "agreed in the map: “会員ログイン” means AuthService.login" in said, pattern


def test_patterns_lose_the_signs_of_regular_expressions() -> None:
    assert list(phrases_of(r"\bdef\s+load_all\(|^class Foo$")) == ["def load_all", "class Foo"]
    assert list(phrases_of("a\\|b")) == ["a", "b"]
    assert list(phrases_of("src/**/{a,b}*.ts", "Glob")) == []
    assert [
        symbol_in(text) for text in ("async def run", "getUser", "MAX_SIZE", "Auth::login")
    ] == [
        "run",
        "getUser",
        "MAX_SIZE",
        "Auth::login",
    ]
    assert not any(
        symbol_in(text) for text in ("user", "User", "HTTP", "two words", "_", "__", "x_")
    )
