"""Check `code-intel plans`: list, show, presets, prune and clear."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.cli.main import main
from code_intel.cli.plans.show import METRICS
from code_intel.config import load_settings
from code_intel.forest.ranking.search import search
from code_intel.index.facade import Index
from code_intel.planning import keeping, knowledge
from code_intel.planning.catalog import KeptFile, beyond
from code_intel.planning.expectations import shipped
from code_intel.planning.records import (
    DEFAULT_CONFIDENCE,
    Evaluation,
    Expected,
    Iteration,
    Metrics,
    QueryPlan,
    Result,
    Strategy,
)

IDS = ("aaaaaaaa-0000-4000-8000-000000000001", "abbbbbbb-0000-4000-8000-000000000002")
GOALS = ("how are totals rounded", "ログインはどこで検査されるか")
HIT = Result(
    "src/cart.py", "def total(items):\n    return round(sum(items))\n", 0.7, 1.0, "total", 1, 2
)
Run = Callable[..., str]


def plan(at: int, score: float = 0.8) -> QueryPlan:
    """Return a plan of two queries, of which only the second has results."""
    metrics = Metrics(score, 1.0, score, 1.0, 0.5, score)
    return QueryPlan(
        id=IDS[at],
        goal=GOALS[at],
        expected=Expected(("total", "round"), (r"def \w+",), 2),
        strategy=Strategy("broad", "keywords", ("add money",)),
        iterations=(
            Iteration(
                1,
                "total",
                ("total", "round"),
                (),
                Evaluation(Metrics(0, 0, 0, 0, 0, 0), 0.0, 0.0),
                "Nothing was found.",
                ("round total",),
                milliseconds=12.4,
            ),
            Iteration(
                2,
                "round total",
                ("total", "round"),
                (HIT,),
                Evaluation(metrics, score, score, ("total",), ("round",)),
                "“round” is missing.",
                milliseconds=3.0,
            ),
        ),
        final=(HIT,),
        stop="reached",
        source="forest, words",
        revision="7",
        created="2026-01-02T03:04:05+00:00",
        milliseconds=15.4,
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / ".code-intel").mkdir(parents=True)
    (root / "src").mkdir()
    (root / "src" / "cart.py").write_text(HIT.text, encoding="utf-8")
    return root


@pytest.fixture
def plans_folder(project: Path) -> Path:
    """Save two plans and a page; return their folder."""
    root = project / ".gistdex"
    keeping.save(root, plan(0))
    keeping.save(root, plan(1, 0.4))
    assert knowledge.write(root, plan(0)) is not None
    return root


@pytest.fixture
def run(project: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run one line in this process and return what it prints."""

    def line(*words: str, code: int = 0) -> str:
        assert main(["plans", *words, "--project", str(project)]) == code
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return out or err

    return line


