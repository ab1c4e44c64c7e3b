"""Check that plans are saved, read again and limited, and that damage is named."""

import json
import os
import subprocess
import time
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from code_intel.config import load_settings
from code_intel.errors import ConfigError, NotFoundError, StorageError, UsageError
from code_intel.planning import keeping, outcome, place
from code_intel.planning.records import (
    Evaluation,
    Expected,
    Iteration,
    Metrics,
    QueryPlan,
    Result,
    Strategy,
)
from kept_plans import iteration, plan, result
from privileges import without_root

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
SHARE = st.floats(0, 1)
RESULTS = st.builds(
    Result,
    TEXT,
    TEXT,
    SHARE,
    SHARE,
    TEXT,
    st.integers(0, 99),
    why=st.lists(TEXT, max_size=2).map(tuple),
)
WORDS = st.lists(TEXT, max_size=2).map(tuple)
FEW = st.lists(RESULTS, max_size=2).map(tuple)
EVALUATIONS = st.builds(Evaluation, st.builds(Metrics, *[SHARE] * 6), SHARE, SHARE, WORDS, WORDS)
ITERATIONS = st.builds(
    Iteration, st.integers(1, 20), TEXT, WORDS, FEW, EVALUATIONS, TEXT, WORDS, st.booleans(), SHARE
)
PLANS = st.builds(
    QueryPlan,
    id=st.uuids().map(str),
    goal=TEXT,
    expected=st.builds(Expected, WORDS, WORDS, st.integers(1, 50), SHARE),
    mode=st.sampled_from(["strict", "fuzzy", "semantic"]),
    strategy=st.builds(Strategy, st.sampled_from([None, "broad", "specific"]), rules=WORDS),
    iterations=st.lists(ITERATIONS, max_size=2).map(tuple),
    waiting=WORDS,
    final=FEW,
    stop=st.sampled_from(["reached", "timeout", "stopped"]),
    revision=TEXT,
)


@settings(max_examples=40)
@given(PLANS)
def test_plan_is_unchanged_by_writing_and_reading(found: QueryPlan) -> None:
    data = keeping.rendered(found)
    assert keeping.parsed(data, f"{found.id}.json") == found
    assert keeping.rendered(found) == data


@pytest.mark.covers("rule.plans.kept")
def test_saved_plan_is_listed_and_loaded(tmp_path: Path) -> None:
    stored = plan(knowledge=".gistdex/cache/knowledge/a-00000000.md")
    root = tmp_path / ".gistdex"
    path = keeping.save(root, stored)
    assert path == root / "cache" / "plans" / f"{stored.id}.json"
    assert keeping.load(root, stored.id) == stored
    document = json.loads(path.read_text(encoding="utf-8"))
    assert list(document)[:5] == ["version", "planId", "goal", "status", "score"]
    row = document["iterations"][0]
    assert {
        "query",
        "evaluation",
        "feedback",
        "refinements",
        "milliseconds",
        "actualResults",
    } <= row.keys()
    assert {
        "stopReason",
        "source",
        "revision",
        "finalResults",
        "totalTime",
        "expectedResults",
    } <= document.keys()
    names = ["keywords", "contentPatterns", "minMatches", "confidence"]
    assert list(document["expectedResults"]) == names
    assert list(document["strategy"]) == ["initialMode", "refinementMethod", "expansionRules"]
    assert keeping.entries(root) == [stored]
    row = json.loads((root / place.PLANS / place.INDEX).read_bytes())[path.name]
    assert (row["planId"], row["goal"]) == (stored.id, stored.goal)
    assert (row["status"], row["confidence"], row["queries"]) == ("success", 0.9, ["login"])
    assert (row["stopReason"], row["bytes"]) == ("reached", path.stat().st_size)


def test_without_intermediate_results_only_final_texts_are_saved(tmp_path: Path) -> None:
    stored = plan()
    keeping.save(tmp_path, stored, intermediate=False)
    found = keeping.load(tmp_path, stored.id)
    assert found.final == stored.final
    assert [each.text for each in found.iterations[0].results] == [""]
    assert found.iterations[0].results[0].document == "src/auth.py"


def test_plan_that_is_too_large_keeps_its_final_results(tmp_path: Path) -> None:
    big = result(text="x" * 1_000_000)
    stored = plan(iterations=tuple(iteration(n, results=(big,)) for n in range(1, 10)))
    assert keeping.save(tmp_path, stored).stat().st_size < place.MAX_PLAN_FILE_BYTES
    assert keeping.load(tmp_path, stored.id).final == stored.final


