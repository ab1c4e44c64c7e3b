"""Caches return what a new process would return, after any change of files, memory or git."""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from code_intel.chunking.agreement import file_name, render
from code_intel.config import Settings
from code_intel.errors import CodeIntelError
from code_intel.index.facade import Index
from code_intel.learned.files import pairs, stat_cache
from code_intel.learned.files.agreements import AgreementCache
from code_intel.learned.learn import confirm, learn
from code_intel.learned.recall.candidates import MapCache
from code_intel.learned.recall.map_search import search
from code_intel.learned.status.agreement_status import standings
from code_intel.records import Agreement, FileReference
from git.machine import Conflict, git
from learned.builders import agreements_of
from served import settings_of

TERMS = ("送料計算", "login", "在庫")
SWAP = bytes.maketrans(b"IJ", b"JI")
SHORT = 20_000_000
"""Nanoseconds after which a file counts as settled here, instead of two seconds."""


def agreement(term: str, evidence: str = "It is so.") -> Agreement:
    return Agreement(
        term,
        f"do_{TERMS.index(term)}",
        evidence=(evidence,),
        files=(FileReference("src/a.py"),),
        learned_at="2026-01-01T00:00:00+00:00",
        confirmed=True,
    )


def path_of(project: Settings, term: str) -> Path:
    return project.agreements / file_name(term, f"do_{TERMS.index(term)}")


def write(project: Settings, term: str, evidence: str) -> None:
    path_of(project, term).write_text(render(agreement(term, evidence)), encoding="utf-8")


def change_in_place(path: Path) -> None:
    """Change a file; its size and its time of modification stay as they were."""
    before, data = path.stat(), path.read_bytes()
    path.write_bytes(data.translate(SWAP))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def edit_unseen(project: Settings, term: str, _evidence: str) -> None:
    if path_of(project, term).exists():
        change_in_place(path_of(project, term))


def edit_json(project: Settings, _term: str, _evidence: str) -> None:
    path = pairs.path_of(project)
    if path.exists():
        path.write_text(path.read_text("utf-8").replace("so.", "so!"), encoding="utf-8")


def move_away(project: Settings, term: str, _evidence: str) -> None:
    path = path_of(project, term)
    if path.exists():
        path.replace(path.with_name(f"moved-{TERMS.index(term)}.md"))


def conflict(project: Settings, term: str, _evidence: str) -> None:
    path_of(project, term).write_text("<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\n", "utf-8")


def confirmed(project: Settings, term: str, evidence: str) -> None:
    if agreement(term, evidence) in agreements_of(project).values():
        confirm(project, (term, agreement(term).symbol))


def learned(project: Settings, term: str, evidence: str) -> None:
    learn(project, agreement(term, evidence), confirmed=True)


def code(project: Settings, term: str, _evidence: str) -> None:
    source = project.root / "src" / "a.py"
    name = agreement(term).symbol
    text = source.read_text("utf-8")
    source.write_text(
        text.replace(name, f"{name}_gone") if "_gone" not in text else text.replace("_gone", "")
    )
    with Index(project.forest) as forest:
        forest.complete(words_only=True)


def later(project: Settings, _term: str = "", _evidence: str = "") -> None:
    """Wait until all files are settled by the clock of the disk."""
    probe = project.root / ".probe"
    probe.touch()
    begun = probe.stat().st_ctime_ns
    while probe.stat().st_ctime_ns < begun + 2 * SHORT:
        probe.touch()
    while time.time_ns() < begun + 3 * SHORT:
        pass


Step = Callable[[Settings, str, str], object]
STEPS: tuple[Step, ...] = (
    write,
    edit_unseen,
    edit_json,
    move_away,
    conflict,
    confirmed,
    code,
    later,
    lambda project, term, _: path_of(project, term).unlink(missing_ok=True),
    learned,
    lambda project, _term, _: git(project.root, "checkout", "-qf", "other"),
    lambda project, _term, _: git(project.root, "checkout", "-qf", "main"),
    lambda project, _term, _: git(project.root, "add", "-A"),
    lambda project, _term, _: git(project.root, "commit", "-qm", "more"),
    lambda project, _term, _: pairs.path_of(project).unlink(missing_ok=True),
    lambda project, _term, _: (project.state / "state.db").unlink(missing_ok=True),
)  # fmt: skip


def answers(project: Settings, cache: MapCache | None = None) -> object:
    """Return the status of every agreement, and the answers to questions."""
    with Index(project.forest, readonly=True) as forest, Index(project.map) as index:
        index.store.document_count()
        found = standings(project, forest, cache=cache)
        hits = [
            (hit.score, hit.agreement)
            for term in TERMS
            for hit in search(project, index, forest, term, None, "", top_k=5, cache=cache).hits
        ]
    return [(s.entry, s.validity, s.reasons, s.confirmed) for s in found], hits