def data(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    return found


def files(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()
    }


def test_empty_lists_say_so_and_create_nothing(project: Path, run: Run) -> None:
    assert run("list", code=1) == "There are no plans yet. `code-intel plan GOAL` creates one.\n"
    assert "There are no plans yet" in run("show", "last", code=1)
    assert run("prune") == run("clear") == "Nothing to remove.\n"
    assert not (project / ".gistdex").exists()


@pytest.mark.usefixtures("plans_folder")
def test_plans_are_listed_by_last_use(run: Run) -> None:
    lines = run("list").splitlines()
    assert [line[:8] for line in lines] == ["abbbbbbb", "aaaaaaaa"]
    assert "partial 0.40" in lines[0]
    assert lines[0].endswith(GOALS[1])
    assert "success 0.80" in lines[1]
    rows = data(run("list", "--json"))
    assert rows["truncated"] is False
    assert rows["damaged"] == {}
    assert rows["plans"][1] == {
        "planId": IDS[0],
        "goal": GOALS[0],
        "status": "success",
        "confidence": 0.8,
        "iterations": 2,
        "queries": ["total", "round total"],
        "created": "2026-01-02T03:04:05+00:00",
        "used": rows["plans"][1]["used"],
        "stopReason": "reached",
        "source": "forest, words",
        "structuredKnowledgePath": "",
        "bytes": rows["plans"][1]["bytes"],
    }


def test_list_begins_with_the_plan_that_was_used_last(plans_folder: Path, run: Run) -> None:
    assert keeping.same(plans_folder, plan(0)) is not None
    assert run("list").startswith("aaaaaaaa")


def test_damaged_plan_is_named_and_can_be_cleared(plans_folder: Path, run: Run) -> None:
    (plans_folder / "cache" / "plans" / f"{IDS[0]}.json").write_text("{", encoding="utf-8")
    assert f"{IDS[0]}.json cannot be read: " in run("list")
    assert run("show", "aaaa", code=1)
    removed = data(run("clear", "plans", "--json"))["removed"]
    assert {row["reason"] for row in removed} == {"cleared", "damaged"}
    assert not list((plans_folder / "cache" / "plans").glob("a*.json"))


@pytest.mark.usefixtures("plans_folder")
def test_show_prints_a_plan_query_by_query(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    text = run("show", "aaa")
    assert text.splitlines() == [
        "how are totals rounded",
        f"{IDS[0]}: success, 0.80, 0.0 s, reached",
        "Expected: total, round",
        r"  pattern def \w+",
        (
            f"  at least 2, confidence {DEFAULT_CONFIDENCE:.2f}, fuzzy; broad first, "
            "refined by keywords"
        ),
        "  rule add money",
        "Searched: forest, words",
        "1. 0.00  “total”: 0 results, 12 ms",
        (
            "     keywords 0.00  patterns 0.00  meaning 0.00  coverage 0.00  precision 0.00  "
            "recall 0.00"
        ),
        "     Nothing was found.",
        "     - round total",
        "2. 0.80  “round total”: 1 result, 3 ms",
        (
            "     keywords 0.80  patterns 1.00  meaning 0.80  coverage 1.00  precision 0.50  "
            "recall 0.80"
        ),
        "     “round” is missing.",
        "Found 1:",
        "  src/cart.py:1-2  total",
        text.splitlines()[-1],
    ]
    assert text.splitlines()[-1].endswith(f".gistdex/cache/plans/{IDS[0]}.json")
    story = data(run("show", IDS[0], "--json"))
    assert story["planId"] == IDS[0]
    assert [each["query"] for each in story["iterations"]] == ["total", "round total"]
    assert data(run("show", "last", "--json"))["planId"] == IDS[1]


@pytest.mark.usefixtures("plans_folder")
def test_show_draws_what_each_query_added(run: Run) -> None:
    lines = run("show", "aaa", "--plot").splitlines()
    assert lines[:-1] == [
        "how are totals rounded",
        f"success, 0.80, | = requested {DEFAULT_CONFIDENCE:.2f}",
        f" 1 {'.' * 28}|{'.' * 12} 0.00  total",
        f"   score 0.00: {' '.join(f'{name} ....' for name in METRICS)}",
        f" 2 {'#' * 28}|####{'.' * 8} 0.80  round total",
        (
            "   score 0.80: keywords ###. patterns #### meaning ###. "
            "coverage #### precision ##.. recall ###."
        ),
        "   + 1: src/cart.py",
    ]
    assert "\n".join(lines).isascii()  # also for terminals without UTF-8
    rows = data(run("show", "aaa", "--json"))["iterations"]
    assert [row["added"] for row in rows] == [[], ["src/cart.py"]]


@pytest.mark.usefixtures("plans_folder")
def test_plan_is_selected_by_an_unambiguous_prefix(run: Run) -> None:
    assert "2 plans begin like this" in run("show", "a", code=2)
    assert "No plan has the id zzz" in run("show", "zzz", code=1)
    assert "No plan has the id ../.." in run("show", "../..", code=1)


def test_presets_lists_shipped_and_own_presets(plans_folder: Path, run: Run) -> None:
    config = json.loads((plans_folder / "config.json").read_text(encoding="utf-8"))
    config["presets"] = {
        "tests": {"about": "Ours.", "expectedResults": {"keywords": ["spec"]}},
        "money": {"about": "What is paid."},
    }
    (plans_folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    text = run("presets")
    assert "money          What is paid.  (own)\n" in text
    assert "tests          Ours.  (own)\n" in text
    rows = {row["name"]: row for row in data(run("presets", "--json"))["presets"]}
    assert rows.keys() == {*shipped(), "money"}
    assert rows["tests"]["expectedResults"]["keywords"] == ["spec"]
    assert rows["errors"]["strategy"]["expansionRules"] == ["add exception"]
    assert rows["errors"]["own"] is False


@pytest.mark.parametrize(
    "words",
    [("clear",), ("clear", "knowledge", "plans"), ("prune", "--older-than", "0"), ("prune",)],
)
def test_dry_run_lists_what_the_run_removes(
    plans_folder: Path, run: Run, words: tuple[str, ...]
) -> None:
    (plans_folder / "config.json").write_text('{"limits": {"plans": 1}}', encoding="utf-8")
    before = files(plans_folder)
    preview = data(run(*words, "--dry-run", "--json"))
    assert files(plans_folder) == before
    done = data(run(*words, "--json"))
    assert preview["removed"] == done["removed"] != []
    assert (preview["dry_run"], done["dry_run"]) == (True, False)
    removed = {
        name for name in before.keys() - files(plans_folder).keys() if not name.endswith(".lock")
    }
    assert removed == {f"cache/{row['kind']}/{row['name']}" for row in done["removed"]}


def test_prune_removes_the_least_used_above_the_limits(plans_folder: Path, run: Run) -> None:
    (plans_folder / "config.json").write_text('{"limits": {"plans": 1}}', encoding="utf-8")
    text = run("prune")
    assert text.startswith(f"plans/{IDS[0]}.json: above the limits\n1 removed, ")
    assert [entry.id for entry in keeping.entries(plans_folder)] == [IDS[1]]


@pytest.mark.usefixtures("plans_folder")
def test_prune_keeps_recently_used_plans(run: Run) -> None:
    assert run("prune", "--older-than", "1") == "Nothing to remove.\n"
    assert "0 to 100,000" in run("prune", "--older-than", "-1", code=2)


def test_prune_keeps_running_plans(plans_folder: Path, run: Run) -> None:
    keeping.save(plans_folder, replace(plan(1), stop="stopped"))
    (plans_folder / "config.json").write_text('{"limits": {"plans": 1}}', encoding="utf-8")
    run("prune", "--older-than", "0")
    assert [entry.id for entry in keeping.entries(plans_folder)] == [IDS[1]]


def test_clear_keeps_the_config(plans_folder: Path, run: Run) -> None:
    run("clear")
    assert (plans_folder / "config.json").is_file()
    assert keeping.entries(plans_folder) == []
    assert knowledge.PAGES.listing(plans_folder).rows == {}


@pytest.mark.parametrize(
    "words", [("clear",), ("clear", "knowledge"), ("prune", "--older-than", "0")]
)
def test_removed_page_is_no_longer_found(project: Path, run: Run, words: tuple[str, ...]) -> None:
    page = knowledge.write(project / ".gistdex", plan(0))
    assert page is not None
    config = load_settings(project, {}).forest

    def hits() -> set[str]:
        with Index(config, readonly=True) as forest:
            return {
                hit.document
                for hit in search(forest.store, GOALS[0], None, top_k=5, own=forest.store)
            }

    with Index(config) as forest:
        forest.complete(words_only=True)
    assert hits() == {"src/cart.py", page.relative_to(project).as_posix()}
    run(*words, "--dry-run")
    assert len(hits()) == 2
    assert data(run(*words, "--json"))["problem"] == ""
    assert hits() == {"src/cart.py"}


def test_page_is_removed_although_the_index_cannot_be_updated(project: Path, run: Run) -> None:
    page = knowledge.write(project / ".gistdex", plan(0))
    assert page is not None
    database = load_settings(project, {}).forest.db_path
    database.mkdir()
    text = run("clear")
    assert "1 removed" in text
    assert "Searches may find the pages until the next sync: " in text
    assert not page.exists()


@given(
    st.dictionaries(st.text("abc", min_size=1, max_size=4), st.integers(0, 50), max_size=12),
    st.integers(0, 12),
    st.integers(0, 300),
)
def test_eviction_removes_the_least_used_until_the_limits_hold(
    sizes: dict[str, int], most: int, room: int
) -> None:
    rows = {name: KeptFile(None, size, at) for at, (name, size) in enumerate(sizes.items())}
    evicted = beyond(rows, most, room)
    left = [name for name in rows if name not in evicted]
    assert len(left) <= most
    assert sum(sizes[name] for name in left) <= room
    assert evicted == list(rows)[: len(evicted)]
    if evicted:
        again = [evicted[-1], *left]
        assert len(again) > most or sum(sizes[name] for name in again) > room
