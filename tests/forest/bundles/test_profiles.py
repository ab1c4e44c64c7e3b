"""Test the file in which users change the weights of evidence."""

from pathlib import Path

import pytest

from code_intel.errors import ConfigError
from code_intel.forest.bundles.profiles import PROFILES, PROFILES_FILE, Profile, choose, load


def written(folder: Path, text: str) -> Path:
    (folder / PROFILES_FILE).write_text(text, encoding="utf-8")
    return folder


def test_without_a_file_the_shipped_profiles_are_used(tmp_path: Path) -> None:
    assert choose("bugfix", tmp_path) == ("bugfix", PROFILES["bugfix"], ())
    assert choose("", tmp_path).name == "default"


def test_a_file_changes_single_weights_and_adds_profiles(tmp_path: Path) -> None:
    written(tmp_path, "[bugfix]\ndependency = 0.9\n[review]\nproximity = 1\n")
    assert choose("bugfix", tmp_path).weights == PROFILES["bugfix"]._replace(dependency=0.9)
    assert choose("review", tmp_path).weights == Profile(proximity=1.0)
    assert choose("feature", tmp_path).weights == PROFILES["feature"]


def test_a_new_profile_starts_from_the_users_default(tmp_path: Path) -> None:
    written(tmp_path, "[aside]\nproximity = 1\n[default]\ntextMatch = 2\n")
    assert choose("aside", tmp_path).weights == Profile(text_match=2.0, proximity=1.0)


def test_an_unknown_profile_is_replaced_by_default_with_a_warning(tmp_path: Path) -> None:
    chosen = choose("bugfixing", tmp_path)
    assert (chosen.name, chosen.weights) == ("default", PROFILES["default"])
    assert "bugfixing" in chosen.warnings[0]
    assert "testfail" in chosen.warnings[0]


def test_an_unknown_weight_is_ignored_with_a_suggestion(tmp_path: Path) -> None:
    _, warnings = load(written(tmp_path, "[bugfix]\ndependancy = 0.9\n") / PROFILES_FILE)
    assert "bugfix.dependancy" in warnings[0]
    assert "did you mean dependency" in warnings[0]


@pytest.mark.parametrize("value", ["-1", "11", '"much"', "true", "nan", "inf", "[1]"])
def test_an_invalid_weight_is_refused_with_file_profile_and_key(tmp_path: Path, value: str) -> None:
    written(tmp_path, f"[bugfix]\nstructural = {value}\n")
    with pytest.raises(ConfigError, match=rf"{PROFILES_FILE}: \[bugfix\] structural") as caught:
        choose("default", tmp_path)
    assert caught.value.details == {"field": "structural", "profile": "bugfix"}
    assert PROFILES_FILE in caught.value.hint


@pytest.mark.parametrize("text", ["bugfix = 1\n", "[bugfix\n", "\x00"])
def test_a_malformed_file_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match=PROFILES_FILE):
        choose("default", written(tmp_path, text))
