"""Earlier commits are indexed once, in steps, and only as far as they say something."""

from pathlib import Path

import pytest

from code_intel.chunking.words import words
from code_intel.config import IndexConfig
from code_intel.forest.ranking.search import search
from code_intel.foundation import git as git_log
from code_intel.index.facade import Index
from code_intel.index.history import reading as history
from code_intel.index.history.reading import MAX_FILES, sync_history
from code_intel.index.rows import CommitRow
from code_intel.index.store import Store
from code_intel.index.sync import sync
from index.samples import index_config
from programs import git


@pytest.fixture
def repository(place: IndexConfig) -> Path:
    git(place.folder, "init", "-q", "-b", "main")
    commit(place.folder, "Begin", "a.py", "b.py")
    return place.folder


def commit(folder: Path, message: str, *files: str, author: str = "dev") -> str:
    for name in files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{message!r}\n", encoding="utf-8")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", f"--author={author} <a@b.invalid>", "-m", message)
    return git(folder, "rev-parse", "HEAD")


def found(store: Store, *terms: str) -> list[str]:
    hits = store.commits.hits(words(" ".join(terms)))
    return sorted(hits, key=lambda path: (-hits[path].score, path))


def test_a_sync_of_the_forest_indexes_the_commits(place: IndexConfig, repository: Path) -> None:
    made = commit(repository, "Refuse an empty password\n\nLogin let it pass.", "a.py")
    with Index(place) as index:
        index.complete()
        hit = index.store.commits.hits(["password", "login"])["a.py"]
        assert (hit.object, hit.subject) == (made, "Refuse an empty password")
        assert 0 < hit.score <= 1
        assert index.store.check() == []


def test_a_sync_of_the_map_reads_no_commits(tmp_path: Path, repository: Path) -> None:
    with Index(index_config(repository, corpus="map", db_path=tmp_path / "map.db")) as index:
        index.complete()
        assert index.store.commits.objects() == {}


def test_the_more_of_a_question_a_message_holds_the_higher_its_files_score(
    store: Store, repository: Path
) -> None:
    commit(repository, "Fix the parser", "a.py")
    commit(repository, "Fix the parser of dates", "b.py")
    for number in range(9):
        commit(repository, f"Release {number}", "c.py")
    sync_history(store, repository)
    assert found(store, "parser", "dates") == ["b.py", "a.py"]
    both = store.commits.hits(words("parser dates"))["a.py"].score
    assert store.commits.hits(["parser"])["a.py"].score > both
    assert found(store, "nothing") == found(store) == []


