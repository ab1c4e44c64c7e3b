"""Check exit codes, JSON and streaming of both programs."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from code_intel.records import VERIFICATION_SCORE
from projects import BIN, Project

FOREST = "devrag-forest.json"
MAP = "devrag-map.json"


def answer(project: Project, *arguments: str, code: int = 0) -> dict[str, Any]:
    done = project.call("code-intel", *arguments, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return dict(json.loads(done.stdout))


def devrag(project: Project, *arguments: str, code: int = 0) -> dict[str, Any]:
    done = project.call("devrag", *arguments, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    envelope = json.loads(done.stdout)
    assert envelope["status"] == ("ok" if "data" in envelope else "error")
    return dict(envelope.get("data") or envelope["error"])


def files(root: Path) -> dict[str, int]:
    """Return every file with its time, except locks and git's files."""
    found = [path for path in root.rglob("*") if path.is_file() and ".git/" not in str(path)]
    return {str(path): path.stat().st_mtime_ns for path in found if path.suffix != ".lock"}


def agree(project: Project, term: str = "送料計算", symbol: str = "shipping_fee") -> None:
    project.call("code-intel", "map", "add", term, symbol, "--evidence", "returns the fee")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("search", "shipping fee", "--json"), 0),
        (("search", "--json", "--forest", "shipping", "fee"), 0),
        (("search", "qqqzzzxxx", "--json"), 1),
        (("search", "--map", "shipping fee", "--json"), 1),
        (("map", "list", "--json"), 1),
        (("map", "--json", "list"), 1),
        (("status", "--json"), 0),
        (("doctor", "--json"), 0),
        (("sync", "--json", "--words-only"), 0),
        (("init", "--dry-run", "--json"), 0),
        (("search", "--json"), 0),
        (("search", "--json", "--"), 0),
        (("search", "x", "--top-k", "0", "--json"), 2),
        (("search", "x", "--top-k", "x", "--json"), 2),
        (("search", "x", "--map", "--forest", "--json"), 2),
        (("search", "x", "--nope", "--json"), 2),
        (("map", "add", "x", "--json"), 2),
        (("map", "add", "x", "y", "--evidence", " ", "--json"), 2),
        (("map", "add", "x", "y", "--evidence", "e", "--file", "../x", "--json"), 2),
        (("status", "no/such/folder", "--json"), 2),
        (("search", "x", "--project", "no/such", "--json"), 2),
    ],
)
def test_every_command_prints_one_json_object(
    shop: Project, arguments: tuple[str, ...], code: int
) -> None:
    data = answer(shop, *arguments, code=code)
    if code == 2:
        assert data.keys() >= {"error", "message", "hint"}
        assert data["hint"]


def test_missing_command_is_a_usage_error(bare: Project) -> None:
    for arguments, code in (((), 2), (("nope",), 2), (("--help",), 0), (("--version",), 0)):
        for program in ("code-intel", *(("devrag",) if arguments else ())):
            done = bare.call(program, *arguments, check=False)
            assert done.returncode == code, (program, arguments)
            assert done.stdout + done.stderr


