"""Why the index does not have a file is what a sync would say."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from code_intel.config import IndexConfig
from code_intel.index.membership import membership
from code_intel.index.store import Store
from code_intel.index.sync import sync, sync_document
from index.samples import index_config
from programs import git


def config_of(folder: Path, *patterns: str) -> IndexConfig:
    return index_config(
        folder, *patterns, corpus="forest", db_path=folder / ".code-intel" / "vectors-forest.db"
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    git(tmp_path, "init", "-q", str(root))
    for name, text in {
        "src/cart.py": "def total(): ...\n",
        "lib/cart.py": "def total(): ...\n",
        "src/login.py": "def login(): ...\n",
        "notes/a.md": "# Notes\n",
        "src/secret/.env": "KEY=1\n",
        "src/big.py": "#" * (1 << 21),
        "src/ignored.py": "x = 1\n",
        ".gitignore": "ignored.py\n",
        ".code-intel/agreements/a.md": "# A\n",
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (root / "src" / "logo.bin").write_bytes(bytes(range(256)))
    return root


@pytest.fixture
def config(project: Path) -> IndexConfig:
    return config_of(project, "src", "lib", ".code-intel")


@pytest.fixture
def store(config: IndexConfig) -> Store:
    config.db_path.parent.mkdir(exist_ok=True)
    store = Store.open(config.db_path)
    sync(store, config)
    return store


def added(project: Path) -> None:
    (project / "src" / "new.py").write_text("x = 1\n", encoding="utf-8")


def linked(project: Path) -> None:
    (project / "src" / "link.py").symlink_to("/etc/passwd")


def unchanged(_: Path) -> None:
    """Change nothing."""


@pytest.mark.parametrize(
    ("path", "change", "reason"),
    [
        ("src/secret/.env", unchanged, "It is skipped: may hold secrets."),
        ("src/big.py", unchanged, "It is skipped: larger than 1 MiB."),
        ("src/logo.bin", unchanged, "It is skipped: binary, or not in a known encoding."),
        ("src/ignored.py", unchanged, "It is ignored"),
        ("src/new.py", added, "It is not indexed yet; run `code-intel sync`."),
        ("src/missing.py", unchanged, "There is no such file."),
        ("src", unchanged, "It is a folder."),
        ("notes/a.md", unchanged, "It is in no folder of document_patterns"),
        ("../other.py", unchanged, "It is in no folder of document_patterns"),
        ("/etc/passwd", unchanged, "It is in no folder of document_patterns"),
        ("src/link.py", linked, "It is in no folder of document_patterns"),
        (".code-intel/agreements/a.md", unchanged, "It is a file of code-intel itself"),
    ],
)
def test_the_reason_why_a_file_is_not_indexed(
    project: Path,
    config: IndexConfig,
    store: Store,
    path: str,
    change: Callable[[Path], None],
    reason: str,
) -> None:
    change(project)
    found = membership(store, config, path)
    assert not found.indexed
    assert found.reason.startswith(reason)


def test_a_glob_that_does_not_match_is_named(project: Path) -> None:
    config = config_of(project, "src/**/*.ts")
    with Store.open(project / "other.db") as store:
        found = membership(store, config, "src/cart.py")
    assert found.reason == (
        f"It matches no pattern of document_patterns in {config.path.name}: src/**/*.ts."
    )


def test_a_file_that_was_deleted_by_name_says_so(config: IndexConfig, store: Store) -> None:
    store.delete_document("src/cart.py")
    store.choose("src/cart.py", wanted=False)
    assert "deleted from the index by name" in membership(store, config, "src/cart.py").reason


def test_the_end_of_a_path_is_enough_if_one_document_has_it(
    config: IndexConfig, store: Store
) -> None:
    assert membership(store, config, "login.py") == ("src/login.py", True, "")
    found = membership(store, config, "cart.py")
    assert not found.indexed
    assert found.reason == "There is no such file. The index has lib/cart.py, src/cart.py."


def test_an_indexed_file_says_whether_it_has_changed(
    project: Path, config: IndexConfig, store: Store
) -> None:
    file = project / "src" / "login.py"
    assert membership(store, config, str(file)) == ("src/login.py", True, "")
    file.write_text("def sign_in(): ...\n", encoding="utf-8")
    assert "has changed" in membership(store, config, "src/login.py").reason
    sync_document(store, config, file)
    assert membership(store, config, "src/login.py").reason == ""
    os.unlink(file)  # noqa: PTH108 - the name is a link or a file
    assert "no longer exists" in membership(store, config, "src/login.py").reason