@pytest.fixture(scope="module", autouse=True)
def quick_settling() -> Iterator[None]:
    """Let files count as settled soon."""
    before = stat_cache.RACY_NS
    stat_cache.RACY_NS = SHORT
    yield
    stat_cache.RACY_NS = before


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("bare")
    project = settings_of(root)
    (root / "src").mkdir()
    (root / "src" / "a.py").write_text(
        "".join(f"def do_{n}():\n    return {n}\n\n\n" for n in range(3)), "utf-8"
    )
    (root / ".gitignore").write_text("*.db*\n*.lock\n*.json\n.probe\ntrash\n", encoding="utf-8")
    project.agreements.mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    for term in TERMS[:2]:
        write(project, term, "It is so.")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "all")
    git(root, "branch", "other")
    write(project, TERMS[2], "It is so.")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "one more")
    with Index(project.forest) as forest:
        forest.complete(words_only=True)
    return root


@settings(max_examples=15)
@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from(STEPS), st.sampled_from(TERMS), st.sampled_from(("It is so.", "It is."))
        ),
        max_size=7,
    )
)
def test_warm_cache_answers_as_a_new_process_after_any_changes(
    bare: Path,
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[tuple[Step, str, str]],
) -> None:
    project = copied(bare, tmp_path_factory.mktemp("copy") / "project")
    cache = MapCache()
    answers(project, cache)
    for step, term, evidence in steps:
        with suppress(CodeIntelError, Conflict):  # such as: a file is in conflict
            step(project, term, evidence)
        answers(project, cache)
    assert answers(project, cache) == answers(project)


def copied(bare: Path, root: Path) -> Settings:
    return settings_of(Path(shutil.copytree(bare, root)))


def test_one_snapshot_serves_a_whole_question(bare: Path, tmp_path: Path) -> None:
    project, cache = copied(bare, tmp_path / "p"), MapCache()
    since = time.monotonic()
    first = cache.snapshot(project, since=since)
    path_of(project, TERMS[0]).unlink()
    assert cache.snapshot(project, since=since) is first
    assert len(cache.snapshot(project).known.entries) == len(first.known.entries) - 1


def test_folder_reached_by_a_link_is_read_again(bare: Path, tmp_path: Path) -> None:
    project, cache = copied(bare, tmp_path / "real"), AgreementCache()
    link = tmp_path / "link"
    link.symlink_to(project.agreements)
    assert len(cache.look(link).entries) == 3
    later(project)
    assert len(cache.look(link).entries) == 3
    next(project.agreements.glob("*.md")).unlink()
    assert len(cache.look(link).entries) == 2


def by_another_name(place: Path) -> None:
    """Write a file through a hard link elsewhere."""
    other = place.with_name("other")
    os.link(place / "a.md", other)
    other.write_bytes(other.read_bytes() + b"\nmore\n")


def another_folder(place: Path) -> None:
    other = place.with_name("other folder")
    other.mkdir()
    (other / "a.md").write_text(render(agreement(TERMS[2])), encoding="utf-8")
    place.rename(place.with_name("before"))
    other.rename(place)


def into_a_new_folder(place: Path) -> None:
    (place / "inner").mkdir()
    (place / "a.md").rename(place / "inner" / "a.md")


TOUCHES: tuple[Callable[[Path], object], ...] = (
    lambda place: change_in_place(place / "a.md"),
    by_another_name,
    another_folder,
    lambda place: (place / "a.md").unlink(),
    lambda place: (place / "a.md").rename(place / "renamed.md"),
    lambda place: (place / "a.md").replace(place / "b.md"),
    lambda place: (place / "b.md").write_text("", encoding="utf-8"),
    lambda place: place.rename(place.with_name("gone")),
    into_a_new_folder,
)


@pytest.mark.parametrize("touch", TOUCHES)
@pytest.mark.parametrize("settled", [True, False])
def test_any_change_is_seen_by_the_next_look(
    tmp_path: Path, touch: Callable[[Path], object], *, settled: bool
) -> None:
    place, cache = tmp_path / "agreements", AgreementCache()
    place.mkdir()
    for name, term in (("a.md", TERMS[0]), ("b.md", TERMS[1])):
        (place / name).write_text(render(agreement(term)), encoding="utf-8")
    if settled:
        time.sleep(2 * SHORT / 1e9)
    before = cache.look(place)
    assert cache.look(place) is before
    touch(place)
    now = cache.look(place)
    assert now.entries == AgreementCache().look(place).entries != before.entries
    assert now.revision > before.revision


def test_recently_changed_file_is_read_again_until_it_has_settled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, cache = tmp_path / "a.md", AgreementCache()
    path.write_text(render(agreement(TERMS[0])), encoding="utf-8")
    before, data = cache.look(tmp_path), path.read_bytes()
    stat = stat_cache.link_stat(str(path))
    monkeypatch.setattr(stat_cache, "link_stat", lambda _: stat)  # a disk with coarse times
    path.write_bytes(data.replace(b"It is", b"IT IS"))
    assert cache.look(tmp_path).entries != before.entries
