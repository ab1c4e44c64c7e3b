"""What a process that has answered before says, and what one says that has just begun: the same, whatever happened."""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from code_intel.chunking.agreement import file_name, render
from code_intel.config import Settings
from code_intel.errors import CodeIntelError
from code_intel.index.facade import Index
from code_intel.learned.files import fingerprints, pairs
from code_intel.learned.files.agreements import load_all
from code_intel.learned.learn import confirm, learn
from code_intel.learned.recall.map_search import search
from code_intel.learned.status.agreement_status import standings
from code_intel.learned.status.snapshot import forget, ledger
from code_intel.records import Agreement, FileReference
from served import settings_of

TERMS = ("送料計算", "login", "在庫")
SHORT = 20_000_000
"""Nanoseconds after which a file is settled here; two seconds would have to be waited for."""


def git(root: Path, *arguments: str) -> None:
    command = ["git", "-C", str(root), "-c", "user.name=T", "-c", "user.email=t@example.invalid"]
    subprocess.run([*command, *arguments], check=False, capture_output=True)


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


def edit_unseen(project: Settings, term: str, _evidence: str) -> None:
    """Change a file in place, its size and its time of modification as they were."""
    path = path_of(project, term)
    if path.exists():
        before, data = path.stat(), path.read_bytes()
        other = b"X" if b"It" in data else b"I"
        path.write_bytes(
            data.replace(b"It is", b"Xt is") if other == b"X" else data.replace(b"Xt is", b"It is")
        )
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


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
    if any(entry.agreement == agreement(term, evidence) for entry in load_all(project.agreements)):
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
    """Let the clock of the disk move on until everything is settled."""
    probe = project.root / ".probe"
    probe.touch()
    begun = probe.stat().st_ctime_ns
    while probe.stat().st_ctime_ns < begun + 2 * SHORT:
        probe.touch()
    while time.time_ns() < begun + 3 * SHORT:
        pass


Step = Callable[[Settings, str, str], None]
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


def told(project: Settings) -> object:
    """Return everything that is said of the agreements, and what a question is answered."""
    with Index(project.forest, readonly=True) as forest, Index(project.map) as index:
        index.store.document_count()
        found = standings(project, forest)
        hits = [
            (hit.score, hit.agreement)
            for term in TERMS
            for hit in search(project, index, forest, term, None, "", top_k=5)
        ]
    return [(s.entry, s.validity, s.reasons, s.confirmed) for s in found], hits


@pytest.fixture(scope="module", autouse=True)
def quick_settling() -> Iterator[None]:
    """Take files for settled that have not been touched for a moment."""
    before = fingerprints.RACY_NS
    fingerprints.RACY_NS = SHORT
    yield
    fingerprints.RACY_NS = before


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


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(STEPS), st.sampled_from(TERMS), st.sampled_from(("It is so.", "It is."))),
        max_size=7,
    )
)  # fmt: skip
def test_whatever_happened_a_warm_process_says_what_a_fresh_one_says(
    bare: Path,
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[tuple[Step, str, str]],
) -> None:
    root = tmp_path_factory.mktemp("project")
    subprocess.run(["cp", "-a", f"{bare}/.", str(root)], check=True)
    project = settings_of(root)
    told(project)
    for step, term, evidence in steps:
        with suppress(CodeIntelError):  # such as: a file in conflict is in the way
            step(project, term, evidence)
        told(project)
    warm = told(project)
    forget()
    assert warm == told(project)
    with Index(project.forest, readonly=True) as forest:
        assert standings(project, forest) == standings(project, forest)


def test_what_has_not_changed_is_not_read_again(bare: Path, tmp_path: Path) -> None:
    subprocess.run(["cp", "-a", f"{bare}/.", str(tmp_path)], check=True)
    project = settings_of(tmp_path)
    ledger(project)
    later(project)
    first = ledger(project)
    again = ledger(project)
    assert again.known is first.known
    assert again.memory is first.memory
    assert again.confirmed is first.confirmed
    assert again.revision == first.revision
    assert len(first.confirmed) == 3
    write(project, TERMS[0], "It is another.")
    changed = ledger(project)
    assert changed.revision > first.revision
    kept = {entry.path: entry for entry in first.known.entries}
    same = [entry for entry in changed.known.entries if entry is kept.get(entry.path)]
    assert len(same) == 2
    assert len(changed.confirmed) == 2


def test_one_look_serves_all_that_is_asked_within_a_question(bare: Path, tmp_path: Path) -> None:
    subprocess.run(["cp", "-a", f"{bare}/.", str(tmp_path)], check=True)
    project = settings_of(tmp_path)
    since = time.monotonic()
    first = ledger(project, since=since)
    path_of(project, TERMS[0]).unlink()
    assert ledger(project, since=since) is first
    assert len(ledger(project).known.entries) == len(first.known.entries) - 1


def test_a_folder_reached_by_a_link_is_looked_at_anew(bare: Path, tmp_path: Path) -> None:
    subprocess.run(["cp", "-a", f"{bare}/.", str(tmp_path / "real")], check=True)
    real, link = tmp_path / "real" / ".code-intel" / "agreements", tmp_path / "link"
    link.symlink_to(real)
    assert len(load_all(link)) == 3
    later(replace(settings_of(tmp_path / "real"), root=tmp_path / "real"))
    assert len(load_all(link)) == 3
    next(real.glob("*.md")).unlink()
    assert len(load_all(link)) == 2
