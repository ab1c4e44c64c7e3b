"""`code-intel files`, `context` and `rerank` at the terminal."""

import json

from projects import Project

DIFF = """\
--- a/src/cart/cart.py
+++ b/src/cart/cart.py
@@ -1 +1 @@
-    return total
+    return rounded_total
"""


def test_context_reads_a_diff_from_stdin(shop: Project) -> None:
    arguments = ["context", "--diff", "-", "--json", "why", "is", "it", "wrong"]
    done = shop.call("code-intel", *arguments, stdin=DIFF)
    best = json.loads(done.stdout)["files"][0]
    assert best["file"] == "src/cart/cart.py"
    assert "artifact:last_diff" in best["why"]


def test_context_prints_code(shop: Project) -> None:
    text = shop.call("code-intel", "context", "what does delivery cost").stdout
    assert text.startswith("1. src/cart/shipping.py  [")
    assert "def shipping_fee(total: Decimal, zone: str) -> Decimal:" in text


def test_files_lists_each_file_with_its_best_line(shop: Project) -> None:
    text = shop.call("code-intel", "files", "shipping", "fee", "--language", "python").stdout
    assert text.splitlines()[0] == (
        "1. src/cart/shipping.py:9  def shipping_fee(total: Decimal, zone: str) -> Decimal:"
    )


def test_rerank_orders_files_and_names_unknown_ones(shop: Project) -> None:
    arguments = ["rerank", "what delivery costs", "-", "--json"]
    listing = "src/cart/cart.py\n\nsrc/cart/shipping.py:1-20\ngone.py\n"
    done = shop.call("code-intel", *arguments, check=False, stdin=listing)
    data = json.loads(done.stdout)
    assert done.returncode == (0 if data["reranked"] else 1)
    assert [row["given_at"] for row in data["results"]][-1] == 3
    assert data["not_indexed"] == ["gone.py"]
    nothing = shop.call("code-intel", "rerank", "x", " ", "--json", check=False)
    assert (nothing.returncode, json.loads(nothing.stdout)["field"]) == (2, "candidates")


def test_no_result_exits_with_1_and_wrong_usage_with_2(shop: Project) -> None:
    assert shop.call("code-intel", "files", "qqqzzz", check=False).returncode == 1
    assert shop.call("code-intel", "context", "qqqzzz", check=False).returncode == 1
    bad = shop.call("code-intel", "context", "x", "--limit", "99", "--json", check=False)
    assert bad.returncode == 2
    assert json.loads(bad.stdout)["field"] == "limit"
    gone = shop.call("code-intel", "context", "x", "--diff", "gone.patch", "--json", check=False)
    assert (gone.returncode, json.loads(gone.stdout)["field"]) == (2, "diff")
