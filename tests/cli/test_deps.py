"""`deps` and `snippets` on the terminal."""

import json

from projects import Project

SERVICE = "src/auth/service.py"


def test_dependencies_are_listed_nearest_first(shop: Project) -> None:
    done = shop.call("code-intel", "deps", SERVICE)
    lines = done.stdout.splitlines()
    assert lines[0] == "1 → src/auth/passwords.py"
    assert lines[-1].startswith("Packages: ")
    data = json.loads(shop.call("code-intel", "deps", SERVICE, "--json").stdout)
    assert [node["path"] for node in data["nodes"]] == [line[4:] for line in lines[:-1]]


def test_no_importer_exits_with_1_and_a_wrong_depth_with_2(shop: Project) -> None:
    alone = shop.call("code-intel", "deps", SERVICE, "--direction", "inbound", check=False)
    assert alone.returncode == 1
    assert "is imported by no file" in alone.stdout
    deep = shop.call("code-intel", "deps", SERVICE, "--depth", "11", check=False)
    assert deep.returncode == 2
    assert "--depth" in deep.stderr


def test_snippets_are_printed_verbatim(shop: Project) -> None:
    text = (shop.root / SERVICE).read_text(encoding="utf-8")
    whole = shop.call("code-intel", "snippets", "--symbol", "AuthService.login").stdout
    head, *lines = whole.splitlines()
    assert head.startswith(f"{SERVICE}:")
    assert "\n".join(lines) in text
    one = shop.call("code-intel", "snippets", f"{SERVICE}:1-1", "--exact", "--json").stdout
    assert json.loads(one)["text"] == text.splitlines(keepends=True)[0]
    missing = shop.call("code-intel", "snippets", "no/such.py", check=False)
    assert missing.returncode == 2
