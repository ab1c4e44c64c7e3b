"""The folders of installed packages are found from the project's own files, and never by a link."""

from pathlib import Path
from time import thread_time

import pytest

from code_intel.forest.packages import package_folders


def written(root: Path, *names: str, text: str = "x = 1\n") -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


def names(root: Path, caches: Path | None = None) -> list[str]:
    found = {"go": caches / "mod", "cargo": caches / "cargo"} if caches else {}
    return [folder.name for folder in package_folders(root, found)]


@pytest.mark.covers("rule.packages.found")
def test_folders_inside_the_project_are_found(tmp_path: Path) -> None:
    written(
        tmp_path,
        ".venv/pyvenv.cfg",
        ".venv/lib/python3.11/site-packages/a.py",
        "node_modules/a/index.js",
        "packages/web/node_modules/b/index.js",
        "vendor/modules.txt",
    )
    assert names(tmp_path) == [
        ".venv/lib/python3.11/site-packages",
        "node_modules",
        "packages/web/node_modules",
        "vendor",
    ]


def test_own_folders_of_these_names_are_not_packages(tmp_path: Path) -> None:
    written(tmp_path, "env/lib/python3/site-packages/a.py", "vendor/own.go", "lib/site-packages/b")
    assert names(tmp_path) == []


@pytest.mark.covers("rule.packages.found")
def test_caches_hold_what_the_project_names(tmp_path: Path) -> None:
    root, caches = tmp_path / "project", tmp_path / "caches"
    crates = "cargo/registry/src/index.crates.io-1"
    written(
        caches,
        "mod/github.com/!burnt!sushi/toml@v1.3.2/decode.go",
        "mod/github.com/other/thing@v1.0.0/thing.go",
        f"{crates}/serde-1.0.2/src/lib.rs",
        f"{crates}/other-1.0.0/src/lib.rs",
    )
    requirements = "module shop\n\nrequire (\n\tgithub.com/BurntSushi/toml v1.3.2 // indirect\n)\n"
    written(root, "go.mod", text=requirements)
    written(root, "Cargo.lock", text='[[package]]\nname = "serde"\nversion = "1.0.2"\n')
    assert names(root, caches) == ["go:github.com/BurntSushi/toml@v1.3.2", "cargo:serde-1.0.2"]
    assert names(root) == []


def test_a_list_of_modules_with_many_blank_lines_is_read_at_once(tmp_path: Path) -> None:
    written(tmp_path, "go.mod", text="module a\n" + "\n" * 100_000 + "\t\r\n" * 100_000)
    started = thread_time()
    assert names(tmp_path, tmp_path / "caches") == []
    assert thread_time() - started < 2


@pytest.mark.parametrize("text", ["package = [1, 'a']", "package = 1", "a = " + "[" * 9999, "a."])
def test_a_lock_file_of_another_form_names_no_packages(tmp_path: Path, text: str) -> None:
    written(tmp_path, "Cargo.lock", text=text)
    assert names(tmp_path, tmp_path / "caches") == []


@pytest.mark.covers("rule.packages.confined")
def test_names_and_links_do_not_lead_out_of_a_cache(tmp_path: Path) -> None:
    root, caches = tmp_path / "project", tmp_path / "caches"
    written(tmp_path, "secret@v1/a.go", "secret-1/src/lib.rs")
    written(caches, "mod/x@v2/a.go")
    (caches / "mod" / "linked@v1").symlink_to(tmp_path / "secret@v1")
    written(root, "go.mod", text="require ../../secret v1\nrequire linked v1\nrequire x v2\n")
    lock = '[[package]]\nname = "../../../../secret"\nversion = "1"\n'
    written(root, "Cargo.lock", text=f"package = 3\n{lock}")
    assert names(root, caches) == ["go:x@v2"]


@pytest.mark.covers("rule.packages.confined")
@pytest.mark.parametrize("name", [".venv", "node_modules", "vendor"])
def test_a_package_folder_is_no_link(tmp_path: Path, name: str) -> None:
    root, other = tmp_path / "project", tmp_path / "other"
    root.mkdir()
    written(other, "pyvenv.cfg", "lib/python3.11/site-packages/a.py", "modules.txt")
    (root / name).symlink_to(other)
    assert names(root) == []
    (root / name).unlink()
    written(root, f"{name}/pyvenv.cfg", f"{name}/modules.txt")
    (root / name / "lib").symlink_to(other / "lib")
    assert names(root) == ([] if name == ".venv" else [name])
