"""Nothing is sent to a server that only the repository names."""

from pathlib import Path

import pytest

from code_intel.cli.setup.shared_setup import trust
from code_intel.config import ci_branch, load_settings
from code_intel.config.shared import is_repository, is_server, sends_in_clear

URL = "https://code.example.com/intel"
TOKEN = {"CODE_INTEL_SHARED_TOKEN": "t0ken"}


def project(tmp_path: Path, text: str = f'[shared]\nurl = "{URL}"\n') -> Path:
    file = tmp_path / "shop" / ".code-intel" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(text, encoding="utf-8")
    return tmp_path / "shop"


def environ(tmp_path: Path, **more: str) -> dict[str, str]:
    return {"CODE_INTEL_STATE_DIR": str(tmp_path / "state"), **more}


def test_a_project_without_the_table_uses_no_server(tmp_path: Path) -> None:
    shared = load_settings(project(tmp_path, ""), environ(tmp_path)).shared
    assert (shared.url, shared.is_usable, shared.map) == ("", False, False)


def test_a_url_in_the_repository_is_not_used_until_the_user_has_named_it(tmp_path: Path) -> None:
    root = project(tmp_path)
    settings = load_settings(root, environ(tmp_path, **TOKEN))
    assert not settings.shared.is_usable
    assert f"code-intel init --shared {URL}" in settings.shared.problem
    trust(settings, URL)
    assert load_settings(root, environ(tmp_path)).shared.is_usable
    trust(settings, "")
    assert not load_settings(root, environ(tmp_path)).shared.is_usable


def test_trust_in_one_project_is_not_trust_in_another(tmp_path: Path) -> None:
    trust(load_settings(project(tmp_path), environ(tmp_path)), URL)
    other = project(tmp_path / "other")
    assert not load_settings(other, environ(tmp_path)).shared.is_usable


def test_a_url_that_changes_in_the_repository_is_not_used(tmp_path: Path) -> None:
    root = project(tmp_path)
    trust(load_settings(root, environ(tmp_path)), URL)
    (root / ".code-intel" / "config.toml").write_text(
        '[shared]\nurl = "https://evil.example.com"\n', encoding="utf-8"
    )
    assert not load_settings(root, environ(tmp_path)).shared.is_usable


def test_a_list_of_servers_that_the_repository_brings_does_not_count(tmp_path: Path) -> None:
    root = project(tmp_path)
    (tmp_path / ".git").mkdir()  # the clone contains the project and the folder of the state
    inside = {"CODE_INTEL_STATE_DIR": str(tmp_path / "state")}
    trust(load_settings(root, inside), URL)
    assert not load_settings(root, inside).shared.is_usable
    (tmp_path / ".git").rmdir()
    assert load_settings(root, inside).shared.is_usable


def test_a_url_of_the_environment_is_used(tmp_path: Path) -> None:
    given = environ(tmp_path, CODE_INTEL_SHARED_URL=f"{URL}/")
    shared = load_settings(project(tmp_path), given).shared
    assert (shared.url, shared.is_usable) == (URL, True)


def test_the_token_comes_from_the_environment_only_and_is_never_shown(tmp_path: Path) -> None:
    root = project(tmp_path, f'[shared]\nurl = "{URL}"\ntoken = "from-the-file"\n')
    settings = load_settings(root, environ(tmp_path))
    assert settings.shared.token == ""
    assert any("CODE_INTEL_SHARED_TOKEN" in warning for warning in settings.warnings)
    settings = load_settings(root, environ(tmp_path, **TOKEN))
    assert settings.shared.token == "t0ken"  # noqa: S105 - not a real one
    assert "t0ken" not in repr(settings)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CODE_INTEL_SHARED_URL", "ftp://example.com"),
        ("CODE_INTEL_SHARED_URL", "https://user:secret@example.com"),
        ("CODE_INTEL_SHARED_TOKEN", "two words"),
        ("CODE_INTEL_SHARED_TOKEN", "a\nHost: evil"),
        ("CODE_INTEL_SHARED_REPOSITORY", "../other"),
    ],
)
def test_a_value_that_cannot_be_used_is_named(tmp_path: Path, name: str, value: str) -> None:
    given = {"CODE_INTEL_SHARED_URL": URL, name: value}
    shared = load_settings(project(tmp_path), environ(tmp_path, **given)).shared
    assert not shared.is_usable
    assert "secret" not in shared.problem
    assert "evil" not in shared.problem


@pytest.mark.parametrize(
    "url", ["https://a.example", "http://127.0.0.1:8770", "https://[::1]:1/x", "http://localhost"]
)
def test_addresses_of_servers(url: str) -> None:
    assert is_server(url)


@pytest.mark.parametrize(
    "url",
    ["", "a.example", "https://", "https://a/?b", "https://a/#b", "https://a b", 'https://a"b'],
)
def test_other_texts_are_no_addresses(url: str) -> None:
    assert not is_server(url)


def test_names_of_repositories() -> None:
    assert all(map(is_repository, ["shop", "team/shop", "a/b/c.d-e_f", "~u/x", "a/.github"]))
    assert not any(
        map(is_repository, ["", "/a", "a/", "a//b", "a/../b", "a b", "日本", "a\n", ".", "a/."])
    )


@pytest.mark.parametrize(
    ("url", "clear"),
    [("http://example.com", True), ("https://example.com", False), ("http://127.0.0.1:1", False)],
)
def test_a_token_in_clear_text_is_noticed(tmp_path: Path, url: str, clear: bool) -> None:  # noqa: FBT001
    given = environ(tmp_path, CODE_INTEL_SHARED_URL=url, **TOKEN)
    assert sends_in_clear(load_settings(project(tmp_path), given).shared) is clear


@pytest.mark.parametrize(
    ("variables", "branch"),
    [
        ({"GITHUB_REF_NAME": "main"}, "main"),
        ({"GITHUB_HEAD_REF": "fix", "GITHUB_REF_NAME": "12/merge"}, "fix"),
        ({"GITHUB_REF_NAME": "v1", "GITHUB_REF_TYPE": "tag"}, ""),
        ({"CI_COMMIT_BRANCH": "feature/a"}, "feature/a"),
        ({"BUILD_SOURCEBRANCH": "refs/heads/main"}, "main"),
        ({"BUILD_SOURCEBRANCH": "refs/pull/1/merge"}, ""),
        ({"GIT_BRANCH": "origin/main"}, "main"),
        ({}, ""),
    ],
)
def test_the_variables_of_ci_services_name_the_branch(
    variables: dict[str, str], branch: str
) -> None:
    assert ci_branch(variables) == branch
