"""Clients of one process that misbehave, differ or go away, each behind its own relay."""

import json
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from code_intel.foundation.gateway_socket import has_sockets
from e2e.test_relays import COMMANDS, relays, serving
from piped import FOREST, GATEWAY, MAP, Pipe, ended, started
from projects import BIN, Project
from sampling import sampled

pytestmark = pytest.mark.skipif(
    not has_sockets() or not Path("/proc/self/maps").exists(), reason="needs sockets and /proc"
)
CALL = "tools/call"
MESSAGES: list[tuple[str, Any]] = [
    ("ping", None),
    ("logging/setLevel", {"level": "debug"}),
    ("resources/list", {}),
    ("resources/read", {"uri": "file:///x"}),
    ("resources/subscribe", {"uri": "file:///x"}),
    ("prompts/list", {}),
    ("prompts/get", {"name": "x"}),
    ("completion/complete", {"ref": {"type": "ref/prompt", "name": "x"}, "argument": {}}),
    ("roots/list", {}),
    ("sampling/createMessage", {}),
    ("elicitation/create", {}),
    ("no/such/method", {}),
    ("tools/list", {}),
    (CALL, {"name": "no_such_tool", "arguments": {}}),
    (CALL, {"name": "search_text", "arguments": {}}),
    (CALL, {"name": "search_text", "arguments": {"pattern": "login"}}),
]


def test_a_relay_answers_every_method_as_a_server_does(words: Project) -> None:
    with serving(words, GATEWAY, GATEWAY) as (server, relay):
        assert relays(relay)
        for method, params in MESSAGES:
            for pipe in (server, relay):
                pipe.send("notifications/roots/list_changed", notify=True)
            answers = []
            for pipe in (server, relay):
                answer = pipe.ask(method, params)
                assert answer.pop("id") == pipe.number
                answers.append(answer)
            assert answers[0] == answers[1], method


def test_relays_with_the_same_request_ids_get_their_own_answers(words: Project) -> None:
    lines = (f"marker_{who}_{n}_end = 1\n" for who in range(4) for n in range(30))
    (words.root / "src" / "markers.py").write_text("".join(lines), encoding="utf-8")
    with serving(words, *(4 * (GATEWAY,))) as pipes:
        wrong: list[object] = []

        def ask(who: int) -> None:
            pipe = pipes[who]
            sent = {}
            for n in range(30):
                word = f"marker_{who}_{n}_end"
                sent[pipe.send(CALL, {"name": "search_text", "arguments": {"pattern": word}})] = n
            for number, n in sent.items():
                text = json.dumps(pipe.read(number))
                if set(re.findall(r"marker_\d+_\d+_end", text)) != {f"marker_{who}_{n}_end"}:
                    wrong.append((who, n, text))

        threads = [threading.Thread(target=ask, args=(who,)) for who in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong


@pytest.mark.parametrize("begun", sampled([b"", b'{"jsonrpc": "2.0", "id": 9', b"\xff" * 70_000]))
def test_a_client_that_closes_in_the_middle_of_a_message_ends_its_relay(
    words: Project, begun: bytes
) -> None:
    with serving(words, GATEWAY, GATEWAY, MAP) as (first, relay, other):
        relay.write(begun)
        code, seconds = relay.close()
        assert code == 0
        assert seconds < relay.patience
        assert first.ask("ping")["result"] == {}
        assert "documents" in other.call("list_documents")
    assert "Traceback" not in (words.root.parent / "stderr.log").read_text("utf-8")


@pytest.mark.parametrize("size", sampled([10_000_000, 70_000_000], 10_000_000))
def test_a_large_message_is_answered_and_others_are_not_delayed(words: Project, size: int) -> None:
    with serving(words, GATEWAY, GATEWAY, MAP) as (_, relay, other):
        call = {"name": "search_text", "arguments": {"pattern": "x" * size}}
        written = threading.Thread(target=relay.send, args=(CALL, call))
        written.start()
        assert "documents" in other.call("list_documents")
        written.join()
        answer = relay.read(relay.number)
        assert "error" in answer or answer["result"]["isError"]
        assert relay.call("search_text", pattern="login")["matches"]


def test_a_relay_whose_client_was_killed_ends_although_its_pipes_are_open(words: Project) -> None:
    inner = f'"{BIN / GATEWAY[0]}" {GATEWAY[1]}; true'  # the shell stays, and is the client
    with (
        serving(words, GATEWAY) as (first,),
        subprocess.Popen(
            ["sh", "-c", inner],
            cwd=words.root,
            env=words.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        ) as client,
    ):
        pipe = Pipe(client)
        pipe.greet()
        pipe.send(CALL, {"name": "search_text", "arguments": {"pattern": "login"}})
        client.kill()
        client.wait()
        assert ended(client.pid)
        assert first.ask("ping")["result"] == {}


@pytest.mark.parametrize(
    ("other", "shared"),
    [
        ({"XDG_STATE_HOME": "/var/elsewhere"}, False),
        ({"GIT_CONFIG_GLOBAL": "/dev/null"}, False),
        ({"HOME": "/var/elsewhere"}, False),
        ({"CODE_INTEL_SHARED_TOKEN": "other"}, False),
        ({"A_TOKEN": "other"}, False),
        ({"EDITOR": "vi", "SESSION": "7"}, True),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_client_with_another_environment_shares_only_what_it_does_not_change(
    words: Project, other: dict[str, str], *, shared: bool
) -> None:
    if "CODE_INTEL_SHARED_TOKEN" in other:
        other = {**other, "CODE_INTEL_SHARED_URL": "http://127.0.0.1:9"}
    upstream = '[upstreams.devrag-map]\ncommand = "true"\nenv = {T = "${A_TOKEN:-none}"}\n'
    if "A_TOKEN" in other:
        (words.root / ".code-intel" / "config.toml").write_text(upstream, encoding="utf-8")
        approve = ("code-intel", "upstreams", "approve", "devrag-map")
        shown = json.loads(words.run(*approve, "--dry-run", "--json").stdout)
        words.run(*approve, "--digest", shown["upstream"]["digest"])
    with serving(words, GATEWAY), serving(words, MAP, **other) as (pipe,):
        assert relays(pipe) == shared
        assert "documents" in pipe.call("list_documents")


def test_a_server_of_another_version_serves_itself_at_once(words: Project, tmp_path: Path) -> None:
    copy = tmp_path / "other" / "code_intel"
    shutil.copytree(Path(__file__).parents[2] / "code_intel", copy)
    init = copy / "__init__.py"
    init.write_text(init.read_text("utf-8").replace("0.1.0", "0.0.9"), encoding="utf-8")
    program = str(tmp_path / "old")
    Path(program).write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(copy.parent)!r})\n"
        "from code_intel.__main__ import run\nrun()\n",
        encoding="utf-8",
    )
    Path(program).chmod(0o755)
    for first, second in (((program, "serve"), GATEWAY), (GATEWAY, (program, "serve"))):
        with serving(words, first), started(words, second) as pipe:
            began = time.monotonic()
            pipe.greet()
            assert time.monotonic() - began < 15
            assert pipe.call("search_text", pattern="login")["matches"]
            assert not relays(pipe)


