"""Kinds of repositories and work trees, and what git makes of a file's name, mode and line ends."""

import unicodedata
from pathlib import Path

import pytest

from code_intel.index.facade import Index
from git.machine import EXPORT, FOLDER, LOGIN, SEARCH, Machine, cloned, git, made


@pytest.fixture
def origin(tmp_path: Path) -> Machine:
    return made(tmp_path / "origin", LOGIN, SEARCH)


def test_work_tree_has_its_own_memory_and_shares_the_trunk(origin: Machine) -> None:
    origin.git("worktree", "add", "-q", "-b", "side", "../side")
    side = Machine(origin.root.parent / "side")
    assert side.said() == origin.said()  # merged on the trunk of both
    side.learn(EXPORT, "told at the side")
    side.commit()
    assert EXPORT not in origin.said()
    assert side.status(EXPORT) == "unchecked"
    origin.git("merge", "-q", "side")
    assert origin.status(EXPORT) == "unchecked"
    alone = Machine(origin.root, {"trust_git": False})
    assert alone.status(EXPORT) == "unconfirmed"  # that was the memory of the other
    assert origin.is_clean()
    assert side.is_clean()


def test_work_tree_inside_the_project_is_not_part_of_it(origin: Machine) -> None:
    library = made(origin.root.parent / "library")
    origin.git("submodule", "-q", "add", str(library.root), "lib")
    origin.git("worktree", "add", "-q", "-b", "side", "trees/side")
    side = Machine(origin.root / "trees" / "side")
    side.learn(EXPORT, "told at the side")
    assert origin.said().keys() == origin.pairs().keys() == {LOGIN, SEARCH}
    assert side.said().keys() == side.pairs().keys() == {LOGIN, SEARCH, EXPORT}
    assert "told at the side" not in "".join(origin.served("ユーザーの書き出し"))
    with Index(origin.settings.forest) as forest:
        forest.complete(words_only=True)
        documents = {row.path for row in forest.store.documents()}
    # its files are the project's once more; those of a submodule are there once
    assert {"src/app.py", "lib/src/app.py"} <= documents
    assert not any(document.startswith("trees/") for document in documents)
    with Index(side.settings.forest) as forest:
        forest.complete(words_only=True)
        assert forest.store.document("src/app.py") is not None


@pytest.mark.parametrize(
    "options", [(), ("--depth", "1"), ("--filter", "blob:none"), ("--single-branch",)]
)
def test_fresh_clone_says_what_the_team_has_merged(
    origin: Machine, options: tuple[str, ...]
) -> None:
    clone = cloned(origin, origin.root.parent / "clone", *options)
    assert clone.said() == origin.said()
    assert clone.pairs() == origin.pairs()
    assert (clone.trash, clone.confirmed_here(), clone.is_clean()) == ([], 0, True)
    doubtful = Machine(clone.root, {"trust_git": False})
    assert {each.status for each in doubtful.said().values()} == {"unconfirmed"}


def test_two_clones_share_agreements_through_a_bare_repository(tmp_path: Path) -> None:
    first = made(tmp_path / "first", LOGIN)
    git(tmp_path, "clone", "-q", "--bare", f"file://{first.root}", "bare")
    two = [cloned(Machine(tmp_path / "bare"), tmp_path / name) for name in ("a", "b")]
    for machine, key in zip(two, (SEARCH, EXPORT), strict=True):
        machine.learn(key, "told")
        machine.commit()
    two[0].git("push", "-q")
    two[1].git("pull", "-q", "--no-rebase", "--no-edit")
    assert two[1].said().keys() == two[1].pairs().keys() == {LOGIN, SEARCH, EXPORT}
    two[1].git("push", "-q")
    two[0].git("pull", "-q", "--ff-only")
    assert two[0].said() == two[1].said()
    assert {each.status for each in two[0].said().values()} == {"unchecked"}
    assert all(machine.is_clean() for machine in two)


def test_sparse_checkout_without_agreements_loses_nothing(origin: Machine) -> None:
    before = origin.said(), origin.pairs()
    origin.git("sparse-checkout", "set", "--no-cone", "/*", f"!/{FOLDER}")
    assert origin.said() == {}
    assert origin.is_clean()
    origin.git("sparse-checkout", "disable")
    assert (origin.said(), origin.pairs()) == before
    assert origin.trash == []


