"""Real server processes over raw pipes: their output, their end, and their files after a kill."""

import json
import random
import select
import signal
import time
from pathlib import Path

import pytest

from code_intel.config import load_settings
from code_intel.index.facade import Index
from code_intel.session.heads import parse_handle
from piped import FOREST, GATEWAY, MAP, SERVERS, doctor, ended, grow, started
from projects import Project
from sampling import sampled


@pytest.mark.parametrize("server", sampled(SERVERS, GATEWAY), ids=("gateway", "map", "forest"))
def test_stdout_is_json_rpc_only_whatever_else_prints(
    words: Project, server: tuple[str, ...], tmp_path: Path
) -> None:
    noisy = tmp_path / "noisy"
    noisy.mkdir()
    (noisy / "sitecustomize.py").write_text(
        "import atexit, ctypes, os, sys, threading\n"
        "def late():\n    print('late print'); os.write(1, b'late write\\n'); os.system('echo "
        "child')\n"
        "    c = ctypes.CDLL(None); c.puts(b'late C'); c.fflush(None)\n"
        "t = threading.Timer(1.0, late); t.daemon = True; t.start()\n"
        "atexit.register(print, 'at exit')\n",
        encoding="utf-8",
    )
    noise = {"PYTHONPATH": str(noisy), "PYTHONWARNINGS": "always", "PYTHONVERBOSE": "1"}
    noise |= {"PYTHONDEVMODE": "1", "PYTHONUNBUFFERED": "1"}
    with started(words, server, **noise) as pipe:
        pipe.greet()
        assert pipe.ask("tools/list")["result"]["tools"]
        tool = "search_text" if server is GATEWAY else "search"
        for _ in range(15):
            pipe.call(tool, **{"pattern" if server is GATEWAY else "query": "login"})
            select.select([], [], [], 0.1)
        code, _ = pipe.close()
        assert code == 0
        for line in pipe.rest():
            assert json.loads(line)["jsonrpc"] == "2.0"
    log = (words.root.parent / "stderr.log").read_text("utf-8", errors="replace")
    assert "late print" in log
    assert "late write" in log
    assert "late C" in log
    assert "child" in log


@pytest.mark.parametrize("server", sampled(SERVERS, FOREST), ids=("gateway", "map", "forest"))
def test_a_server_of_an_unindexed_project_answers_and_ends_with_stdin(
    bare_project: Project, server: tuple[str, ...]
) -> None:
    bare_project.run("code-intel", "init")
    with started(bare_project, server) as pipe:
        assert pipe.greet()["result"]["serverInfo"]["version"]
        code, seconds = pipe.close()
        assert code == 0
        assert ended(pipe.process.pid)
        assert seconds < pipe.patience


@pytest.mark.parametrize("server", sampled([GATEWAY, FOREST], GATEWAY), ids=("gateway", "forest"))
@pytest.mark.model
def test_a_working_server_ends_with_stdin(bare_project: Project, server: tuple[str, ...]) -> None:
    bare_project.run("code-intel", "init")
    for number in range(2):
        grow(bare_project, 40 + 60 * number)  # more than a quick machine embeds before the end
        with started(bare_project, server) as pipe:
            pipe.greet()
            select.select([], [], [], 0.4 + 1.5 * number)
            tool = "search_forest" if server is GATEWAY else "sync"
            arguments = {"query": "move an order"} if server is GATEWAY else {}
            pipe.send("tools/call", {"name": tool, "arguments": arguments})
            code, seconds = pipe.close()
            assert code == 0
            assert ended(pipe.process.pid)
            assert seconds < pipe.patience
        assert is_unfinished(bare_project)
    doctor(bare_project)


def is_unfinished(project: Project) -> bool:
    """Whether words or vectors of the forest are still missing."""
    with Index(load_settings(project.root, project.env).forest, readonly=True) as index:
        freshness = index.freshness()
    return freshness.state != "fresh" or freshness.pending > 0


@pytest.mark.parametrize(
    ("server", "stop"),
    [
        (GATEWAY, signal.SIGTERM),
        (FOREST, signal.SIGINT),
        pytest.param(MAP, signal.SIGTERM, marks=pytest.mark.long),
        pytest.param(FOREST, signal.SIGTERM, marks=pytest.mark.long),
        pytest.param(GATEWAY, signal.SIGHUP, marks=pytest.mark.long),
        pytest.param(GATEWAY, signal.SIGINT, marks=pytest.mark.long),
    ],
)
def test_a_signal_ends_a_server_at_once(
    words: Project, server: tuple[str, ...], stop: signal.Signals
) -> None:
    ours = signal.signal(stop, signal.SIG_DFL)  # a child inherits what `nohup` ignores
    with started(words, server) as pipe:
        signal.signal(stop, ours)
        pipe.greet()
        pipe.call("search_text" if server is GATEWAY else "search", query="x", pattern="login")
        began = time.monotonic()
        pipe.process.send_signal(stop)
        pipe.process.wait(60)
        assert time.monotonic() - began < pipe.patience
        assert ended(pipe.process.pid)


