"""files_search, context_bundle and semantic_rerank through a gateway."""

import json
from pathlib import Path

import pytest

from code_intel.cli.setup.init import apply, setup
from code_intel.index.facade import Index
from code_intel.index.lease import IndexerLease
from code_intel.tools.code.deps_closure import INDEX_INCOMPLETE
from code_intel.tools.wire.answers import NO_HITS_YET, tokens
from projects import both_eras
from served import gateway, settings_of

pytestmark = pytest.mark.anyio


@both_eras
async def test_a_bundle_has_the_code_to_read_first(shop: Path, era: str) -> None:
    async with gateway(shop, era) as call:
        answer = await call("context_bundle", goal="what does delivery of an order cost")
    best = answer["files"][0]
    assert best["file"] == "src/cart/shipping.py"
    assert best["fragments"][0]["symbol"] == "shipping_fee"
    assert "def shipping_fee" in best["fragments"][0]["text"]
    assert best["why"] == sorted(best["why"])
    assert answer["tokens_estimate"] <= 2000
    assert answer["index"]["degraded"] != []
    assert answer["left_out"] == {} or set(answer["left_out"]) <= {"tests", "docs"}


async def test_a_bundle_fits_the_budget_it_is_given(shop: Path) -> None:
    async with gateway(shop) as call:
        for budget in (200, 500, 1000):
            answer = await call(
                "context_bundle", goal="cart total price items", token_budget=budget, limit=20
            )
            rows = [
                json.dumps(row, ensure_ascii=False)
                for row in (*answer["files"], *answer["further"])
            ]
            assert sum(map(tokens, rows)) <= answer["tokens_estimate"] <= budget


async def test_a_failing_test_brings_itself_and_what_it_tests(shop: Path) -> None:
    async with gateway(shop) as call:
        plain = await call("context_bundle", goal="why is it wrong")
        answer = await call(
            "context_bundle",
            goal="why is it wrong",
            profile="testfail",
            artifacts={"failing_tests": ["tests/test_cart.py::test_equal_products_are_merged"]},
        )
    found = {file["file"]: file["why"] for file in answer["files"]}
    assert "tests/test_cart.py" not in {file["file"] for file in plain["files"]}
    assert "artifact:failing_test" in found["tests/test_cart.py"]
    assert "dep:tests/test_cart.py" in found["src/cart/cart.py"]
    assert answer["profile"] == "testfail"


async def test_the_file_being_edited_may_have_any_name(shop: Path) -> None:
    (shop / "src" / "送料").mkdir()
    (shop / "src" / "送料" / "計算.py").write_text("def 送料計算(注文):\n    return 500\n", "utf-8")
    async with gateway(shop) as call:
        missing = await call(
            "context_bundle", goal="送料", artifacts={"editing_path": "src/まだない.py"}
        )
        outside = await call.refused(
            "context_bundle", goal="送料", artifacts={"editing_path": "../secret.py"}
        )
        line = await call(
            "context_bundle", goal="送料", artifacts={"editing_path": "src/cart/cart.py:12"}
        )
    assert "src/まだない.py" in missing["warnings"][0]
    assert "warnings" not in line
    assert "src/cart/cart.py" in {file["file"] for file in line["files"]}
    assert outside["error"] == "path_outside_root"
    assert outside["field"] == "artifacts.editing_path"


async def test_a_bundle_shows_files_as_they_are_on_disk_now(shop: Path) -> None:
    file = shop / "src" / "cart" / "shipping.py"
    async with gateway(shop) as call:
        await call("context_bundle", goal="shipping fee")
        file.write_text(
            file.read_text("utf-8").replace("def shipping_fee", "def delivery_price"), "utf-8"
        )
        answer = await call("context_bundle", goal="what delivery costs for an order")
    texts = "".join(part["text"] for row in answer["files"] for part in row["fragments"])
    assert "def delivery_price" in texts
    assert "def shipping_fee" not in texts


async def test_profiles_of_the_project_count_and_bad_ones_are_named(shop: Path) -> None:
    profiles = shop / ".code-intel" / "scoring-profiles.toml"
    async with gateway(shop) as call:
        unknown = await call("context_bundle", goal="shipping fee", profile="bugfixing")
        profiles.write_text("[review]\nstructural = 1\n", encoding="utf-8")
        known = await call("context_bundle", goal="shipping fee", profile="review")
        profiles.write_text("[review]\nstructural = -1\n", encoding="utf-8")
        bad = await call.refused("context_bundle", goal="shipping fee", profile="review")
    assert (unknown["profile"], "bugfixing" in unknown["warnings"][0]) == ("default", True)
    assert (known["profile"], "warnings" in known) == ("review", False)
    assert (bad["error"], bad["field"], bad["profile"]) == (
        "invalid_config",
        "structural",
        "review",
    )