def test_submodule_with_agreements_is_its_own_project(origin: Machine) -> None:
    library = made(origin.root.parent / "library", EXPORT)
    origin.git("submodule", "-q", "add", str(library.root), "lib")
    origin.commit()
    inner = Machine(origin.root / "lib")
    assert origin.said().keys() == {LOGIN, SEARCH}
    assert inner.said().keys() == inner.pairs().keys() == {EXPORT}
    assert inner.status(EXPORT) == "unchecked"  # by the trunk of its own repository
    inner.learn(LOGIN, "told inside")
    assert LOGIN in inner.said()
    assert origin.said()[LOGIN].evidence == {"first of AuthService.login"}
    clone = cloned(origin, origin.root.parent / "clone", "--recurse-submodules")
    assert Machine(clone.root / "lib").said().keys() == {EXPORT}


@pytest.mark.parametrize("how", ["core.autocrlf", "attributes"])
def test_other_line_ends_keep_the_confirmation(tmp_path: Path, how: str) -> None:
    mine = made(tmp_path / "mine", LOGIN, trust_git=False)
    if how == "attributes":
        (mine.root / ".gitattributes").write_text("*.md text eol=crlf\n", encoding="utf-8")
        mine.commit()
    else:
        mine.git("config", "core.autocrlf", "true")
    path = mine.file(LOGIN)
    path.unlink()
    mine.git("checkout", "--", ".")
    assert b"\r\n" in path.read_bytes()
    assert mine.status(LOGIN) == "unchecked"
    assert Machine(mine.root).status(LOGIN) == "unchecked"
    assert mine.pairs() == {LOGIN: "first of AuthService.login"}
    assert (mine.trash, mine.is_clean()) == ([], True)
    mine.learn(LOGIN, "more", hours=1)
    mine.commit()
    changed = mine.git("show", "--stat", "--format=", "HEAD")
    assert changed.endswith("3 insertions(+), 2 deletions(-)")  # session, time, evidence
    assert mine.is_clean()


def test_renamed_file_stays_confirmed(origin: Machine) -> None:
    clone = cloned(origin, origin.root.parent / "clone")  # whose machine remembers nothing
    clone.branch("renamed")
    for name in ("LOGIN.md", "login.md", "認証/ログイン.md"):
        target = clone.folder / name
        target.parent.mkdir(exist_ok=True)
        clone.git("mv", str(clone.file(LOGIN)), str(target))
        assert clone.status(LOGIN) == "unchecked"
        clone.git("commit", "-q", "-m", name)
        assert clone.pairs().keys() == {LOGIN, SEARCH}
        assert clone.is_settled()
    assert (clone.trash, clone.is_clean()) == ([], True)
    clone.edit(LOGIN, "first of", "another of")
    assert clone.status(LOGIN) == "unconfirmed"


def test_file_names_in_the_other_unicode_form_are_found(origin: Machine) -> None:
    path = origin.learn(("ガイド", "guide"), "told", hours=1)
    path.rename(path.with_name(unicodedata.normalize("NFD", path.name)))
    origin.commit()
    clone = cloned(origin, origin.root.parent / "clone")
    assert clone.said() == origin.said()
    assert clone.status(("ガイド", "guide")) == "unchecked"
    assert (
        clone.learn(("ガイド", "guide"), "more", hours=2).name
        == origin.file(("ガイド", "guide")).name
    )
    assert len(list(clone.folder.iterdir())) == 3


def test_file_mode_is_ignored_and_links_are_invalid(origin: Machine) -> None:
    origin.file(LOGIN).chmod(0o755)
    path = origin.file(SEARCH)
    path.rename(origin.root / "elsewhere.md")
    path.symlink_to("../../elsewhere.md")
    origin.commit()
    assert origin.status(LOGIN) == "unchecked"
    assert origin.listed()[path.name] == "invalid"
    assert origin.pairs().keys() == {LOGIN, SEARCH}  # waits for people
    assert origin.is_clean()
    clone = cloned(origin, origin.root.parent / "clone")
    assert clone.said().keys() == clone.pairs().keys() == {LOGIN}


def test_lfs_pointer_is_invalid(origin: Machine) -> None:
    path = origin.file(LOGIN)
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 600\n"
    data = path.read_bytes()
    path.write_text(pointer, encoding="utf-8")
    assert origin.listed()[path.name] == "invalid"
    assert origin.pairs().keys() == {LOGIN, SEARCH}
    assert not any("git-lfs" in text for text in origin.served("ログイン機能"))
    path.write_bytes(data)
    assert origin.status(LOGIN) == "unchecked"
    assert origin.is_clean()
