"""What `code-intel doctor` says of a project's sessions."""

import json
from dataclasses import replace
from pathlib import Path

from code_intel.config import load_settings
from code_intel.session import journal
from code_intel.session.phases import Intent
from code_intel.tools.context.gateway import sessions_of
from projects import Project


def findings(shop: Project) -> list[tuple[str, str, str]]:
    rows = json.loads(shop.call("code-intel", "doctor", "--json").stdout)["findings"]
    return [(r["level"], r["what"], r["remedy"]) for r in rows if r["area"] == "sessions"]


def within(shop: Project, state: Path) -> Project:
    return replace(shop, env={**shop.env, "CODE_INTEL_STATE_DIR": str(state)})


def test_a_journal_that_was_edited_is_told_with_what_to_do(shop: Project, tmp_path: Path) -> None:
    shop = within(shop, tmp_path / "state")
    place = sessions_of(load_settings(shop.root, shop.env))
    names = [journal.create(place, Intent.MODIFY, "fix").session.name for _ in range(2)]
    assert findings(shop) == [("info", "2 sessions can be replayed.", "")]
    file = place.journal(names[0])
    file.write_bytes(file.read_bytes().replace(b"MODIFY", b"DELETE"))
    ((level, what, remedy),) = findings(shop)
    assert (level, names[0] in what) == ("warning", True)
    assert "start a new session" in remedy


def test_a_state_folder_inside_the_project_is_told(shop: Project) -> None:
    ((level, what, remedy),) = findings(within(shop, shop.root / "state"))
    assert (level, "inside the project" in what) == ("warning", True)
    assert "CODE_INTEL_STATE_DIR" in remedy
