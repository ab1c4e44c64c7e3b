"""Files of a repository name nothing outside of it: a hostile clone beside the user's files."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from code_intel.config import FOREST_CONFIG, MAP_CONFIG, Settings, load_settings
from code_intel.errors import ConfigError
from code_intel.index.facade import Index
from code_intel.index.walk import scan
from code_intel.tools.context.corpus_service import open_project

DIARY = "the diary of the user"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a clone in a folder that also has files of the user."""
    root = tmp_path / "clone"
    (root / ".git").mkdir(parents=True)
    (root / "src").mkdir()
    (root / "src" / "a.md").write_text("# A\n\nof the project\n", encoding="utf-8")
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "diary.md").write_text(f"# Diary\n\n{DIARY}\n", encoding="utf-8")
    return root


def settings(root: Path, **more: str) -> Settings:
    environ = {"CODE_INTEL_CACHE_DIR": str(root.parent / "cache"), "CODE_INTEL_EMBEDDING": "off"}
    return load_settings(root, environ | more)


def configured(root: Path, name: str = FOREST_CONFIG, **keys: object) -> None:
    (root / name).write_text(json.dumps(keys), encoding="utf-8")


def indexed(found: Settings) -> set[str]:
    return {Path(name).name for name in scan(found.forest).files}


@pytest.mark.parametrize("pattern", ["../private", "{outside}", "../private/*.md", "src/../../*"])
def test_a_pattern_indexes_no_file_outside_the_clone(clone: Path, pattern: str) -> None:
    outside = str(clone.parent / "private")
    configured(clone, document_patterns=[pattern.format(outside=outside), "src"])
    found = settings(clone)
    assert indexed(found) == {"a.md"}
    assert any("outside the project" in note for note in found.forest.notes)


def test_a_link_as_a_folder_of_a_pattern_leads_nowhere(clone: Path) -> None:
    (clone / "docs").symlink_to(clone.parent / "private")
    configured(clone, document_patterns=["docs", "src"])
    assert indexed(settings(clone)) == {"a.md"}


def test_a_link_that_appears_while_a_server_runs_leads_nowhere(clone: Path) -> None:
    configured(clone, document_patterns=["docs", "src"])
    (clone / "docs").mkdir()
    found = settings(clone)
    (clone / "docs").rmdir()
    (clone / "docs").symlink_to(clone.parent / "private")
    assert indexed(found) == {"a.md"}


def test_the_user_may_allow_a_folder(clone: Path) -> None:
    outside = str(clone.parent / "private")
    configured(clone, document_patterns=["../private", "src"])
    assert indexed(settings(clone, CODE_INTEL_OUTSIDE_FOLDERS=outside)) == {"a.md", "diary.md"}
    with pytest.raises(ConfigError, match="absolute"):
        settings(clone, CODE_INTEL_OUTSIDE_FOLDERS="private")
    config = clone / ".code-intel" / "config.toml"
    config.parent.mkdir()
    config.write_text(f'outside_folders = "{outside}"\n', encoding="utf-8")
    assert indexed(settings(clone)) == {"a.md"}


def test_a_project_in_a_folder_of_a_clone_may_name_the_others(clone: Path) -> None:
    inner = clone / "inner"
    inner.mkdir()
    configured(inner, document_patterns=["../src", "../../private"])
    assert indexed(settings(inner)) == {"a.md"}


@pytest.mark.parametrize(
    "path", ["../.zshenv", "{outside}/x.db", "link.db", "linked/x.db", "wal.db"]
)
def test_a_database_is_not_written_outside_the_clone(clone: Path, path: str) -> None:
    (clone / "link.db").symlink_to(clone.parent / ".zshenv")
    (clone / "linked").symlink_to(clone.parent / "private")
    (clone / "wal.db-wal").symlink_to(clone.parent / ".zshenv")
    text = path.format(outside=clone.parent / "private")
    before = set(clone.parent.rglob("*"))
    configured(clone, document_patterns=["src"], db_path=text)
    found = settings(clone)
    assert found.forest.db_path.is_relative_to(clone.parent / "cache")
    for service in open_project(found):
        service.index.complete(words_only=True)
        service.index.close()
    written = {path for path in set(clone.parent.rglob("*")) - before if path.is_file()}
    assert all(path.is_relative_to(clone) or "cache" in path.parts for path in written)
    with Index(found.forest, readonly=True) as index:
        assert len(index.store.documents()) == 1


@pytest.mark.parametrize(
    "link", [".code-intel", ".code-intel/vectors-forest.db", ".code-intel/agreements"]
)
def test_a_state_folder_that_leads_out_is_refused(clone: Path, link: str) -> None:
    path = clone / link
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(clone.parent / "private")
    with pytest.raises(ConfigError, match="leads out of the project") as caught:
        settings(clone)
    assert "CODE_INTEL_OUTSIDE_FOLDERS" in caught.value.hint
    settings(clone, CODE_INTEL_OUTSIDE_FOLDERS=str(clone.parent / "private"))


def test_a_link_inside_the_clone_is_followed(clone: Path) -> None:
    (clone / "own").mkdir()
    (clone / ".code-intel").symlink_to(clone / "own")
    assert settings(clone).agreements == clone / ".code-intel" / "agreements"


def test_agreements_are_not_written_into_another_project(clone: Path) -> None:
    other = clone.parent / "other" / ".code-intel" / "agreements"
    other.mkdir(parents=True)
    configured(clone, MAP_CONFIG, document_patterns=["../other/.code-intel/agreements"])
    assert settings(clone).agreements == clone / ".code-intel" / "agreements"


def test_a_configuration_without_limits_is_the_callers_choice(clone: Path) -> None:
    configured(clone, document_patterns=["../private"])
    found = settings(clone, CODE_INTEL_OUTSIDE_FOLDERS="/")
    free = replace(found.forest, within=())
    assert set(scan(free).files) == {str(clone.parent / "private" / "diary.md")}
