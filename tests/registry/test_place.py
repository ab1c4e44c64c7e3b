"""Check where registries are searched."""

from pathlib import Path

import pytest

from code_intel.registry import place
from registry_files import configured, document, written


@pytest.fixture
def within(tmp_path: Path) -> tuple[Path, ...]:
    project, home = tmp_path / "home" / "work", tmp_path / "home"
    project.mkdir(parents=True)
    return place.roots(project, home)


def test_the_project_comes_before_the_home(within: tuple[Path, ...]) -> None:
    project, home = within
    assert place.first(place.REGISTRY, within) is None
    at_home = written(home, document())
    assert place.first(place.REGISTRY, within) == at_home
    here = written(project, document())
    assert place.first(place.REGISTRY, within) == here


def test_broken_link_is_found(within: tuple[Path, ...]) -> None:
    project, home = within
    written(home, document())
    link = project / place.REGISTRY
    link.parent.mkdir(parents=True)
    link.symlink_to("nothing")
    assert place.first(place.REGISTRY, within) == link


@pytest.mark.parametrize("root", ["/", "home"])
def test_file_system_root_is_no_home_folder(root: str, tmp_path: Path) -> None:
    (tmp_path / "home").symlink_to("/")
    home = Path("/") if root == "/" else tmp_path / "home"
    assert place.roots(tmp_path, home) == (tmp_path,)


def test_names_resolve_inside_the_project_or_the_agents_of_the_home(
    within: tuple[Path, ...],
) -> None:
    project, home = within
    name = ".agent/b.json"
    assert place.candidates(name, within) == (project / name, home / name)
    assert place.candidates("a/b.json", within) == (project / "a/b.json",)
    assert place.candidates("../b.json", within) == ()
    assert place.candidates("../../b.json", within) == ()
    assert place.candidates("/etc/passwd", within) == ()


def test_links_are_resolved_before_the_check(within: tuple[Path, ...], tmp_path: Path) -> None:
    project, home = within
    (tmp_path / "outside.json").touch()
    (home / "mine.json").touch()
    (project / "out.json").symlink_to(tmp_path / "outside.json")
    (project / "in.json").symlink_to(home / "mine.json")
    assert place.confined(project / "out.json", within) is None
    assert place.confined(project / "in.json", within) is None
    (home / ".agent").mkdir()
    (home / ".agent" / "own.json").symlink_to(home / "mine.json")  # the user's own link
    own = home / ".agent" / "own.json"
    assert place.confined(own, within) == (home / "mine.json").resolve()


def test_project_behind_a_link_has_its_registry(tmp_path: Path) -> None:
    real, home = tmp_path / "real", tmp_path / "home"
    home.mkdir()
    written(real, document())
    (tmp_path / "link").symlink_to(real)
    within = place.roots(tmp_path / "link", home)
    found = place.first(place.REGISTRY, within)
    assert found is not None
    assert place.confined(found, within) == (real / place.REGISTRY).resolve()
    assert place.shown(found, within) == place.REGISTRY


def test_messages_show_relative_paths(within: tuple[Path, ...]) -> None:
    project, home = within
    assert place.shown(project / place.REGISTRY, within) == ".agent/climpt/registry.json"
    assert place.shown(home / place.REGISTRY, within) == "~/.agent/climpt/registry.json"
    assert place.shown(project / "a\nb.json", within) == "a\\nb.json"
    assert place.shown(Path("/etc/passwd"), within) == "/etc/passwd"


def test_registry_in_the_home_folder_is_not_the_projects(within: tuple[Path, ...]) -> None:
    project, home = within
    written(home, document())
    assert not place.has_registry(project)
    configured(project, climpt="elsewhere.json")
    assert place.has_registry(project)


def test_prompts_are_beside_their_registry(tmp_path: Path) -> None:
    assert place.prompts_of(tmp_path / place.REGISTRY) == tmp_path / ".agent/climpt/prompts"