@pytest.mark.parametrize(
    "command",
    [
        ("code-intel", "search", "-"),
        ("devrag", "--config", MAP, "search", "-"),
    ],
)
def test_dash_answers_each_line_of_stdin(shop: Project, command: tuple[str, ...]) -> None:
    agree(shop)
    process = subprocess.Popen(
        [str(BIN / command[0]), *command[1:]],
        cwd=shop.root,
        env=dict(shop.env) | {"LC_ALL": "C", "PYTHONIOENCODING": "latin-1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        for query in ("送料計算".encode(), b"shipping \xff\xfe fee", b"shipping_fee", b"x" * 5000):
            process.stdin.write(query + b"\n\n")
            process.stdin.flush()
            data = json.loads(process.stdout.readline().decode("utf-8"))
            data = data.get("data", data)
            assert isinstance(data["results"], list)
            assert any("embedding" in note for note in data["index"]["degraded"])
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait(60) == 0
        assert process.stderr.read() == b""


def test_closed_pipe_is_no_error(shop: Project) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [str(BIN / "code-intel"), "search", "shipping fee"],
        cwd=shop.root,
        env=dict(shop.env),
        stdin=subprocess.DEVNULL,
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


def test_search_without_a_model_is_marked_in_every_answer(shop: Project) -> None:
    agree(shop)
    for arguments in (("--map",), ("--forest",), ()):
        data = answer(shop, "search", *arguments, "送料計算", "--json")
        assert any("embedding" in note for note in data["index"]["degraded"])
    exact = answer(shop, "search", "--map", "送料計算", "--json")["results"][0]
    assert exact["agreement"]["symbol"] == "shipping_fee"
    assert 0 < exact["score"] < VERIFICATION_SCORE
    assert answer(shop, "search", "送料計算 shipping", "--json")["source"] == "forest"
    text = shop.call("code-intel", "search", "shipping fee").stdout
    assert "embedding is switched off" in text
    assert "off" in answer(shop, "status", "--json")["embedding"]


def test_reading_commands_write_nothing(shop: Project) -> None:
    agree(shop)
    for database in (".code-intel/vectors-map.db", "vectors-forest.db"):
        for path in shop.root.glob(f"{database}*"):
            path.unlink()
    before = files(shop.root)
    assert not [name for name in before if ".db" in name and "state" not in name]
    status = answer(shop, "status", "--json")
    assert (status["map"]["state"], status["forest"]["state"]) == ("missing", "missing")
    assert status["agreements"] == {"unconfirmed": 1}
    findings = answer(shop, "doctor", "--json", code=0)["findings"]
    assert any("1 agreement" in row["what"] for row in findings)
    devrag(shop, "--config", FOREST, "status")
    devrag(shop, "--config", FOREST, "doctor")
    assert files(shop.root) == before


def test_project_without_setup_can_be_searched_after_sync(bare: Project) -> None:
    (bare.root / "a.py").write_text("def hello():\n    pass\n", encoding="utf-8")
    assert answer(bare, "status", "--json")["forest"]["state"] == "missing"
    answer(bare, "sync", "--json")
    assert answer(bare, "search", "hello", "--json")["results"][0]["document"] == "a.py"


def test_unindexable_files_do_not_fail_the_sync(shop: Project) -> None:
    (shop.root / "src" / "binary.py").write_bytes(b"\x00\x01" * 100)
    (shop.root / "src" / "huge.py").write_bytes(b"x = 1\n" * 400_000)
    synced = answer(shop, "sync", "--json")
    assert synced["forest"]["skipped"] + synced["forest"]["failed"] >= 2
    assert answer(shop, "search", "shipping fee", "--json")["results"]


@pytest.mark.parametrize("name", ["config.toml", MAP, FOREST])
def test_invalid_config_file_is_named(shop: Project, name: str) -> None:
    file = shop.root / (".code-intel/config.toml" if name == "config.toml" else name)
    file.write_text("{ broken", encoding="utf-8")
    for command in (("status",), ("search", "x")):
        error = answer(shop, *command, "--json", code=2)
        assert error["error"] == "invalid_config"
        assert name in error["message"]
    served = shop.spawn("code-intel", "serve", check=False)
    assert (served.returncode, served.stdout) == (2, "")
    assert name in served.stderr


def test_search_without_a_query_asks_about_the_project(shop: Project) -> None:
    data = answer(shop, "search", "--json")
    assert data["query"].startswith("how does ")
    symbol = data["query"].split()[2]
    assert symbol.isidentifier()
    assert any(symbol in (row.get("symbol") or "") + row["chunk"] for row in data["results"])
    text = shop.call("code-intel", "search").stdout
    assert text.startswith(f"Question: {data['query']}\n")


@pytest.mark.parametrize(
    ("file", "text", "question"),
    [
        ("README.md", "# Ferry\n\nTimes of the ferry.\n", "what is in README.md"),
        ("notes.txt", "ferry\n", "what is in notes.txt"),
        ("a.py", "class Ferry:\n    pass\n\n\ndef f():\n    pass\n", "how does Ferry work"),
        ("b.py", 'def g():\n    pass\n\n\ndef f():\n    """Sail."""\n', "how does f work"),
    ],
)
def test_example_question_fits_the_project(
    bare: Project, file: str, text: str, question: str
) -> None:
    (bare.root / file).write_text(text, encoding="utf-8")
    bare.call("code-intel", "init")
    answer(bare, "sync", "--json")
    data = answer(bare, "search", "--json")
    assert data["query"] == question
    assert data["results"][0]["document"] == file


def test_empty_index_has_no_example_question(bare: Project) -> None:
    bare.call("code-intel", "init")
    assert answer(bare, "search", "--json", code=1)["error"] == "not_found"
    answer(bare, "sync", "--json")
    assert answer(bare, "search", "--json", code=1)["error"] == "not_found"


def test_terminal_ignores_the_root_of_servers(shop: Project, bare: Project) -> None:
    variables = {"CODE_INTEL_ROOT": str(bare.root), "CLAUDE_PROJECT_DIR": str(bare.root)}
    inside = Project(shop.root, {**shop.env, **variables})
    assert answer(inside, "status", "--json")["project"] == str(shop.root)
    assert answer(inside, "search", "shipping fee", "--json")["results"]
