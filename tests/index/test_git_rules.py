"""Test that the forest has the files that git lists, or would list."""

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from code_intel.forest.text import plain
from code_intel.forest.text.grep import grep
from code_intel.forest.text.matches import TextQuery
from code_intel.index import walk
from code_intel.index.corpus import EXCLUDED_FOLDERS
from code_intel.index.ignore import walk_folder
from index.test_walk import config, listed, names, write
from programs import git

LOCAL = ("-c", "protocol.file.allow=always")


@pytest.fixture(autouse=True)
def global_excludes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give git the global excludes of a person: editors' files and one folder."""
    home = tmp_path_factory.mktemp("home")
    (home / "excludes").write_text("*.swp\n/scratch/\n", encoding="utf-8")
    (home / "gitconfig").write_text(
        f"[core]\n\texcludesFile = {home / 'excludes'}\n", encoding="utf-8"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_CONFIG_GLOBAL", str(home / "gitconfig"))
        yield


def commit(root: Path) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-qm", "as it is")


def repository(root: Path, *files: str) -> Path:
    write(root, *files)
    git(root, "init", "-q", "-b", "main")
    commit(root)
    return root


def test_only_the_ignore_rules_of_git_apply(tmp_path: Path) -> None:
    root = repository(
        tmp_path / "p",
        "a.py",
        "tracked.log",
        "gone.py",
        "src/b.py",
        "src/keep/c.gen",
        "node_modules/d.js",
    )
    write(root, "e.log", "keep.log", "src/f.gen", "src/keep/g.gen", "h.swp", "scratch/i.py",
          "private/j.py", "k.tmp", "build/l.py", "src/build/m.py", "n.py")  # fmt: skip
    (root / ".gitignore").write_text("*.log\n!keep.log\n/build/\n*.gen\n", encoding="utf-8")
    (root / "src" / "keep" / ".gitignore").write_text("!*.gen\n", encoding="utf-8")
    (root / ".git" / "info" / "exclude").write_text("private\n", encoding="utf-8")
    (root / ".ignore").write_text("n.py\n", encoding="utf-8")
    (root / "gone.py").unlink()
    assert names(config(root)) == listed(root)
    assert listed(root) == sorted(
        [
            ".gitignore",
            ".ignore",
            "a.py",
            "k.tmp",
            "keep.log",
            "n.py",
            "node_modules/d.js",
            "src/b.py",
            "src/build/m.py",
            "src/keep/.gitignore",
            "src/keep/c.gen",
            "src/keep/g.gen",
            "tracked.log",
        ]
    )
    assert names(config(root, "src")) == [name for name in listed(root) if name.startswith("src/")]


def test_a_text_search_reads_the_indexed_files(tmp_path: Path) -> None:
    root = repository(tmp_path / "p", "a.py", "src/b.py")
    write(root, "c.log", "e.py")
    (root / ".gitignore").write_text("*.log\n", encoding="utf-8")
    (root / ".ignore").write_text("e.py\n", encoding="utf-8")
    (root / "src" / ".rgignore").write_text("b.py\n", encoding="utf-8")
    found = anyio.run(grep, root, TextQuery("text of"))
    indexed = [name for name in names(config(root)) if not Path(name).name.startswith(".")]
    assert [match.file for match in found.matches] == indexed == ["a.py", "e.py", "src/b.py"]


def test_a_text_search_without_ripgrep_reads_the_indexed_files(tmp_path: Path) -> None:
    root = repository(tmp_path / "p", "a.py", "src/b.py")
    repository(root / "inner", "c.py", "deep/d.py")
    write(root, "e.log", "inner/f.log")
    (root / ".gitignore").write_text("*.log\n", encoding="utf-8")
    found = plain.search(root, TextQuery("text of"), ".", timeout_s=30)
    indexed = [name for name in names(config(root)) if name != ".gitignore"]
    assert [match.file for match in found.matches] == indexed
    assert {"inner/c.py", "inner/deep/d.py", "inner/f.log"} < set(indexed)


def test_a_second_work_tree_has_the_same_rules(tmp_path: Path) -> None:
    root = repository(tmp_path / "p", "a.py", "src/b.py")
    (root / ".git" / "info" / "exclude").write_text("*.log\n", encoding="utf-8")
    git(root, "worktree", "add", "-q", "-b", "other", str(tmp_path / "beside"))
    git(root, "worktree", "add", "-q", "-b", "third", str(root / "inside"))
    write(tmp_path / "beside", "c.py", "d.log", "e.swp")
    assert names(config(tmp_path / "beside")) == listed(tmp_path / "beside")
    assert names(config(tmp_path / "beside")) == ["a.py", "c.py", "src/b.py"]
    assert names(config(root)) == ["a.py", "src/b.py"]  # not the second work tree inside


def test_a_submodule_has_its_own_rules(tmp_path: Path) -> None:
    library = repository(tmp_path / "lib", "l.py")
    root = repository(tmp_path / "p", "a.py")
    git(root, *LOCAL, "submodule", "add", "-q", str(library), "vendor/lib")
    commit(root)
    write(root, "vendor/lib/new.py", "vendor/lib/x.swp", "vendor/lib/y.log")
    (root / "vendor" / "lib" / ".gitignore").write_text("*.log\n", encoding="utf-8")
    expected = [f"vendor/lib/{name}" for name in listed(root / "vendor" / "lib")]
    assert names(config(root)) == sorted([".gitmodules", "a.py", *expected])
    assert expected == ["vendor/lib/.gitignore", "vendor/lib/l.py", "vendor/lib/new.py"]


@pytest.mark.parametrize("inside", [(), ("b.py", "node_modules/c.js")])
def test_a_missing_submodule_hides_no_file(tmp_path: Path, inside: tuple[str, ...]) -> None:
    library = repository(tmp_path / "lib", "l.py")
    root = repository(tmp_path / "p", "a.py")
    git(root, *LOCAL, "submodule", "add", "-q", str(library), "lib")
    commit(root)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(root), str(clone))
    write(clone / "lib", *inside)
    found = ["lib/b.py"] if inside else []
    assert names(config(clone)) == [".gitmodules", "a.py", *found]
    assert names(config(clone, "lib")) == found