@pytest.mark.parametrize(
    "planned",
    [
        "../x",
        "a/../../etc/passwd",
        "",
        "x" * 5000,
        "\0",
        "index",
        "…",
        "6f1c0c1e-9a3b-4c55-8f0e-2d7b1a4e9c3",
    ],
)
def test_invalid_plan_id_is_refused_by_its_field(tmp_path: Path, planned: str) -> None:
    for work in (lambda: keeping.load(tmp_path, planned),
                 lambda: keeping.save(tmp_path, plan(id=planned))):  # fmt: skip
        with pytest.raises(UsageError) as refused:
            work()
        assert refused.value.details == {"field": "planId"}
    assert list(tmp_path.iterdir()) == []


def test_missing_plan_is_not_found_and_nothing_is_created(tmp_path: Path) -> None:
    root = tmp_path / ".gistdex"
    with pytest.raises(NotFoundError, match="There is no plan"):
        keeping.load(root, str(uuid.uuid4()))
    assert keeping.entries(root) == []
    assert keeping.same(root, plan()) is None
    assert list(tmp_path.iterdir()) == []


DAMAGE: dict[str, tuple[Any, str]] = {
    "no JSON": ("{", "cannot be read"),
    "a list": ([], "should be an object"),
    "nested": ("[" * 100_000, "cannot be read"),
    "another version": ({"version": 2}, "version: Input should be 1"),
    "no goal": ({"goal": None}, "goal: Input should be a valid string"),
    "an id of another": ({"planId": str(uuid.uuid4())}, "planId belongs to another plan"),
    "no number": ({"totalTime": "soon"}, "totalTime: Input should be a valid number"),
    "no choice": (
        {"evaluationMode": "loud"},
        "evaluationMode: Input should be 'strict', 'fuzzy' or 'semantic'",
    ),
    "deep inside": (
        {"iterations": [{"iterationNumber": "1"}]},
        r"iterations\[0\].iterationNumber: Input should be a valid integer",
    ),
    "no list": ({"finalResults": {}}, "finalResults: Input should be a valid"),
    "no object": ({"expectedResults": []}, "expectedResults: Input should be an object"),
    "infinite": ('{"version": 1, "planId": "x", "goal": "", "totalTime": 1e999}', "cannot be read"),
    "large time": (("totalTime", 10**400), "totalTime"),
    "large score": (("iterations.0.evaluation.score", 10**4000), r"iterations\[0\]\.evaluation"),
    "score above 1": (("iterations.0.evaluation.score", 1e308), r"iterations\[0\]\.evaluation\.sc"),
    "similarity above 1": (("iterations.0.actualResults.0.similarity", 2.0), "iterations"),
    "long goal": (("goal", "login " * 1000), "goal: "),
    "half a character": (("goal", "login \ud800"), "Invalid JSON"),
    "NUL": (("source", "a\0b, words"), "source"),
    "many waiting": (("waiting", ["login"] * 10_000), "waiting"),
    "many keywords": (("expectedResults.keywords", ["x"] * 21), "expectedResults.keywords"),
    "long pattern": (
        ("expectedResults.contentPatterns", ["x" * 501]),
        "expectedResults.contentPatterns",
    ),
    "no matches": (("expectedResults.minMatches", 0), "expectedResults.minMatches"),
    "confidence below 0": (("expectedResults.confidence", -1.0), "expectedResults.confidence"),
    "many rules": (("strategy.expansionRules", ["add x"] * 11), "strategy.expansionRules"),
    "long symbol": (("finalResults.0.symbol", "x" * 100_000), "finalResults"),
    "line below 0": (("finalResults.0.startLine", -1), r"finalResults\[0\]\.startLine: "),
}
"""By kind: text, keys to merge, or a path and its value; and what the message says."""


