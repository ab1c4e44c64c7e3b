"""The repository is its own first project: its agreements must hold of its own code."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from code_intel.config import load_settings
from code_intel.index.facade import Index
from code_intel.learned.status.agreement_status import standings
from projects import files_of_own_agreements

ROOT = Path(__file__).resolve().parents[2]


def test_the_symbols_of_our_own_agreements_are_defined(tmp_path: Path) -> None:
    settings = load_settings(ROOT, {})
    files = tuple(files_of_own_agreements())
    forest = Index(replace(settings.forest, patterns=files, db_path=tmp_path / "forest.db"))
    try:
        forest.complete(words_only=True)
        found = standings(settings, forest)
    finally:
        forest.close()
    assert len(found) >= 10
    wrong = {
        s.entry.path.name: s.reasons
        for s in found
        if s.validity in {"broken", "invalid", "conflict"}
    }
    assert wrong == {}


def test_set_up_finds_nothing_to_add_here() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "code_intel", "init", "--dry-run", "--json", str(ROOT)],
        capture_output=True,
        check=True,
    )
    actions = {each["file"]: each["action"] for each in json.loads(done.stdout)["changes"]}
    assert set(actions.values()) == {"keep"}, actions
