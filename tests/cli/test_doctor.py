"""`code-intel doctor` on sessions and query plans."""

import json
from dataclasses import replace

from code_intel.config import load_settings
from code_intel.errors import StorageError
from code_intel.foundation.durable import make_folder
from code_intel.learned.learn import learn
from code_intel.planning import keeping, knowledge, place
from code_intel.records import Agreement
from code_intel.session import journal
from code_intel.session.phases import Intent
from code_intel.tools.context.gateway import sessions_of
from code_intel.tools.hooks.failures import log_failure
from kept_plans import plan
from projects import Project


def findings(shop: Project, area: str) -> list[tuple[str, str, str]]:
    rows = json.loads(shop.call("code-intel", "doctor", "--json").stdout)["findings"]
    return [(row["level"], row["what"], row["remedy"]) for row in rows if row["area"] == area]


def test_doctor_names_an_edited_journal_and_a_state_folder_inside_the_project(
    shop: Project,
) -> None:
    state = shop.root / "state"
    shop = replace(shop, env={**shop.env, "CODE_INTEL_STATE_DIR": str(state)})
    place = sessions_of(load_settings(shop.root, shop.env))
    names = [journal.create(place, Intent.MODIFY, "fix").session.name for _ in range(2)]
    ((level, what, remedy),) = findings(shop, "sessions")
    assert (level, "inside the project" in what) == ("warning", True)
    assert "CODE_INTEL_STATE_DIR" in remedy
    outside = shop.root.parent / "state"
    state.rename(outside)
    shop = replace(shop, env={**shop.env, "CODE_INTEL_STATE_DIR": str(outside)})
    assert findings(shop, "sessions") == [("info", "2 sessions can be replayed.", "")]
    file = place.journal(names[0])
    file.write_bytes(file.read_bytes().replace(b"MODIFY", b"DELETE"))
    ((level, what, remedy),) = findings(shop, "sessions")
    assert (level, names[0] in what) == ("warning", True)
    assert "start a new session" in remedy


def test_doctor_counts_plans_and_names_damaged_ones(shop: Project) -> None:
    root = shop.root / ".gistdex"
    assert findings(shop, "plans") == [("info", "0 plans, 0 knowledge in .gistdex.", "")]
    assert not root.exists()
    kept = plan()
    path = keeping.save(root, kept)
    knowledge.write(root, kept)
    assert findings(shop, "plans") == [("info", "1 plans, 1 knowledge in .gistdex.", "")]
    path.write_text("{", encoding="utf-8")
    (root / place.CONFIG).write_text('{"limits": {"plan": 1}}', encoding="utf-8")
    (key, damaged) = findings(shop, "plans")
    assert "limits.plan is unknown and ignored; did you mean plans" in key[1]
    assert (damaged[0], path.name in damaged[1]) == ("warning", True)
    assert damaged[2] == "Delete the file. The next plan creates it again."
    (root / place.CONFIG).write_text("[]", encoding="utf-8")
    ((level, what, _),) = findings(shop, "plans")
    assert (level, "config.json: Input should be an object" in what) == ("warning", True)


def test_doctor_names_an_empty_agreement_and_how_it_is_restored(shop: Project) -> None:
    settings = load_settings(shop.root, shop.env)
    fee = Agreement("送料計算", "shipping_fee", ("fee of a zone",))
    file = learn(settings, fee, confirmed=True).agreement_file
    whole = file.read_bytes()
    file.write_bytes(b"")
    ((level, what, remedy),) = findings(shop, "agreements")
    assert (level, file.name in what, "It is empty" in what) == ("warning", True, True)
    assert "`code-intel map rebuild --from pairs`" in remedy
    shop.call("code-intel", "map", "rebuild", "--from", "pairs")
    assert file.read_bytes() == whole.replace(b"confirmed: true", b"confirmed: false")
    assert findings(shop, "agreements") == [("info", "1 agreement can be read.", "")]


def test_remove_keeps_plans_and_reports_them(shop: Project) -> None:
    path = keeping.save(shop.root / ".gistdex", plan())
    notes = json.loads(shop.call("code-intel", "init", "--remove", "--json").stdout)["notes"]
    assert any("Query plans stay in .gistdex" in note for note in notes)
    assert path.is_file()


def test_doctor_reports_hooks_that_failed_lately(shop: Project) -> None:
    assert findings(shop, "hooks") == [("info", "No hook has failed in the last 7 days.", "")]
    state = shop.root / ".code-intel"
    log_failure(state, "claude-code", "first")
    try:
        make_folder(state / ".gitignore" / "inside")
    except StorageError as error:
        log_failure(state, "codex", error)
    ((level, what, remedy),) = findings(shop, "hooks")
    assert (level, what.startswith("2 hook failures in the last 7 days.")) == ("warning", True)
    assert "of codex" in what
    assert "StorageError" in what
    assert remedy.startswith("It happened in code_intel.foundation.durable:")
