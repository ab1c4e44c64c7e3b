"""Check `code-intel plan`: options, text and JSON."""

import json
import shutil
import signal
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import Any

import pytest

from code_intel.cli.main import main
from code_intel.foundation.durable import locked
from code_intel.planning import keeping, place
from code_intel.planning.catalog import LOCK
from code_intel.planning.expectations import shipped
from code_intel.planning.records import Expected, QueryPlan, Strategy
from projects import BIN

FEE = "how is the delivery fee computed"
Run = Callable[..., str]


@pytest.fixture
def project(indexed_shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Enter a copy of the indexed shop."""
    root = Path(shutil.copytree(indexed_shop, tmp_path / "shop"))
    monkeypatch.setenv("CODE_INTEL_EMBEDDING", "off")
    for name in ("CODE_INTEL_ROOT", "CLAUDE_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def run(project: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run one command line in this process. Return its stdout, or its stderr if stdout is empty."""
    assert project.is_dir()

    def line(*words: str, code: int = 0) -> str:
        found = main(["plan", *words])
        out, err = capsys.readouterr()
        assert found == code, (out, err)
        assert "Traceback" not in err
        return out or err

    return line


def answer(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    return found


def load_plan(project: Path, data: dict[str, Any]) -> QueryPlan:
    return keeping.load(project / ".gistdex", data["planId"])


def test_text_lists_every_query_and_result(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", FEE, "--keyword", "shipping_fee", "--min-matches", "1"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    (plan,) = keeping.entries(project / ".gistdex")
    head, _, why = lines[0].partition(". ")
    assert head.startswith("Query plan success after 1 iteration with confidence 0.")
    assert why == "The requested confidence was reached."
    assert lines[1].startswith(f"1. 0.{head[-2:]}  “{FEE} shipping_fee”  ")
    assert lines[2] == "Found:"
    assert lines[3].startswith("  src/cart/shipping.py:1-")
    assert f"Saved as .gistdex/cache/plans/{plan.id}.json" in lines
    assert f"Summary in {plan.knowledge}" in lines
    assert (project / plan.knowledge).is_file()
    assert lines[-1].startswith("Note: embedding: No embedding model")
    assert err.splitlines()[0] == f"0/1 {FEE} shipping_fee"
    assert main(["plans", "show", "last"]) == 0
    assert "Note: embedding: No embedding model" in capsys.readouterr().out


def test_json_is_the_answer_of_the_tool(project: Path, run: Run) -> None:
    data = answer(run(FEE, "--json"))
    assert data["goal"] == FEE
    assert data["status"] in {"success", "partial"}
    assert data["iterations"][0]["query"] == FEE
    assert data["finalResults"]["data"][0]["document"] == "src/cart/shipping.py"
    assert (project / data["savedAt"]).is_file()


def test_every_option_has_its_effect(project: Path, run: Run) -> None:
    words = ["--query", "free from", "--query", "zones", "--keyword", "zone"]
    words += ["--keyword", "Decimal", "--pattern", r"def \w+", "--min-matches", "2"]
    words += ["--confidence", "0.999", "--mode", "strict", "--initial", "broad"]
    words += ["--refine", "keywords", "--rule", "add money", "--rule", "search in tests"]
    words += ["--max-iterations", "2", "--timeout", "20", "--provider", "forest"]
    data = answer(run("delivery", "fee", *words, "--no-intermediate", "--json"))
    plan = load_plan(project, data)
    assert plan.goal == "delivery fee"
    assert [each.query for each in plan.iterations] == ["free from", "zones"]
    assert plan.expected == Expected(("zone", "Decimal"), (r"def \w+",), 2, 0.999)
    assert plan.mode == "strict"
    assert plan.strategy == Strategy("broad", "keywords", ("add money", "search in tests"))
    assert plan.iterations[0].results
    assert not any(each.text for done in plan.iterations for each in done.results)
    assert plan.final[0].text
    assert data["stopReason"] == "iterations"


def test_database_path_is_relative_to_the_current_folder(
    project: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(project / "vectors-forest.db", project / "src" / "copy.db")
    monkeypatch.chdir(project / "src")
    assert answer(run(FEE, "--db", "copy.db", "--json"))["source"].startswith("src/copy.db")
    refused = answer(run(FEE, "--db", "/etc/hostname", "--json", code=2))
    assert refused["field"] == "db"


def test_plan_continues_where_it_ended(project: Path, run: Run) -> None:
    assert answer(run("--continue", "last", "--json", code=1))["field"] == "id"
    words = ["--confidence", "1", "--max-iterations", "1"]
    first = answer(run(FEE, *words, "--json"))
    assert first["stopReason"] == "iterations"
    words = ["--max-iterations", "1"]
    shown = run("--continue", first["planId"][:8], "--query", "zones", *words)
    assert shown.splitlines()[2].startswith("2. ")
    assert [each.query for each in load_plan(project, first).iterations] == [FEE, "zones"]
    assert "To continue: code-intel plan --continue " in shown
    data = answer(run("--continue", "last", "--query", "domestic", *words, "--json"))
    assert data["planId"] == first["planId"]
    assert data["metadata"]["totalIterations"] == 3
    other = answer(run("another goal", "--continue", "last", "--json", code=2))
    assert other["field"] == "goal"


def test_plan_without_results_fails(run: Run) -> None:
    text = run("qqqzzz wwwvvv", code=1)
    assert text.startswith("Query plan failed after ")
    assert "\nNothing found.\n" in text
    assert "\nNot found: qqqzzz, wwwvvv\n" in text
    (line,) = (
        line
        for line in run("qqqzzz", "--pattern", "z" * 80, code=1).splitlines()
        if line.startswith("Not found: ")
    )
    assert line.startswith("Not found: qqqzzz, zzz")
    assert len(line) < 100


def test_project_without_an_index_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bare").mkdir()
    assert main(["plan", "x", "--project", str(tmp_path / "bare")]) == 1
    assert "is not indexed yet" in capsys.readouterr().err
    assert not (tmp_path / "bare" / ".gistdex").exists()


def test_dry_run_shows_the_first_query_and_writes_nothing(project: Path, run: Run) -> None:
    text = run("cart total", "--preset", "tests", "--query", "rounding", "--dry-run")
    assert text.splitlines()[:2] == [
        "Expected: cart, total, test",
        f"  pattern {shipped()['tests'].expectedResults.contentPatterns[0]}",
    ]
    assert "First query: rounding" in text
    data = answer(run("カートの合計", "--dry-run", "--json"))
    assert data["expectedResults"]["minMatches"] == 3
    assert data["queries"] == ["カートの合計"]
    assert not (project / ".gistdex").exists()
    assert answer(run("x", "--pattern", "(", "--dry-run", "--json", code=2))["field"] == (
        "expectedResults.contentPatterns[0]"
    )


def test_dry_run_does_not_change_a_continued_plan(project: Path, run: Run) -> None:
    first = answer(run(FEE, "--confidence", "1", "--max-iterations", "1", "--json"))
    file = project / first["savedAt"]
    before = file.read_bytes()
    data = answer(run("--continue", "last", "--query", "zones", "--dry-run", "--json"))
    assert data["queries"] == ["zones"]
    assert file.read_bytes() == before


def interrupted(*words: str, at: str, hold: AbstractContextManager[object]) -> str:
    """Interrupt a plan when it reports `at`, release the lock, and return its stderr."""
    with ExitStack() as stack:
        with hold:
            ours = signal.signal(signal.SIGINT, signal.SIG_DFL)  # background jobs ignore SIGINT
            process = stack.enter_context(
                subprocess.Popen(
                    [str(BIN / "code-intel"), "plan", *words],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    encoding="utf-8",
                )
            )
            signal.signal(signal.SIGINT, ours)
            assert process.stderr is not None
            while not (heard := process.stderr.readline()).startswith(at):
                assert heard, "it ended before"
            process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=240)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert out == ""
    return err


def test_interrupted_plan_is_saved_and_named(project: Path) -> None:
    queries = [word for at in range(10) for word in ("--query", f"fee{at}")]
    words = (*queries, "--confidence", "1", "--max-iterations", "20")
    err = interrupted(FEE, *words, at="1/", hold=nullcontext())
    (entry,) = keeping.entries(project / ".gistdex")
    assert entry.stop == "stopped"
    assert 1 <= len(entry.iterations) < 11
    assert f"To continue: code-intel plan --continue {entry.id[:8]}" in err


def test_interrupted_continuation_keeps_the_plan(project: Path, run: Run) -> None:
    first = answer(run(FEE, "--confidence", "1", "--max-iterations", "1", "--json"))
    root = project / ".gistdex"
    # Nothing is saved while this lock is held.
    hold = locked(place.prepared(root, place.PLANS) / LOCK, 1.0)
    err = interrupted("--continue", "last", "--query", "zones", at="0/", hold=hold)
    assert f"To continue: code-intel plan --continue {first['planId'][:8]}" in err
    assert keeping.load(root, first["planId"]).iterations[0].query == FEE


@pytest.mark.parametrize(
    ("words", "message", "field"),
    [
        (["--timeout", "5"], "--timeout: ", "timeoutSeconds"),
        (["--confidence", "2"], "--confidence: ", "expectedResults.confidence"),
        (
            ["--pattern", "(?=x)"],
            "--pattern[0] is not a valid pattern",
            "expectedResults.contentPatterns[0]",
        ),
        (["--pattern", "(a", "--dry-run"], "--pattern[0]", "expectedResults.contentPatterns[0]"),
        (["--preset", "nothing"], "there is no preset", "preset"),
    ],
)
def test_error_names_the_option_that_was_typed(
    run: Run, words: list[str], message: str, field: str
) -> None:
    shown = run(FEE, *words, code=2)
    assert shown.lower().startswith(f"code-intel: {message}")
    assert "gistdex_query_plan" not in shown
    assert field == "preset" or field.partition("[")[0] not in shown
    assert answer(run(FEE, *words, "--json", code=2))["field"] == field


def test_finished_plan_asks_for_a_query(run: Run) -> None:
    words = (FEE, "--keyword", "nowheretobefound", "--confidence", "1")
    assert run(*words, "--max-iterations", "1").count('--query "…"') == 0
    assert run(*words, "--max-iterations", "20").count('--query "…"') == 1