@pytest.mark.parametrize("how", sampled(["at once", "killed first"], "at once"))
def test_no_process_is_left_when_all_clients_have_gone(words: Project, how: str) -> None:
    with ExitStack() as stack:
        kinds = (GATEWAY, MAP, FOREST, COMMANDS, GATEWAY)
        pipes = stack.enter_context(serving(words, *kinds))
        for pipe in pipes[1:]:  # some are in the middle of it
            pipe.send("tools/list")
        if how == "killed first":
            pipes[0].process.kill()
        for pipe in pipes:
            assert pipe.process.stdin is not None
            pipe.process.stdin.close()
        for pipe in pipes:
            pipe.process.wait(60)
            assert ended(pipe.process.pid)
    assert not [pid for pid in all_processes() if works_in(pid, words.root)]


def all_processes() -> list[int]:
    return [int(each.name) for each in Path("/proc").glob("[0-9]*")]


def works_in(pid: int, folder: Path) -> bool:
    try:
        return Path(f"/proc/{pid}/cwd").readlink() == folder
    except OSError:
        return False


def test_a_stopped_server_that_goes_on_does_not_do_what_was_done_elsewhere(words: Project) -> None:
    agreement = {"nl_term": "the till", "symbol": "Cart", "code_evidence": "it sums"}
    with serving(words, GATEWAY, GATEWAY) as (first, relay):
        first.process.send_signal(signal.SIGSTOP)
        answer = relay.ask(CALL, {"name": "add_agreement", "arguments": agreement})
        assert not answer["result"]["isError"]
        assert not relays(relay)
        folder = words.root / ".code-intel" / "agreements"
        before = {path: path.read_bytes() for path in folder.glob("*")}
        first.process.send_signal(signal.SIGCONT)
        assert first.call("search_text", pattern="login")["matches"]
        assert {path: path.read_bytes() for path in folder.glob("*")} == before
