"""Test the fit of plausibility: its data from commits, its constants and its figures."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from benchmarks.commit_requests import commit_requests
from benchmarks.fit_plausibility import (
    MAX_WRONG,
    Corpus,
    Rated,
    corpus_of,
    facts_row,
    fit,
    history,
    scores,
    shares,
    show,
    table,
    threshold_of,
)
from benchmarks.plausibility_cases import is_source
from code_intel.forest.ranking.closeness import SymbolCloseness
from code_intel.session.plausibility import (
    THRESHOLD,
    WEIGHTS,
    PlausibilityFacts,
    ScoreWeights,
    score,
)


def row(file_score: float, words: float = 0.0) -> list[float]:
    return [1.0, file_score, file_score, file_score, 0.0, words]


def requests(count: int = 20) -> list[Rated]:
    """Right files score 0.6 to 1, wrong ones 0 to 0.5; in each file one symbol has more words."""
    random = np.random.default_rng(7)
    found = []
    for _ in range(count):
        right = np.array([row(random.uniform(0.6, 1.0), 0.5)])
        value = random.uniform(0, 0.5, size=10)
        wrong = [np.array([row(v), row(v, 0.1)]) for v in value]
        found.append(Rated([right], wrong, [1, *range(7, 16)]))
    return found


def test_the_constants_tell_right_from_wrong_and_none_is_negative() -> None:
    weights = fit(requests())
    assert len(weights) == len(ScoreWeights._fields)
    assert (weights[1:] >= 0).all()
    corpus = Corpus("r", 50, requests())
    found = scores(corpus.requests, weights)
    result = shares(found, threshold_of([corpus], weights))
    assert result["task"] == 1.0
    assert result["wrong"] == pytest.approx(MAX_WRONG, abs=0.01)
    assert result["wrong_first_five"] > 0


def test_the_row_of_a_claim_gives_the_score_of_the_product() -> None:
    close = SymbolCloseness(
        2, 0.8, 0.6, 0.5, 0.3, linked=True, in_part=False, words=("a", "b"), covered=0.4
    )
    facts = PlausibilityFacts(
        "s",
        "f",
        rank=2,
        file_score=0.8,
        part_score=0.6,
        file_words=0.5,
        history=0.3,
        words=("a", "b"),
        covered=0.4,
        first=("f: s",),
    )
    for vectors, weights in WEIGHTS.items():
        total = float(np.dot(facts_row(close), weights))
        assert score(facts._replace(has_vectors=vectors)) == pytest.approx(1 / (1 + np.exp(-total)))


def test_a_repository_is_measured_without_its_own_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    corpora = [Corpus("a", 50, requests()), Corpus("b", 10, requests(5))]
    rows = dict(table(corpora, corpora))
    assert list(rows) == ["a (50)", "b (10)", "1 to 19 files", "40 files and more"]
    show(
        {
            "fitted": {"a": 20},
            "weights": dict(zip(ScoreWeights._fields, [-1.0] + [1.0] * 5, strict=True)),
            "threshold": 0.3,
            "tables": {"tasks": rows},
        }
    )
    assert f"base {np.log(THRESHOLD / (1 - THRESHOLD)) - 1.3:.2f}" in capsys.readouterr().out


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "source"
    root.mkdir()

    def commit(message: str, **files: str) -> None:
        for name, text in files.items():
            (root / name.replace("_py", ".py").replace("_md", ".md")).write_text(text, "utf-8")
        for command in (["add", "-A"], ["commit", "-qm", message]):
            author = ["-c", "user.name=B", "-c", "user.email=b@example.invalid"]
            subprocess.run(["git", "-C", str(root), *author, *command], check=True)

    subprocess.run(["git", "init", "-qb", "main", str(root)], check=True)
    body = "    return 1\n" * 6
    commit("Start", a_py=f"def login():\n{body}", b_py=f"def render():\n{body}", c_md="x\n")
    commit("Explain the login form in the guide", c_md="y\n")
    commit("Refuse an empty password at login (#12)", a_py=f"def login():\n{body}    return 2\n")
    commit("docs: reword what render returns here", b_py=f"def render():\n{body}    return 3\n")
    return root


def test_commits_of_source_files_become_requests(repository: Path) -> None:
    found = commit_requests(repository, "r", 10)
    (request,) = found.requests
    assert request["query"] == "Refuse an empty password at login"
    assert request["relevant"] == [{"path": "a.py"}]
    assert request["hunks"] == ["def login():"]
    tree = subprocess.run(
        ["git", "-C", str(repository), "show", f"{found.base}:a.py"],
        capture_output=True,
        check=True,
    )
    assert b"return 2" not in tree.stdout


def test_every_symbol_is_claimed_in_the_tree_before_the_commit(
    repository: Path, tmp_path: Path
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    tree, (task,) = history(repository, "r", 10, scratch)
    corpus = corpus_of("r", tree, [(task, task.wordings[""])], None, None)
    (request,) = corpus.requests
    assert corpus.files == 2
    assert len(request.right) == len(request.wrong) == 1
    weights = np.array(WEIGHTS[False])
    found = scores([request], weights)
    assert found.right[0] > found.wrong[0]


@pytest.mark.parametrize(
    ("path", "expected"),
    [("src/a.py", True), ("tests/a.py", False), ("docs/a.md", False), ("dist/a.js", False)],
)
def test_source_files_are_code_of_the_project_itself(path: str, *, expected: bool) -> None:
    assert is_source(path) is expected