def with_value(document: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    *parents, last = path.split(".")
    part: Any = document
    for name in parents:
        part = part[int(name) if name.isdecimal() else name]
    part[last] = value
    return document


@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_plan_is_named_with_its_field_and_costs_no_other(tmp_path: Path, kind: str) -> None:
    whole, hurt = plan(), plan()
    keeping.save(tmp_path, whole)
    path = keeping.save(tmp_path, hurt)
    content, reason = DAMAGE[kind]
    if isinstance(content, dict):
        content = {**json.loads(path.read_bytes()), **content}
    elif isinstance(content, tuple):
        content = with_value(json.loads(path.read_bytes()), *content)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    with pytest.raises(StorageError, match=reason) as refused:
        keeping.load(tmp_path, hurt.id)
    assert path.name in refused.value.message
    assert "Delete the file" in refused.value.hint
    assert [entry.id for entry in keeping.entries(tmp_path)] == [whole.id]
    assert list(keeping.PLANS.listing(tmp_path).damaged) == [path.name]
    assert keeping.PLANS.remove(tmp_path, [path.name]) == [path.name]
    assert keeping.PLANS.listing(tmp_path).damaged == {}


def test_unknown_keys_are_ignored_and_missing_ones_have_defaults(
    tmp_path: Path,
) -> None:
    stored = plan()
    path = keeping.save(tmp_path, stored)
    document = json.loads(path.read_bytes())
    del document["waiting"]
    path.write_text(json.dumps({**document, "colour": "red"}), encoding="utf-8")
    assert keeping.load(tmp_path, stored.id) == stored


@pytest.mark.parametrize(
    "content",
    [None, "", "{", "[]", '{"version": 1, "files": {"x": 1}}', '{"x.json": {"goal": "x"}}'],
)
def test_missing_or_damaged_index_is_rebuilt(tmp_path: Path, content: str | None) -> None:
    first = plan()
    keeping.save(tmp_path, first)
    index = tmp_path / place.PLANS / place.INDEX
    if content is None:
        index.unlink()
    else:
        index.write_text(content, encoding="utf-8")
    before = sorted(index.parent.iterdir())
    assert [entry.id for entry in keeping.entries(tmp_path)] == [first.id]
    assert sorted(index.parent.iterdir()) == before  # reading writes nothing
    second = plan()
    keeping.save(tmp_path, second)
    assert set(json.loads(index.read_bytes())) == {f"{first.id}.json", f"{second.id}.json"}


@pytest.mark.covers("rule.plans.index")
def test_edited_index_changes_nothing(tmp_path: Path) -> None:
    stored = plan(score=0.1, stop="stopped")
    path = keeping.save(tmp_path, stored)
    index = tmp_path / place.PLANS / place.INDEX
    document = json.loads(index.read_bytes())
    document[path.name] |= {"status": "success", "confidence": 1.0, "goal": 7}
    index.write_text(json.dumps(document), encoding="utf-8")
    assert keeping.same(tmp_path, stored) is None
    assert keeping.entries(tmp_path) == [stored]


def test_files_added_or_removed_by_others_are_noticed(tmp_path: Path) -> None:
    first, second = plan(), plan("another goal")
    keeping.save(tmp_path, first)
    folder = tmp_path / place.PLANS
    (folder / f"{second.id}.json").write_bytes(keeping.rendered(second))
    (folder / "notes.json").write_text("mine", encoding="utf-8")
    assert {entry.id for entry in keeping.entries(tmp_path)} == {first.id, second.id}
    (folder / f"{first.id}.json").unlink()
    assert [entry.id for entry in keeping.entries(tmp_path)] == [second.id]


@pytest.mark.covers("rule.plans.once")
def test_same_question_for_the_same_index_is_reused(tmp_path: Path) -> None:
    stored = plan()
    keeping.save(tmp_path, stored)
    again = replace(plan(), goal="  How  does login work? ", iterations=(), final=())
    assert keeping.same(tmp_path, again) == stored
    assert keeping.same(tmp_path, again) == stored
    keeping.save(tmp_path, plan("another goal"))
    assert keeping.same(tmp_path, again) == stored
    assert keeping.entries(tmp_path)[0].id == stored.id  # used last


@pytest.mark.parametrize(
    ("asked", "revision"),
    [
        ({}, "A2"),
        ({}, ""),
        ({"goal": "How does logout work?"}, "A1"),
        ({"expected": Expected(("login",))}, "A1"),
        ({"expected": Expected(("login", "token"), confidence=0.8)}, "A1"),
        ({"mode": "strict"}, "A1"),
        ({"strategy": Strategy(initial="broad")}, "A1"),
        ({"source": "map"}, "A1"),
        ({"waiting": ("where is the token checked",)}, "A1"),
    ],
)
def test_different_question_or_index_is_not_reused(
    tmp_path: Path, asked: dict[str, Any], revision: str
) -> None:
    keeping.save(tmp_path, plan())
    assert keeping.same(tmp_path, plan(**{"revision": revision, **asked})) is None


def test_partial_plan_is_reused_unless_more_queries_are_wanted(tmp_path: Path) -> None:
    stored = plan(score=0.5, stop="iterations")
    keeping.save(tmp_path, stored)
    assert keeping.same(tmp_path, plan()) == stored
    assert keeping.same(tmp_path, plan(), more=2) is None


@pytest.mark.parametrize(
    "unfinished",
    [
        {"stop": "stopped"},
        {"stop": "timeout"},
        {"iterations": (iteration(score=0.5, error="took longer than 30 s"),)},
        {"iterations": (iteration(score=0.5, degraded=("embedding: off",)),)},
    ],
)
def test_plan_that_may_find_more_is_not_reused(tmp_path: Path, unfinished: dict[str, Any]) -> None:
    keeping.save(tmp_path, plan(score=0.5, revision="A1 engine", **unfinished))
    assert keeping.same(tmp_path, plan(revision="A1 engine")) is None


def test_plan_with_results_at_its_timeout_is_partial(tmp_path: Path) -> None:
    assert outcome.status(plan(score=0.1)) == "failed"
    assert outcome.status(plan(score=0.1, stop="timeout")) == "partial"
    assert (
        outcome.status(
            plan(score=0.1, stop="timeout", iterations=(iteration(score=0.1, results=()),))
        )
        == "failed"
    )
    del tmp_path


def limited(root: Path, **limits: int) -> Path:
    root.mkdir(exist_ok=True)
    (root / "config.json").write_text(json.dumps({"limits": limits}), encoding="utf-8")
    return root


def test_least_recently_used_plan_is_evicted(tmp_path: Path) -> None:
    root = limited(tmp_path / "kept", plans=2)
    first, second, third = plan("one"), plan("two"), plan("three")
    keeping.save(root, first)
    keeping.save(root, second)
    assert keeping.same(root, plan("one")) == first
    keeping.save(root, third)
    assert {entry.goal for entry in keeping.entries(root)} == {"one", "three"}
    index = json.loads((root / place.PLANS / place.INDEX).read_bytes())
    assert set(index) == {f"{first.id}.json", f"{third.id}.json"}
    with pytest.raises(NotFoundError):
        keeping.load(root, second.id)


@pytest.mark.covers("rule.plans.bounded")
def test_disk_space_of_plans_is_limited(tmp_path: Path) -> None:
    root = limited(tmp_path / "kept", plansMiB=1)
    heavy = result(text="y" * 300_000)
    for number in range(6):
        keeping.save(root, plan(f"goal {number}", final=(heavy,)))
    assert [entry.goal for entry in keeping.entries(root)] == ["goal 5", "goal 4", "goal 3"]
    rows = keeping.PLANS.listing(root).rows.values()
    assert sum(row.bytes for row in rows) <= 1 << 20


def test_running_plan_is_not_evicted(tmp_path: Path) -> None:
    root = limited(tmp_path / "kept", plans=1)
    running, other, last = plan("running", stop="stopped"), plan("other"), plan("last")
    for each in (running, other, last):
        keeping.save(root, each)
    assert {entry.goal for entry in keeping.entries(root)} == {"running", "last"}
    index = root / place.PLANS / place.INDEX
    index.unlink()
    long_ago = time.time() - 2 * keeping.RUNNING
    os.utime(root / place.PLANS / f"{running.id}.json", (long_ago, long_ago))
    keeping.save(root, plan("newest"))
    assert [entry.goal for entry in keeping.entries(root)] == ["newest"]


def test_plans_are_ignored_by_git_except_config_json(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    root = tmp_path / ".gistdex"
    keeping.save(root, plan())

    def seen() -> list[str]:
        command = ["git", "-C", str(tmp_path), "status", "--porcelain", "-uall"]
        ran = subprocess.run(command, check=True, capture_output=True, encoding="utf-8")
        return ran.stdout.split()[1::2]

    assert seen() == []
    hides = root / ".gitignore"
    assert "!config.json" in hides.read_text(encoding="utf-8")
    hides.write_text("*\n!config.json\n!.gitignore\n", encoding="utf-8")
    assert seen() == [".gistdex/.gitignore", ".gistdex/config.json"]
    keeping.save(root, plan())
    assert seen() == [".gistdex/.gitignore", ".gistdex/config.json"]


def test_source_folder_used_for_plans_stays_visible_to_git(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "app.py").write_text("x = 1\n", "utf-8")
    keeping.save(tmp_path / "src", plan())
    command = ["git", "-C", str(tmp_path), "status", "--porcelain", "-uall"]
    ran = subprocess.run(command, check=True, capture_output=True, encoding="utf-8")
    assert ran.stdout.split()[1::2] == ["src/app.py", "src/config.json"]


def test_name_too_long_for_the_disk_is_a_storage_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="too long"):
        keeping.entries(tmp_path / ("x" * 300))


@pytest.mark.parametrize(
    "link",
    [".gistdex", ".gistdex/cache", ".gistdex/cache/plans", ".gistdex/cache/plans/index.json"],
)
@pytest.mark.covers("rule.plans.links")
def test_nothing_is_written_through_a_link(tmp_path: Path, link: str) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    elsewhere.mkdir()
    at = project / link
    at.parent.mkdir(parents=True)
    at.symlink_to(elsewhere if at.suffix != ".json" else elsewhere / "bashrc")
    with pytest.raises(StorageError, match="is a link"):
        keeping.save(project / ".gistdex", plan())
    assert list(elsewhere.iterdir()) == []


def test_a_plan_that_is_a_link_or_a_pipe_is_not_read(tmp_path: Path) -> None:
    stored = plan()
    path = keeping.save(tmp_path / "root", stored)
    moved = path.rename(tmp_path / "moved.json")
    path.symlink_to(moved)
    with pytest.raises(StorageError, match="is a link"):
        keeping.load(tmp_path / "root", stored.id)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(StorageError, match="not a regular file"):
        keeping.load(tmp_path / "root", stored.id)


def toml(root: Path, text: str) -> Path:
    (root / ".code-intel").mkdir(exist_ok=True)
    (root / ".code-intel" / "config.toml").write_text(text, encoding="utf-8")
    return root


def test_setting_moves_the_folder_inside_the_project(
    tmp_path: Path,
) -> None:
    assert place.root_of(load_settings(tmp_path, {})) == tmp_path / ".gistdex"
    toml(tmp_path, 'plans_dir = "build/plans"\n')
    moved = load_settings(tmp_path, {})
    assert place.root_of(moved) == tmp_path / "build" / "plans"
    elsewhere = load_settings(tmp_path, {"CODE_INTEL_PLANS_DIR": "../elsewhere"})
    assert os.path.normpath(place.root_of(elsewhere)) == str(tmp_path.parent / "elsewhere")


@pytest.mark.parametrize(
    "given_",
    [
        "",
        ".",
        "..",
        "../x",
        "a/../..",
        "/srv/x",
        "~/x",
        ".git/x",
        ".code-intel",
        "C:/x",
        "a\\..\\..\\x",
    ],
)
def test_project_config_cannot_name_a_folder_outside(tmp_path: Path, given_: str) -> None:
    toml(tmp_path, f"plans_dir = {json.dumps(given_)}\n")
    with pytest.raises(ConfigError, match="plans_dir must be inside the project") as refused:
        load_settings(tmp_path, {})
    assert refused.value.details == {"field": "plans_dir"}


def test_folder_behind_a_link_is_refused(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (tmp_path / "out").mkdir()
    (project / "build").symlink_to(tmp_path / "out")
    toml(project, 'plans_dir = "build/plans"\n')
    with pytest.raises(StorageError, match="is a link"):
        place.root_of(load_settings(project, {}))


def test_plans_of_a_read_only_project_are_in_the_users_cache(tmp_path: Path) -> None:
    project, cache = tmp_path / "project", tmp_path / "cache"
    project.mkdir()
    project.chmod(0o555)
    with without_root():
        loaded = load_settings(project, {"CODE_INTEL_CACHE_DIR": str(cache)})
    project.chmod(0o755)
    root = place.root_of(loaded)
    assert root.is_relative_to(cache)
    assert keeping.save(root, plan()).is_relative_to(cache)
    assert loaded.forest.knowledge == root / place.KNOWLEDGE


def test_query_of_an_earlier_plan_is_answered_by_what_it_found(tmp_path: Path) -> None:
    done = plan(iterations=(iteration(query="login"), iteration(2, "token")))
    keeping.save(tmp_path, done)
    another = replace(done, id="", goal="another goal")
    assert keeping.results_of(tmp_path, another, "token") == done.iterations[1].results
    assert keeping.results_of(tmp_path, another, "never asked") == ()
    for other in (
        replace(another, revision="A2"),
        replace(another, revision=""),
        replace(another, source="map"),
    ):
        assert keeping.results_of(tmp_path, other, "token") == ()
    more = replace(another, expected=replace(another.expected, min_matches=20))
    assert keeping.results_of(tmp_path, more, "token") == ()


def test_results_without_texts_or_vectors_are_not_reused(tmp_path: Path) -> None:
    by_words = plan(revision="A1 engine", iterations=(iteration(degraded=("embedding: off",)),))
    keeping.save(tmp_path, by_words)
    assert keeping.results_of(tmp_path, by_words, "login") == ()
    without_texts = plan(revision="A2")
    keeping.save(tmp_path, without_texts, intermediate=False)
    assert keeping.results_of(tmp_path, without_texts, "login") == ()
