"""`code-intel workspace` chooses other projects, and `search` and `refs` look into them."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from code_intel.config import load_settings
from code_intel.tools.context.repositories.workspace import is_name, workspace_file
from programs import git
from projects import Project, file_tree
from terminal import COLOUR_CODE

ADD = ("workspace", "add")


@pytest.fixture
def twin(indexed_shop: Path, tmp_path: Path) -> Path:
    """Another project, with the same files and a remote."""
    root = Path(shutil.copytree(indexed_shop, tmp_path / "other" / "twin"))
    git(root, "remote", "add", "origin", "https://user:hidden@example.com/team/twin.git")
    return root


def out(project: Project, *words: str, code: int = 0) -> str:
    done = project.call("code-intel", *words, check=False)
    assert done.returncode == code, done.stderr
    return COLOUR_CODE.sub("", done.stdout)


def error(project: Project, *words: str) -> str:
    done = project.call("code-intel", *words, check=False)
    assert done.returncode in {1, 2}, done.stdout
    return done.stderr


def test_a_project_is_added_listed_searched_and_removed(shop: Project, twin: Path) -> None:
    assert out(shop, *ADD, str(twin), "--dry-run").startswith("Would add team/twin  ")
    assert len(json.loads(out(shop, "workspace", "list", "--json"))["projects"]) == 1
    assert out(shop, *ADD, str(twin / "src")).startswith("Added team/twin  ")
    own, other = json.loads(out(shop, "workspace", "list", "--json"))["projects"]
    assert (own["name"], own["own"], own["path"]) == ("shop", True, str(shop.root))
    assert (other["name"], other["own"], other["path"]) == ("team/twin", False, str(twin))
    assert (other["index"], len(other["commit"])) == ("fresh", 40)
    assert "hidden" not in json.dumps(other)
    assert "team/twin  " in out(shop, "workspace", "list")
    assert out(shop, "workspace", "remove", "team/twin", "--dry-run").startswith("Would remove")
    gone = json.loads(out(shop, "workspace", "remove", str(twin), "--json"))
    assert gone == {"name": "team/twin", "path": str(twin), "dry_run": False}
    assert "No other project" in out(shop, "workspace", "list")
    assert "workspace list" in error(shop, "workspace", "remove", "team/twin")


def test_each_line_of_a_search_shows_the_repository(shop: Project, twin: Path) -> None:
    out(shop, *ADD, str(twin))
    everywhere = out(shop, "search", "--all", "total price of the cart", "--top-k", "20")
    heads = [line for line in everywhere.splitlines() if line[:1].isdigit()]
    assert {line.split()[1] for line in heads} == {"shop:", "team/twin:"}
    data = json.loads(out(shop, "search", "--repo", "twin", "--json", "total price of the cart"))
    assert {row["repository"] for row in data["results"]} == {"team/twin"}
    assert {row["commit"] for row in data["results"]} == {
        git(twin, "rev-parse", "HEAD").strip()[:12]
    }
    both = json.loads(
        out(shop, "search", "--repo", "twin", "--repo", "shop", "cart", "--json", "--top-k", "20")
    )
    assert {row["repository"] for row in both["results"]} == {"shop", "team/twin"}
    explained = out(shop, "search", "--all", "cart", "--explain")
    assert "ranking: words" in explained


def test_refs_show_who_uses_a_symbol_elsewhere(shop: Project, twin: Path) -> None:
    out(shop, *ADD, str(twin))
    alone = out(shop, "refs", "verify_password").splitlines()
    everywhere = out(shop, "refs", "--all", "verify_password").splitlines()
    assert everywhere[: len(alone)] == alone
    assert everywhere[len(alone) :]
    assert all(line.startswith("team/twin: src/") for line in everywhere[len(alone) :])
    data = json.loads(out(shop, "refs", "--repo", "twin", "verify_password", "--json"))
    assert data["elsewhere_total"] == len(data["elsewhere"]) == len(everywhere) - len(alone)
    (shop.root / "src" / "auth" / "service.py").unlink()
    gone = out(shop, "refs", "--all", "verify_password", "src/cart")
    assert gone.startswith("team/twin: ")  # and exits with 0


def test_a_clash_of_names_names_both_projects(shop: Project, twin: Path, tmp_path: Path) -> None:
    out(shop, *ADD, str(twin))
    second = Path(shutil.copytree(twin, tmp_path / "second"))
    said = error(shop, *ADD, str(second))
    assert str(twin) in said
    assert str(second) in said
    assert "--name NAME" in said
    assert out(shop, *ADD, str(second), "--name", "fork/twin").startswith("Added fork/twin")
    assert "fork/twin" in error(shop, "search", "--repo", "twin", "cart")
    said = error(shop, *ADD, str(second), "--name", "shop")
    assert str(shop.root) in said
    # The same folder again is renamed, not added twice.
    out(shop, *ADD, str(second), "--name", "third")
    names = [
        row["name"] for row in json.loads(out(shop, "workspace", "list", "--json"))["projects"]
    ]
    assert names == ["shop", "team/twin", "third"]


@pytest.mark.parametrize("name", ["../x", "a//b", "a b", ".", "..", "*", "/", "a/", "a/../b"])
def test_a_malformed_name_is_refused(shop: Project, twin: Path, name: str) -> None:
    assert not is_name(name)
    assert "cannot be the name" in error(shop, *ADD, str(twin), f"--name={name}")


def test_what_is_no_other_project_is_refused_with_the_next_step(
    shop: Project, tmp_path: Path
) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    assert "code-intel sync" in error(shop, *ADD, str(plain))
    assert "is not a folder" in error(shop, *ADD, str(tmp_path / "missing"))
    assert "this project itself" in error(shop, *ADD, str(shop.root / "src"))
    assert "contains all of your projects" in error(shop, *ADD, "/")
    assert not workspace_list(shop).exists()


def test_a_deleted_project_is_noted_and_can_be_removed(shop: Project, twin: Path) -> None:
    out(shop, *ADD, str(twin))
    shutil.rmtree(twin)
    assert "does not exist" in out(shop, "workspace", "list")
    found = out(shop, "search", "--all", "total price of the cart")
    assert "shop: src/cart/cart.py" in found
    assert "team/twin is not searched" in found
    assert "workspace remove team/twin" in error(shop, "search", "--repo", "twin", "cart")
    out(shop, "workspace", "remove", str(twin))


def test_options_of_one_project_are_refused_with_others(shop: Project) -> None:
    for words in (("--map",), ("--why-not", "src/cart/cart.py"), ("--include", "own")):
        assert "exclude each other" in error(shop, "search", "--all", *words, "cart")
        assert "exclude each other" in error(shop, "search", "--repo", "x", *words, "cart")


@pytest.mark.parametrize(
    "text", ["", "[]", '{"version": 1}', '{"version": 1, "projects": [{"name": 1}]}', "\0"]
)
def test_a_malformed_list_is_named_with_the_next_step(shop: Project, text: str) -> None:
    file = workspace_list(shop)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    assert str(file) in error(shop, "workspace", "list")
    assert "workspace add" in error(shop, "search", "--all", "cart")


def test_a_list_of_a_newer_version_is_left_alone(shop: Project, twin: Path) -> None:
    file = workspace_list(shop)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('{"version": 2, "projects": []}', "utf-8")
    assert "Upgrade" in error(shop, *ADD, str(twin))
    assert file.read_text("utf-8") == '{"version": 2, "projects": []}'


def test_the_project_itself_does_not_change(shop: Project, twin: Path) -> None:
    before = file_tree(shop.root)
    out(shop, *ADD, str(twin))
    assert file_tree(shop.root) == before


def workspace_list(shop: Project) -> Path:
    return workspace_file(load_settings(shop.root, shop.env))


def test_lines_elsewhere_are_not_followed_by_a_denial(shop: Project, twin: Path) -> None:
    (twin / "only.py").write_text("def lonely():\n    pass\n\n\nlonely()\n", encoding="utf-8")
    there = replace(shop, root=twin)
    out(there, "sync")
    out(shop, *ADD, str(twin))
    done = shop.call("code-intel", "refs", "--all", "lonely")
    assert "only.py" in done.stdout
    assert "No reference" not in done.stderr
    assert "No reference to lonely" in shop.call("code-intel", "refs", "lonely", check=False).stderr
