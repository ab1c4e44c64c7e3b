"""What `code-intel doctor` says of query plans, and what `init --remove` leaves of them."""

import json

from code_intel.planning import keeping, knowledge, place
from kept_plans import plan
from projects import Project


def findings(shop: Project) -> list[tuple[str, str, str]]:
    rows = json.loads(shop.call("code-intel", "doctor", "--json").stdout)["findings"]
    return [(r["level"], r["what"], r["remedy"]) for r in rows if r["area"] == "plans"]


def test_what_is_kept_is_counted_and_what_is_damaged_named_with_what_to_do(shop: Project) -> None:
    root = shop.root / ".gistdex"
    assert findings(shop) == [("info", "0 plans, 0 queries, 0 knowledge in .gistdex.", "")]
    assert not root.exists()
    kept = plan()
    path = keeping.save(root, kept)
    knowledge.write(root, kept)
    assert findings(shop) == [("info", "1 plans, 0 queries, 1 knowledge in .gistdex.", "")]
    path.write_text("{", encoding="utf-8")
    (root / place.CONFIG).write_text('{"limits": {"plan": 1}}', encoding="utf-8")
    (key, hurt) = findings(shop)
    assert "limits.plan is unknown and ignored; did you mean plans" in key[1]
    assert (hurt[0], path.name in hurt[1]) == ("warning", True)
    assert hurt[2] == "Delete the file. The next plan creates it again."
    (root / place.CONFIG).write_text("[]", encoding="utf-8")
    ((level, what, _),) = findings(shop)
    assert (level, "config.json must be a JSON object" in what) == ("warning", True)


def test_remove_leaves_plans_and_says_so(shop: Project) -> None:
    path = keeping.save(shop.root / ".gistdex", plan())
    told = json.loads(shop.call("code-intel", "init", "--remove", "--json").stdout)["notes"]
    assert any("Query plans stay in .gistdex" in note for note in told)
    assert path.is_file()
