"""context_bundle collects the current files for a goal."""

from pathlib import Path

import pytest

from code_intel.cli.setup.init import apply, setup
from code_intel.index.facade import Index
from code_intel.index.lease import IndexerLease
from code_intel.tools.code.deps_closure import INDEX_INCOMPLETE
from code_intel.tools.wire.answers import NO_HITS_YET
from projects import code_of
from served import gateway, settings_of

pytestmark = pytest.mark.anyio


async def test_edited_file_may_have_any_name(shop: Path) -> None:
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


async def test_bundle_shows_files_as_on_disk(shop: Path) -> None:
    file = shop / "src" / "cart" / "shipping.py"
    async with gateway(shop) as call:
        await call("context_bundle", goal="shipping fee")
        file.write_text(
            file.read_text("utf-8").replace("def shipping_fee", "def delivery_price"), "utf-8"
        )
        answer = await call("context_bundle", goal="what delivery costs for an order")
    texts = "".join(code_of(part) for row in answer["files"] for part in row["fragments"])
    assert "def delivery_price" in texts
    assert "def shipping_fee" not in texts


async def test_profiles_of_the_project_are_used_and_checked(shop: Path) -> None:
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


async def test_incomplete_index_is_mentioned(
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


async def test_unknown_artifacts_get_a_warning_and_null_is_ignored(shop: Path) -> None:
    artifacts = {"failing_test": "tests/test_cart.py", "hints": None, "editing_path": None}
    async with gateway(shop) as call:
        answer = await call("context_bundle", goal="cart total", artifacts=artifacts)
    assert answer["warnings"] == [
        "artifacts.failing_test is unknown and ignored; did you mean failing_tests?"
    ]
