"""init proposes the language of the map's headings and the folders of decision records."""

import json
from pathlib import Path

import pytest

from code_intel.cli.setup.init import apply, setup
from code_intel.cli.setup.map_setup import records_notes
from code_intel.cli.setup.removal import removal
from code_intel.config import load_settings

RECORD = "# 1. Use files\n\n## Status\n\nAccepted\n\n## Decision\n\nWe use files.\n"
ENGLISH = "This project computes the shipping fee of a cart and prints it for the customer. " * 4
JAPANESE = "このプロジェクトは、カートの送料を計算して、`shipping_fee` が返します。" * 8


@pytest.mark.parametrize(("text", "language"), [(ENGLISH, "en"), (JAPANESE, "ja")])
def test_the_language_is_that_of_the_readme(tmp_path: Path, text: str, language: str) -> None:
    (tmp_path / "README.md").write_text(f"# Shop\n\n{text}\n", "utf-8")
    apply(setup(tmp_path))
    assert load_settings(tmp_path, {}).language == language
    assert f'language = "{language}"' in (tmp_path / ".code-intel/config.toml").read_text("utf-8")
    apply(removal(tmp_path))
    assert not (tmp_path / ".code-intel").exists()


def test_without_text_no_settings_are_written(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Shop\n", "utf-8")
    apply(setup(tmp_path))
    assert not (tmp_path / ".code-intel" / "config.toml").exists()
    assert load_settings(tmp_path, {}).language == "ja"


def test_own_settings_are_never_changed_or_removed(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(ENGLISH, "utf-8")
    (tmp_path / ".code-intel").mkdir()
    file = tmp_path / ".code-intel" / "config.toml"
    file.write_text("expire_days = 7\n", "utf-8")
    apply(setup(tmp_path))
    apply(removal(tmp_path))
    assert file.read_text("utf-8") == "expire_days = 7\n"


def test_a_folder_of_records_becomes_a_pattern_of_the_map(tmp_path: Path) -> None:
    (tmp_path / "docs" / "adr").mkdir(parents=True)
    (tmp_path / "docs" / "adr" / "0001-use-files.md").write_text(RECORD, "utf-8")
    (tmp_path / "doc" / "adr").mkdir(parents=True)
    (tmp_path / "doc" / "adr" / "README.md").write_text("# Nothing yet\n", "utf-8")
    apply(setup(tmp_path))
    config = json.loads((tmp_path / "devrag-map.json").read_text("utf-8"))
    assert config["document_patterns"] == ["./.code-intel/agreements", "./docs/adr"]
    settings = load_settings(tmp_path, {})
    assert settings.decisions == (tmp_path / "docs" / "adr",)
    assert settings.agreements == tmp_path / ".code-intel" / "agreements"
    assert records_notes(tmp_path, settings) == []
    apply(removal(tmp_path))
    assert not (tmp_path / "devrag-map.json").exists()


def test_init_says_how_to_add_a_folder_to_an_existing_configuration(tmp_path: Path) -> None:
    apply(setup(tmp_path))
    (tmp_path / "docs" / "adr").mkdir(parents=True)
    (tmp_path / "docs" / "adr" / "0001-use-files.md").write_text(RECORD, "utf-8")
    before = (tmp_path / "devrag-map.json").read_bytes()
    apply(setup(tmp_path))
    assert (tmp_path / "devrag-map.json").read_bytes() == before
    (note,) = records_notes(tmp_path, load_settings(tmp_path, {}))
    assert '"./docs/adr"' in note


@pytest.mark.parametrize("pattern", [".", "./docs", "docs/*.md", "./.code-intel"])
def test_the_folder_of_the_agreements_and_what_contains_it_hold_no_records(
    tmp_path: Path, pattern: str
) -> None:
    patterns = ["./.code-intel/agreements", pattern]
    (tmp_path / "devrag-map.json").write_text(json.dumps({"document_patterns": patterns}), "utf-8")
    found = load_settings(tmp_path, {}).decisions
    assert found == ((tmp_path / "docs",) if "docs" in pattern else ())