async def test_while_the_index_is_built_nothing_is_said_of_the_whole_project(
    tmp_path: Path,
) -> None:
    root = tmp_path / "shop"
    root.mkdir()
    (root / "cart.py").write_text("import tax\n", encoding="utf-8")
    apply(setup(root))
    forest = settings_of(root).forest
    with Index(forest) as index:
        index.refresh("cart.py")
    elsewhere = IndexerLease(forest.db_path)
    assert elsewhere.acquire()
    async with gateway(root) as call:
        files = await call("files_search", query="tax")
        words = await call("files_search", query="shipping")
        bundle = await call("context_bundle", goal="shipping")
        imports = await call("deps_closure", path="cart.py")
    elsewhere.release()
    assert files["results"][0]["file"] == "cart.py"
    assert words["message"] == bundle["message"] == NO_HITS_YET
    assert (imports["nodes"], imports["warnings"]) == ([], [INDEX_INCOMPLETE])


async def test_artifacts_that_nobody_reads_are_told_and_null_is_nothing(shop: Path) -> None:
    artifacts = {"failing_test": "tests/test_cart.py", "hints": None, "editing_path": None}
    async with gateway(shop) as call:
        answer = await call("context_bundle", goal="cart total", artifacts=artifacts)
    assert answer["warnings"] == [
        "artifacts.failing_test is unknown and ignored; did you mean failing_tests?"
    ]


@pytest.mark.parametrize(
    ("tool", "arguments", "field"),
    [
        ("context_bundle", {"goal": " \u200b"}, "goal"),
        ("context_bundle", {"goal": "x", "limit": 21}, "limit"),
        ("context_bundle", {"goal": "x", "token_budget": 9000}, "token_budget"),
        ("context_bundle", {"goal": "x", "boost_profile": "tests"}, "boost_profile"),
        ("context_bundle", {"goal": "x", "artifacts": {"hints": "no list"}}, "artifacts.hints"),
        ("files_search", {"query": ""}, "query"),
        ("files_search", {"query": "x", "top_k": 0}, "top_k"),
        ("semantic_rerank", {"query": "x", "candidates": []}, "candidates"),
        ("semantic_rerank", {"query": "x", "candidates": ["../a.py"]}, "candidates"),
        ("semantic_rerank", {"query": "x", "candidates": ["  "]}, "candidates"),
        ("semantic_rerank", {"query": "x", "candidates": [3]}, "candidates.0"),
        ("semantic_rerank", {"query": "x", "candidates": [{"start_line": 3}]}, "candidates"),
    ],
)
async def test_a_bad_argument_names_its_field(
    shop: Path, tool: str, arguments: dict[str, object], field: str
) -> None:
    async with gateway(shop) as call:
        assert (await call.refused(tool, **arguments))["field"] == field


async def test_files_are_found_by_their_words_and_boosted_by_kind(shop: Path) -> None:
    async with gateway(shop) as call:
        source = await call("files_search", query="cart total")
        plain = await call("files_search", query="cart total", boost_profile="none")
        below = await call("files_search", query="cart", directory="web")
        go = await call("files_search", query="stock", language="go")
        nothing = await call("files_search", query="qqqzzz")
        japanese = await call("files_search", query="送料の計算")
        two = await call("files_search", query="cart total", top_k=2)
        nowhere = await call("files_search", query="cart", directory="sources", language="Go")
    scores = {row["file"]: (row["score"], row["bm25"]) for row in source["results"]}
    assert source["results"][0]["file"] == "src/cart/cart.py"
    score, bm25 = scores["src/cart/cart.py"]
    assert score == pytest.approx(1.5 * bm25, rel=1e-3)
    score, bm25 = scores["tests/test_cart.py"]
    assert score == pytest.approx(1.2 * bm25, rel=1e-3)
    assert all(row["score"] == row["bm25"] for row in plain["results"])
    assert {row["file"].split("/")[0] for row in below["results"]} == {"web"}
    assert [row["file"] for row in go["results"]] == ["src/inventory/stock.go"]
    assert (nothing["results"], nothing["total"]) == ([], 0)
    assert japanese["results"][0]["file"] == "src/cart/shipping.py"
    assert (len(two["results"]), two["total"]) == (2, source["total"])
    assert (two["truncated"], source["truncated"]) == (True, False)
    assert nothing["message"] == "No file has any of these words."
    assert "matches directory sources, language go" in nowhere["message"]


async def test_without_vectors_a_reranking_keeps_the_order_and_says_so(shop: Path) -> None:
    candidates = [
        "src/cart/shipping.py",
        "src/cart/cart.py:20-30",
        "gone.py",
        {"file": "README.md"},
    ]
    async with gateway(shop) as call:
        answer = await call("semantic_rerank", query="delivery", candidates=candidates)
    assert [row["given_at"] for row in answer["results"]] == [1, 2, 3, 4]
    assert answer["reranked"] is False
    assert answer["not_indexed"] == ["gone.py"]
    assert all(row["similarity"] is None for row in answer["results"])
    assert answer["index"]["degraded"] != []


async def test_what_a_bundle_suggests_is_a_guess_until_it_is_looked_up(shop: Path) -> None:
    file = "src/cart/shipping.py"
    async with gateway(shop) as call:
        session = await call("start_session", intent="INVESTIGATE", query="shipping fee")
        handle = session["session_id"]
        await call("context_bundle", goal="shipping fee of an order")
        refused = await call.refused("semantic_rerank", query="fee", candidates=[file])
        before = await call("get_session_status", session_id=handle)
    assert refused["error"] == "phase_blocked"
    assert before["current_phase"] == "EXPLORATION"
