"""`code-intel defs`, `refs` and `grep` print the places that the tools find, as grep does."""

import json
import subprocess
from pathlib import Path

import pytest

from code_intel.tools.table import GATEWAY_TOOLS
from projects import BIN, Project
from terminal import COLOUR_CODE, TERMINAL, on_terminal

SHIPPING = "src/cart/shipping.py"


def below(project: Project, folder: str) -> Project:
    """Return the project as it is seen from one of its folders."""
    return Project(project.root / folder, project.env)


def lines(project: Project, *words: str, code: int = 0) -> list[str]:
    done = project.call("code-intel", *words, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout.splitlines()


def test_defs_prints_each_definition_with_its_signature(shop: Project) -> None:
    assert lines(shop, "defs", "shipping_fee") == [
        (
            f"{SHIPPING}:9  function shipping_fee  "
            "def shipping_fee(total: Decimal, zone: str) -> Decimal"
        )
    ]
    data = json.loads(shop.call("code-intel", "defs", "shipping_fee", "--json").stdout)
    assert [(row["file"], row["line"]) for row in data["definitions"]] == [(SHIPPING, 9)]


def test_refs_prints_the_lines_that_use_a_symbol(shop: Project) -> None:
    source = (shop.root / SHIPPING).read_text(encoding="utf-8").splitlines()
    expected = [
        f"{SHIPPING}:{number}:{line}"
        for number, line in enumerate(source, 1)
        if "FREE_FROM" in line and not line.startswith("FREE_FROM")
    ]
    assert expected
    assert lines(shop, "refs", "FREE_FROM", SHIPPING) == expected


def test_grep_prints_what_ripgrep_finds(shop: Project) -> None:
    for words in (
        ["def .*fee"],
        ["-i", "DECIMAL"],
        ["-w", "total"],
        ["-wi", "TOTAL|zone"],
        ["-F", "fee(total: Decimal"],
        ["-F", "a b-c#~&\"'<>%@!/"],
        ["-C", "2", "class "],
        ["-t", "md", "the"],
        ["-l", "import"],
        ["-w", "-F", "dict[str"],
    ):
        ripgrep = subprocess.run(
            [str(BIN / "rg"), "-n", "--sort=path", "--no-heading", *words, "."],
            cwd=shop.root / "src",
            capture_output=True,
            text=True,
            check=False,
        )
        expected = [line.removeprefix("./") for line in ripgrep.stdout.splitlines()]
        found = below(shop, "src").call("code-intel", "grep", *words, ".", check=False)
        assert found.stdout.splitlines() == expected, words
        assert found.returncode == ripgrep.returncode


def test_options_may_stand_anywhere(shop: Project) -> None:
    whole = lines(shop, "grep", "-l", "-w", "total", "src/cart")
    assert whole
    assert lines(shop, "grep", "total", "-l", "src/cart", "-w") == whole
    assert lines(shop, "grep", "-lw", "--", "total", "src/cart") == whole
    assert lines(shop, "grep", "-F", "--", "->", SHIPPING)


def test_grep_needs_no_index(bare: Project) -> None:
    (bare.root / "a.py").write_text("x = 1\n", encoding="utf-8")
    assert lines(bare, "grep", "x") == ["a.py:1:x = 1"]
    assert [path.name for path in bare.root.iterdir()] == ["a.py"]


def test_nothing_found_exits_with_1_and_prints_to_stderr_only(shop: Project) -> None:
    for command in ("defs", "refs", "grep"):
        done = shop.call("code-intel", command, "qqqzzz", check=False)
        assert (done.returncode, done.stdout) == (1, "")
        assert "qqqzzz" in done.stderr
        data = json.loads(shop.call("code-intel", command, "qqqzzz", "--json", check=False).stdout)
        assert not data["truncated"]


def test_several_paths_are_searched_and_each_line_is_shown_once(shop: Project) -> None:
    whole = lines(shop, "grep", "-l", "import", "src/auth", "src/cart")
    assert {name.split("/")[1] for name in whole} == {"auth", "cart"}
    assert (
        lines(shop, "grep", "-l", "import", "src/auth", "src/cart", "src/auth/service.py") == whole
    )
    done = shop.call("code-intel", "grep", "import", "src/auth", "src/cart", "--json")
    data = json.loads(done.stdout)
    assert data["path"] == ["src/auth", "src/cart"]
    assert data["total_matches"] == len(data["matches"]) > len(whole)


def test_all_pages_of_an_answer_are_printed(shop: Project) -> None:
    many = "\n".join(f"x{number} = shipping_fee({number}, 'home')" for number in range(400))
    (shop.root / "src" / "many.py").write_text(many, encoding="utf-8")
    assert len(lines(shop, "refs", "shipping_fee", "src/many.py")) == 400
    assert len(lines(shop, "grep", "shipping_fee", "src/many.py")) == 400


def test_more_lines_than_are_shown_are_mentioned(shop: Project) -> None:
    (shop.root / "src" / "many.txt").write_text("ferry\n" * 1200, encoding="utf-8")
    done = shop.call("code-intel", "grep", "ferry", "src/many.txt")
    assert len(done.stdout.splitlines()) == 1000
    assert done.stderr == "There are more. Narrow with a path or --type.\n"


def test_a_wrong_argument_is_named_as_in_the_terminal(shop: Project) -> None:
    for words, named in (
        (["grep", "("], "pattern"),
        (["grep", "x", "-C", "99"], "--context"),
        (["grep", "x", "-t", "nope"], "nope"),
        (["grep", "x", "no/such"], "no/such"),
        (["refs", "x", "/"], "outside the project"),
    ):
        done = shop.call("code-intel", *words, check=False)
        assert (done.returncode, done.stdout) == (2, "")
        assert named in done.stderr
        assert not [
            tool.name for tool in GATEWAY_TOOLS if tool.name in done.stderr if "_" in tool.name
        ]


@pytest.mark.parametrize("words", [["defs", "shipping_fee"], ["grep", "-i", "SHIPPING_.*"]])
def test_a_terminal_shows_the_same_text_with_matches_in_bold(
    shop: Project, words: list[str]
) -> None:
    env = {key: value for key, value in shop.env.items() if key != "NO_COLOR"} | TERMINAL
    shown = on_terminal(shop.root, env, *words)
    assert COLOUR_CODE.sub("", shown) == shop.call("code-intel", *words).stdout
    assert "\x1b[1mshipping_fee" in shown


def test_files_are_named_as_seen_from_the_current_folder(shop: Project) -> None:
    cart = below(shop, "src/cart")
    assert lines(cart, "defs", "shipping_fee")[0].startswith("shipping.py:9  ")
    assert lines(cart, "grep", "class AuthService")[0].startswith("../auth/service.py:")
    assert lines(cart, "search", "--forest", "shipping fee")[1].startswith("1. shipping.py:")
    assert lines(cart, "files", "shipping", "fee")[0].startswith("1. shipping.py:")
    assert lines(cart, "context", "what does delivery cost")[0].startswith("1. shipping.py  ")
    assert lines(cart, "snippets", "--symbol", "AuthService.login")[0].startswith(
        "../auth/service.py:"
    )
    assert lines(below(shop, "src/auth"), "deps", "service.py")[0] == "1 → passwords.py"
    for words in (["defs", "shipping_fee"], ["files", "shipping"], ["search", "shipping fee"]):
        here = cart.call("code-intel", *words, "--json").stdout
        assert here == shop.call("code-intel", *words, "--json").stdout


def test_files_are_given_as_seen_from_the_current_folder(shop: Project) -> None:
    cart = below(shop, "src/cart")
    assert (
        lines(cart, "snippets", "../auth/service.py:1-1", "--exact")[0] == "../auth/service.py:1-1"
    )
    assert lines(cart, "grep", "-l", "import", ".") == ["cart.py", "shipping.py"]
    assert lines(cart, "files", "import", "--directory", "../auth")[0].startswith("1. ../auth/")
    assert lines(cart, "snippets", "src/auth/service.py:1-1", "--exact")[0].startswith("../auth/")
    edited = lines(cart, "context", "x", "--editing", "shipping.py")
    assert any(line.startswith("1. shipping.py") for line in edited)
    ranked = cart.call("code-intel", "rerank", "fees", "shipping.py:1-9", "--json", check=False)
    assert json.loads(ranked.stdout)["results"][0]["file"] == SHIPPING


def test_another_project_is_named_from_the_current_folder(shop: Project, tmp_path: Path) -> None:
    outside = Project(tmp_path, shop.env)
    found = lines(outside, "defs", "shipping_fee", "--project", str(shop.root))
    assert found[0].startswith(f"shop/{SHIPPING}:9")
    words = ["grep", "Fees", f"shop/{SHIPPING}", "-i", "--project", str(shop.root)]
    assert lines(outside, *words)[0].startswith(f"shop/{SHIPPING}:")


def test_a_stale_index_names_the_command_that_updates_it(shop: Project) -> None:
    (shop.root / SHIPPING).write_text("def moved_fee(): pass\n", encoding="utf-8")
    for words in (["defs", "shipping_fee"], ["search", "--forest", "shipping"], ["files", "fee"]):
        done = shop.call("code-intel", *words)
        assert "Results may be out of date. Run `code-intel sync`." in done.stdout + done.stderr
    missing = shop.call("code-intel", "defs", "moved_fee", check=False)
    assert (missing.returncode, missing.stdout) == (1, "")
    assert "Run `code-intel sync`." in missing.stderr
    assert lines(shop, "grep", "def moved") == [f"{SHIPPING}:1:def moved_fee(): pass"]