@pytest.mark.parametrize("closed", sampled(["stdin", "stdout"], "stdout"))
def test_a_server_ends_when_its_client_closes_one_pipe(words: Project, closed: str) -> None:
    with started(words, GATEWAY) as pipe:
        pipe.greet()
        for _ in range(50):  # far more than a pipe holds
            pipe.send("tools/list")
        assert pipe.process.stdout is not None
        assert select.select([pipe.process.stdout], [], [], 20)[0]
        getattr(pipe.process, closed).close()
        began = time.monotonic()
        assert pipe.process.wait(60) == 0
        assert time.monotonic() - began < pipe.patience + 1


def test_a_killed_gateway_loses_no_acknowledged_agreement(words: Project) -> None:
    chance = random.Random(20250101)
    acknowledged: list[str] = []
    for turn in range(2):
        with started(words, GATEWAY) as pipe:
            pipe.greet()
            deadline = time.monotonic() + chance.uniform(0.05, 0.6)
            number = 0
            while time.monotonic() < deadline:
                term = f"term {turn} {number}"
                done = pipe.call(
                    "add_agreement",
                    nl_term=term,
                    symbol="AuthService",
                    code_evidence="login() logs in",
                )
                assert done["success"]
                acknowledged.append(term)
                number += 1
            for late in range(5):
                arguments = {
                    "nl_term": f"late {turn} {late}",
                    "symbol": "Cart",
                    "code_evidence": "e",
                }
                pipe.send("tools/call", {"name": "add_agreement", "arguments": arguments})
            select.select([], [], [], chance.uniform(0.0, 0.1))
            pipe.process.kill()
            pipe.process.wait()
    assert acknowledged
    doctor(words)
    assert set(acknowledged) <= terms(words)
    files = (words.root / ".code-intel" / "agreements").iterdir()
    assert all(path.suffix in {".md", ".tmp"} for path in files)
    with started(words, GATEWAY) as pipe:
        pipe.greet()
        assert pipe.call("search_map", query=acknowledged[-1])["results"]


def terms(project: Project) -> set[str]:
    listed = json.loads(project.run("code-intel", "map", "list", "--json").stdout)
    return {str(row["nl_term"]) for row in listed["agreements"]}


def test_a_recorded_outcome_survives_a_kill(words: Project) -> None:
    service = words.root / "src" / "auth" / "service.py"
    quote = "login"
    with started(words, GATEWAY) as pipe:
        pipe.greet()
        session = pipe.call("start_session", intent="MODIFY", query=f"fix the {quote}")
        pipe.call("set_query_frame", target_feature={"value": quote, "quote": quote})
        pipe.call("find_definitions", symbol="AuthService.login")
        pipe.call(
            "confirm_symbol_relevance",
            relevant_symbols=["AuthService.login"],
            code_evidence="login() logs in",
        )
        service.write_text(service.read_text("utf-8") + "\n# changed\n", encoding="utf-8")
        pipe.call("record_outcome", outcome="success", insist=True, analysis={"root_cause": "x"})
        pipe.process.kill()
        pipe.process.wait()
    assert quote in terms(words)
    doctor(words)
    log = (words.root / ".code-intel" / "logs" / "outcomes.jsonl").read_text("utf-8").splitlines()
    name = parse_handle(str(session["session_id"])).name
    assert [json.loads(line)["session_id"] for line in log] == [name]


@pytest.mark.parametrize("server", sampled([GATEWAY, FOREST], FOREST), ids=("gateway", "forest"))
def test_an_index_interrupted_by_a_kill_is_completed(
    bare_project: Project, server: tuple[str, ...]
) -> None:
    project = Project(bare_project.root, {**bare_project.env, "CODE_INTEL_EMBEDDING": "off"})
    project.run("code-intel", "init")
    grow(project, 30)
    chance = random.Random(7)
    for _ in range(2):
        with started(project, server) as pipe:
            pipe.greet()
            if server is not GATEWAY:
                pipe.send("tools/call", {"name": "sync", "arguments": {}})
            select.select([], [], [], chance.uniform(0.0, 0.9))
            pipe.process.kill()
            pipe.process.wait()
    doctor(project)
    project.run("code-intel", "sync")
    found = json.loads(
        project.run("code-intel", "search", "--forest", "task_29_19", "--json").stdout
    )
    assert found["results"][0]["document"] == "src/grown_29.py"
