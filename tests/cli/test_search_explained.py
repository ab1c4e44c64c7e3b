"""A terminal says what the ranking gave to each hit, and where a file lost."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from code_intel.tools.context.corpus_service import open_project
from code_intel.tools.search.terminal_search import answer
from code_intel.tools.wire.terminal_question import TerminalQuestion
from contract.journeys import agree
from projects import Project
from served import settings_of


def asked(shop: Project, *words: str) -> dict[str, Any]:
    done = shop.call("code-intel", "search", "--json", *words, check=False)
    return dict(json.loads(done.stdout))


def test_each_hit_says_what_the_rows_gave(shop: Project) -> None:
    results = asked(shop, "shipping fee", "--forest", "--explain", "--per-file", "1")["results"]
    assert results
    for row in results:
        assert sum(share["points"] for share in row["ranking"]) == pytest.approx(
            row["score"], abs=0.001
        )
    done = shop.call("code-intel", "search", "shipping fee", "--forest", "--explain")
    assert "ranking: words +" in done.stdout


def test_hits_say_nothing_about_the_rows_without_the_option(shop: Project) -> None:
    assert "ranking" not in asked(shop, "shipping fee", "--forest")["results"][0]


def test_a_file_that_lost_is_compared_with_the_last_that_is_shown(shop: Project) -> None:
    words = ("cart shipping fee", "--top-k", "1", "--why-not", "src/cart/cart.py")
    verdict = asked(shop, *words)["why_not"]
    assert verdict["document"] == "src/cart/cart.py"
    assert verdict["lost"] in {"limit", "reduced"}
    assert verdict["file"]["rank"] > verdict["last"]["rank"] == 1
    assert {share["row"] for share in verdict["last"]["ranking"]} >= {"words", "names"}
    assert verdict["first"] == verdict["last"]
    text = shop.call("code-intel", "search", *words).stdout
    assert text.startswith("src/cart/cart.py: It is file ")
    assert "  words " in text


def test_a_shown_file_is_compared_with_the_first(shop: Project) -> None:
    words = ("cart shipping fee", "--forest", "--top-k", "9", "--why-not", "src/cart/cart.py")
    verdict = asked(shop, *words)["why_not"]
    assert (verdict["lost"], verdict["first"]["rank"]) == ("", 1)
    text = shop.call("code-intel", "search", *words).stdout
    assert "The first, src/cart/shipping.py, is ahead mostly because of `" in text
    assert re.search(r"^ +this file +file 1 +file \d$", text, re.MULTILINE)
    assert "  file 1: src/cart/shipping.py\n" in text


def test_a_question_that_nothing_answers_ranks_no_file(shop: Project) -> None:
    words = ("qqqzzzxxx", "--why-not", "src/cart/cart.py")
    text = shop.call("code-intel", "search", *words).stdout
    assert text.startswith("src/cart/cart.py: It has none of the question's words (qqqzzzxxx).")
    assert "file 1" not in text
    assert asked(shop, *words)["why_not"]["last"]["rank"] == 0


def test_the_map_ranks_no_file(shop: Project) -> None:
    done = shop.call(
        "code-intel", "search", "cart", "--map", "--why-not", "src/cart/cart.py", check=False
    )
    assert done.returncode == 2
    assert "--map and --why-not exclude each other" in done.stderr


def test_a_file_that_is_not_indexed_says_why(shop: Project) -> None:
    (shop.root / ".env").write_text("KEY=1\n", encoding="utf-8")
    verdict = asked(shop, "shipping fee", "--why-not", ".env")["why_not"]
    assert (verdict["indexed"], verdict["lost"]) == (False, "index")
    assert verdict["reasons"] == ["It is skipped: may hold secrets."]
    assert "file" not in verdict


def test_the_end_of_a_path_names_a_file(shop: Project) -> None:
    verdict = asked(shop, "shipping fee", "--why-not", "shipping.py")["why_not"]
    assert (verdict["document"], verdict["lost"]) == ("src/cart/shipping.py", "")
    assert verdict["answered_by_map"] is False


@pytest.mark.model
def test_a_question_that_the_map_answers_says_so(embedded_shop: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(embedded_shop, tmp_path / "shop"))
    agree(root, "shipping costs", "shipping_fee")
    services = open_project(settings_of(root, "faithful"), readonly=True)
    for corpus, by_map in (("", True), ("forest", False)):
        question = TerminalQuestion("shipping costs", corpus=corpus, why_not="shipping.py")
        found = answer(services, question).data["why_not"]
        assert found["answered_by_map"] is by_map
        assert ("The map answers this question" in found["reasons"][-1]) is by_map
    for service in services:
        service.index.close()
