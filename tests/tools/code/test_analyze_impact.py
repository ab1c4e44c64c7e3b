"""analyze_impact finds the users of a change by imports and names."""

from pathlib import Path
from typing import Any

import pytest

from programs import git
from projects import both_eras
from served import gateway

pytestmark = pytest.mark.anyio

TARGET = "src/auth/passwords.py"


def files(answer: dict[str, Any], section: str) -> list[str]:
    return [row["file"] for row in answer[section]]


@both_eras
async def test_impact_separates_importers_users_and_tests(shop: Path, era: str) -> None:
    (shop / "src" / "far.py").write_text("from auth.service import AuthService\n", encoding="utf-8")
    (shop / "src" / "lazy.py").write_text(
        "def run(name):\n    return getattr(plugin(), 'verify_password')\n", encoding="utf-8"
    )
    (shop / "tests" / "test_passwords.py").write_text(
        (
            "from auth.passwords import verify_password\n\n\ndef test_it():\n"
            "    verify_password('a')\n"
        ),
        encoding="utf-8",
    )
    (shop / "docs" / "login.md").write_text("verify_password compares hashes.\n", encoding="utf-8")
    git(shop, "add", "-A")
    async with gateway(shop, era) as call:
        for name in ("src/far.py", "src/lazy.py", "tests/test_passwords.py"):
            await call("get_symbols", path=name)
        found = await call("analyze_impact", target_files=[f"./{TARGET}:3", TARGET])
        assert found["target_files"] == [TARGET]
        must = files(found, "must_verify")
        assert {
            "src/auth/service.py",
            "src/users/registration.py",
            "tests/test_passwords.py",
            "src/lazy.py",
        } == set(must)
        assert {"src/far.py", "docs/login.md"} <= set(files(found, "should_verify"))
        assert found["tests"] == ["tests/test_passwords.py"]
        lazy = next(row for row in found["must_verify"] if row["file"] == "src/lazy.py")
        assert (lazy["symbols"], lazy["lines"], lazy["test"]) == (["verify_password"], [2], False)
        far = next(row for row in found["should_verify"] if row["file"] == "src/far.py")
        assert far["why"] == ["imports it indirectly (2 steps), via src/auth/service.py"]
        assert found["summary"]["must_verify"] == 4
        assert {"hash_password", "verify_password"} <= {row["name"] for row in found["symbols"]}


async def test_named_symbols_come_first(shop: Path) -> None:
    async with gateway(shop) as call:
        orders = {}
        for name in ("hash_password", "verify_password"):
            found = await call(
                "analyze_impact", target_files=[TARGET], change_description=f"{name}の引数を増やす"
            )
            assert found["symbols"][0]["name"] == name
            assert found["symbols"][0]["named"]
            orders[name] = files(found, "must_verify")[0]
        assert orders == {
            "hash_password": "src/users/registration.py",
            "verify_password": "src/auth/service.py",
        }


async def test_name_with_other_definitions_is_only_should_verify(shop: Path) -> None:
    (shop / "src" / "one.py").write_text("def handle_it():\n    pass\n", encoding="utf-8")
    (shop / "src" / "two.py").write_text("def handle_it():\n    pass\n", encoding="utf-8")
    (shop / "src" / "user.py").write_text("print(handle_it)\n", encoding="utf-8")
    async with gateway(shop) as call:
        await call("get_symbols", path="src")
        found = await call("analyze_impact", target_files=["src/one.py"])
        assert files(found, "must_verify") == []
        assert files(found, "should_verify") == ["src/two.py", "src/user.py"]
