"""`code-intel files` and `code-intel context` as scripts use them."""

import json
import subprocess

from projects import BIN, Project

DIFF = """\
--- a/src/cart/cart.py
+++ b/src/cart/cart.py
@@ -1 +1 @@
-    return total
+    return rounded_total
"""


def test_context_gathers_for_a_goal_and_reads_a_diff(shop: Project) -> None:
    arguments = ["context", "--diff", "-", "--json", "why", "is", "it", "wrong"]
    done = subprocess.run(
        [str(BIN / "code-intel"), *arguments],
        cwd=shop.root,
        env=dict(shop.env),
        input=DIFF,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    best = json.loads(done.stdout)["files"][0]
    assert best["file"] == "src/cart/cart.py"
    assert "artifact:last_diff" in best["why"]


def test_context_shows_code_to_people(shop: Project) -> None:
    text = shop.call("code-intel", "context", "what does delivery cost").stdout
    assert text.startswith("1. src/cart/shipping.py  [")
    assert "def shipping_fee(total: Decimal, zone: str) -> Decimal:" in text


def test_files_lists_files_with_the_line_that_fits(shop: Project) -> None:
    text = shop.call("code-intel", "files", "shipping", "fee", "--language", "python").stdout
    assert text.splitlines()[0] == (
        "1. src/cart/shipping.py:9  def shipping_fee(total: Decimal, zone: str) -> Decimal:"
    )


def test_files_of_another_program_are_ordered_or_named_as_unknown(shop: Project) -> None:
    arguments = ["rerank", "what delivery costs", "-", "--json"]
    done = subprocess.run(
        [str(BIN / "code-intel"), *arguments],
        cwd=shop.root,
        env=dict(shop.env),
        input="src/cart/cart.py\n\nsrc/cart/shipping.py:1-20\ngone.py\n",
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    data = json.loads(done.stdout)
    assert done.returncode == (0 if data["reranked"] else 1)
    assert [row["given_at"] for row in data["results"]][-1] == 3
    assert data["not_indexed"] == ["gone.py"]
    nothing = shop.call("code-intel", "rerank", "x", " ", "--json", check=False)
    assert (nothing.returncode, json.loads(nothing.stdout)["field"]) == (2, "candidates")


def test_nothing_found_is_code_1_and_bad_usage_code_2(shop: Project) -> None:
    assert shop.call("code-intel", "files", "qqqzzz", check=False).returncode == 1
    assert shop.call("code-intel", "context", "qqqzzz", check=False).returncode == 1
    bad = shop.call("code-intel", "context", "x", "--limit", "99", "--json", check=False)
    assert bad.returncode == 2
    assert json.loads(bad.stdout)["field"] == "limit"
    gone = shop.call("code-intel", "context", "x", "--diff", "gone.patch", "--json", check=False)
    assert (gone.returncode, json.loads(gone.stdout)["field"]) == (2, "diff")


def test_looking_changes_nothing_in_the_project(shop: Project) -> None:
    before = {p: p.stat().st_mtime_ns for p in shop.root.rglob("*.py")}
    shop.call("code-intel", "context", "shipping fee")
    assert {p: p.stat().st_mtime_ns for p in shop.root.rglob("*.py")} == before