def test_a_nested_repository_that_git_cannot_read_is_walked(tmp_path: Path) -> None:
    root = repository(tmp_path / "p", "a.py")
    repository(root / "inner", "b.py", "node_modules/c.js")
    (root / "inner" / ".git" / "config").write_text("[broken\n", encoding="utf-8")
    assert names(config(root)) == ["a.py", "inner/b.py"]


def test_without_git_folders_marked_by_tools_are_excluded(
    tmp_path: Path,
) -> None:
    tagged = (
        "my-env/pyvenv.cfg",
        "cachings/CACHEDIR.TAG",
        "vendor/modules.txt",
        "api/vendor/autoload.php",
    )
    write(
        tmp_path,
        *tagged,
        "my-env/lib/a.py",
        "vendor/pkg/b.go",
        "api/vendor/c.php",
        "shop/vendor/d.py",
    )
    assert names(config(tmp_path)) == ["shop/vendor/d.py"]
    assert names(config(tmp_path, "vendor")) == ["vendor/modules.txt", "vendor/pkg/b.go"]
    git(tmp_path, "init", "-q")
    assert sorted(walk_folder(tmp_path, rules=True)) == ["shop/vendor/d.py"]
    assert "vendor/pkg/b.go" in names(config(tmp_path))


@pytest.mark.parametrize("folder", sorted(EXCLUDED_FOLDERS))
def test_without_git_the_excluded_folders_are_skipped(tmp_path: Path, folder: str) -> None:
    write(tmp_path, f"{folder}/a.py", f"src/{folder}/b.py", f"src/{folder}.py")
    assert names(config(tmp_path)) == [f"src/{folder}.py"]
    assert walk.scan(config(tmp_path, folder)).files.keys() == {f"{folder}/a.py"}