def test_only_new_commits_are_read(
    store: Store, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync_history(store, repository)
    read: list[int] = []
    original = git_log.commits_of

    def count(folder: Path, ids: list[str]) -> object:
        read.append(len(ids))
        return original(folder, ids)

    monkeypatch.setattr(git_log, "commits_of", count)
    sync_history(store, repository)
    commit(repository, "Fix the lexer", "a.py")
    commit(repository, "Fix the printer", "a.py")
    sync_history(store, repository)
    sync_history(store, repository)
    assert read == [2]


def test_a_rewritten_history_replaces_the_old_one(store: Store, repository: Path) -> None:
    commit(repository, "Fix the lexer", "a.py")
    sync_history(store, repository)
    git(repository, "commit", "-q", "--amend", "-m", "Fix the printer")
    sync_history(store, repository)
    assert found(store, "lexer") == []
    assert found(store, "printer") == ["a.py"]
    assert len(store.commits.objects()) == 2
    assert store.check() == []


def test_what_robots_mass_changes_and_merges_say_is_not_kept(
    store: Store, repository: Path
) -> None:
    many = [f"m{number}.py" for number in range(MAX_FILES + 1)]
    commit(repository, "Reformat everything", *many)
    commit(repository, "Bump parser", "a.py", author="dependabot[bot]")
    git(repository, "checkout", "-qb", "side")
    commit(repository, "Fix the lexer", "b.py")
    git(repository, "checkout", "-q", "main")
    git(repository, "merge", "-q", "--no-ff", "-m", "Merge printer", "side")
    sync_history(store, repository)
    assert found(store, "reformat", "bump", "printer") == []
    assert found(store, "lexer") == ["b.py"]


def test_secrets_and_control_characters_of_messages_are_not_shown(
    store: Store, repository: Path
) -> None:
    secret = "AKIA" + "IOSFODNN7EXAMPLQ"
    commit(repository, f"Rotate\x1b[2J key {secret}", "a.py")
    sync_history(store, repository)
    subject = store.commits.hits(["rotat"])["a.py"].subject
    assert secret not in subject
    assert subject.isprintable()
    assert found(store, secret.lower()) == []


def test_the_number_of_commits_is_limited(
    store: Store, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "MAX_COMMITS", 2)
    for number in range(4):
        commit(repository, f"Change {number}", "a.py")
        sync_history(store, repository)
    assert len(store.commits.objects()) == 2


def test_a_stop_keeps_what_was_read_and_the_next_sync_goes_on(
    store: Store, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "BATCH_COMMITS", 1)
    commit(repository, "Fix the lexer", "a.py")
    answers = iter([False, True])
    sync_history(store, repository, lambda: next(answers))
    assert len(store.commits.objects()) == 1
    assert found(store, "lexer") == ["a.py"]
    sync_history(store, repository)
    assert len(store.commits.objects()) == 2


def test_a_shallow_clone_has_the_commits_that_it_knows(
    store: Store, repository: Path, tmp_path: Path
) -> None:
    commit(repository, "Fix the lexer", "a.py")
    commit(repository, "Fix the printer", "b.py")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth", "2", f"file://{repository}", str(clone))
    sync_history(store, clone)
    assert len(store.commits.objects()) == 2
    assert found(store, "printer") == ["b.py"]


def test_without_git_or_commits_nothing_is_read(store: Store, tmp_path: Path) -> None:
    sync_history(store, tmp_path)
    git(tmp_path, "init", "-q")
    sync_history(store, tmp_path)
    assert store.commits.objects() == {}
    assert store.get_meta(history.HEAD) is None


def test_if_git_cannot_read_the_commits_it_is_not_asked_again(
    store: Store, repository: Path
) -> None:
    for tree in (repository / ".git" / "objects").glob("??/*"):
        if git(repository, "cat-file", "-t", tree.parent.name + tree.name) == "tree":
            tree.unlink()
    sync_history(store, repository)
    assert store.commits.objects() == {}
    assert store.get_meta(history.HEAD) == git(repository, "rev-parse", "HEAD")


def test_what_was_read_stays_if_git_fails_later(store: Store, repository: Path) -> None:
    commit(repository, "Fix the lexer", "a.py")
    sync_history(store, repository)
    lost = commit(repository, "Fix the printer", "b.py")
    commit(repository, "Fix the writer", "b.py")
    (repository / ".git" / "objects" / lost[:2] / lost[2:]).unlink()
    sync_history(store, repository)
    assert found(store, "lexer") == ["a.py"]
    (repository / ".git").rename(repository / "moved")
    sync_history(store, repository)
    assert found(store, "lexer") == ["a.py"]


def test_a_clone_without_trees_fetches_none(store: Store, repository: Path, tmp_path: Path) -> None:
    commit(repository, "Fix the lexer", "a.py")
    git(repository, "config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "clone"
    git(
        tmp_path,
        "clone",
        "-q",
        "--filter=tree:0",
        "--no-checkout",
        f"file://{repository}",
        str(clone),
    )
    before = git(clone, "count-objects", "-v")
    sync_history(store, clone)
    assert store.commits.objects() == {}
    assert git(clone, "count-objects", "-v") == before


def test_only_commits_below_the_folder_of_the_index_count(store: Store, repository: Path) -> None:
    commit(repository, "Fix the lexer", "sub/a.py", "b.py")
    sync_history(store, repository / "sub")
    assert found(store, "lexer") == ["a.py"]


def test_a_question_names_the_commit_that_changed_a_file(
    place: IndexConfig, repository: Path
) -> None:
    (repository / "c.py").write_text("def lexer():\n    return 1\n", encoding="utf-8")
    made = commit(repository, "Fix the lexer", "c.py")
    (repository / "c.py").write_text("def lexer():\n    return 1\n", encoding="utf-8")
    with Store.open(place.db_path) as store:
        sync(store, place)
        (hit, *_) = search(store, "lexer", None, top_k=1)
    assert hit.document == "c.py"
    assert f"commit {made[:7]}: Fix the lexer" in hit.why


def test_two_processes_may_read_the_same_commits_at_once(
    store: Store, place: IndexConfig, repository: Path
) -> None:
    """Both have found out what is new before either writes."""
    made = commit(repository, "Fix the lexer", "a.py")
    read = [CommitRow(made, "Fix the lexer", ("lexer",), ("a.py",))]
    store.commits.add(read)
    with Store.open(place.db_path) as other:
        other.commits.add(read)
    assert found(store, "lexer") == ["a.py"]
    assert list(store.commits.objects()) == [made]
