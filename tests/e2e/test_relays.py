"""The servers of a project share the first one's process, and survive its end."""

import json
import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from code_intel.foundation.gateway_socket import socket_path
from code_intel.servers.long_lines import MAX_LINE_CHARS
from piped import FOREST, GATEWAY, MAP, Pipe, started
from projects import ERAS, Project
from sampling import sampled

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/maps").exists(), reason="reads which libraries a process has loaded"
)
COMMANDS = ("code-intel", "commands")


def relays(pipe: Pipe) -> bool:
    """Whether a process only relays: it has loaded neither MCP nor its schemas."""
    return "pydantic_core" not in Path(f"/proc/{pipe.process.pid}/maps").read_text("utf-8")


@contextmanager
def serving(project: Project, *servers: tuple[str, ...], **env: str) -> Iterator[list[Pipe]]:
    """Start servers one after the other; the first one serves, if all have the same settings."""
    with ExitStack() as stack:
        pipes = []
        for server in servers:
            pipe = stack.enter_context(started(project, server, **env))
            pipe.greet()
            pipe.ask("tools/list")
            pipes.append(pipe)
        yield pipes


def begin(pipe: Pipe, feature: str) -> str:
    """Start a session; return its handle."""
    query = f"{feature} を見直す"
    return str(pipe.call("start_session", intent="MODIFY", query=query)["session_id"])


def current(pipe: Pipe) -> str:
    """Return the handle of the connection's session."""
    return str(pipe.call("get_session_status")["session_id"])


def test_the_further_servers_of_a_project_load_nothing_and_answer(words: Project) -> None:
    with serving(words, GATEWAY, MAP, FOREST, COMMANDS, GATEWAY) as pipes:
        first, of_map, of_forest, commands, second = pipes
        assert [relays(pipe) for pipe in pipes] == [False, True, True, True, True]
        assert first.call("search_text", pattern="login")["matches"]
        assert second.call("search_text", pattern="login")["matches"]
        assert "documents" in of_map.call("list_documents")
        assert of_forest.call("search", query="login")["results"]
        assert commands.ask("ping")["result"] == {}


@pytest.mark.parametrize("first", sampled([MAP, FOREST, COMMANDS], MAP), ids=lambda each: each[-1])
def test_a_server_of_any_kind_serves_the_others(words: Project, first: tuple[str, ...]) -> None:
    with serving(words, first, GATEWAY) as (_, gateway):
        assert relays(gateway)
        assert gateway.call("search_text", pattern="login")["matches"]


@pytest.mark.covers("rule.session.process")
def test_two_clients_of_one_process_keep_their_sessions(words: Project) -> None:
    with serving(words, GATEWAY, GATEWAY, GATEWAY) as (own, one, two):
        of_one, of_two = begin(one, "ログイン機能"), begin(two, "送料の計算")
        assert of_one != of_two
        assert (current(one), current(two)) == (of_one, of_two)
        answer = own.call("get_session_status")
        assert answer["error"] == "no_active_session"


@pytest.mark.covers("rule.session.process", "rule.session.takeover")
def test_the_next_server_takes_over_from_a_killed_one(words: Project) -> None:
    with serving(words, GATEWAY, GATEWAY, MAP) as (first, gateway, of_map):
        session = begin(gateway, "ログイン機能")
        first.process.kill()
        assert current(gateway) == session
        assert "documents" in of_map.call("list_documents")
        assert sorted([relays(gateway), relays(of_map)]) == [False, True]
        gateway.process.kill()
        assert "documents" in of_map.call("list_documents")
        assert not relays(of_map)


def test_what_a_killed_server_had_not_taken_is_done_once(words: Project) -> None:
    agreement = {"nl_term": "the till", "symbol": "Cart", "code_evidence": "it sums"}
    with serving(words, GATEWAY, GATEWAY) as (first, gateway):
        first.process.send_signal(signal.SIGSTOP)
        number = gateway.send("tools/call", {"name": "add_agreement", "arguments": agreement})
        time.sleep(0.2)  # the relay has sent it, and the server has not read it
        first.process.kill()
        answer = gateway.read(number)["result"]
        assert not answer["isError"], answer
    texts = [path.read_text("utf-8") for path in (words.root / ".code-intel/agreements").glob("*")]
    assert sum("the till" in text for text in texts) == 1


@pytest.mark.covers("rule.session.takeover", "error.interrupted")
def test_a_write_that_may_have_been_done_is_reported_and_not_repeated(words: Project) -> None:
    with serving(words, GATEWAY, GATEWAY) as (first, gateway):
        numbers = []
        for number in range(200):
            arguments = {"nl_term": f"term {number}", "symbol": "Cart", "code_evidence": "it sums"}
            call = {"name": "add_agreement", "arguments": arguments}
            numbers.append(gateway.send("tools/call", call))
        answers = {numbers[3]: gateway.read(numbers[3])["result"]}
        first.process.kill()
        for number in numbers[:3] + numbers[4:]:
            answers[number] = gateway.read(number)["result"]
        failed = {n: a["structuredContent"]["error"] for n, a in answers.items() if a["isError"]}
        assert set(failed.values()) == {"interrupted"}
        assert len(failed) < len(numbers) - 4
    texts = [path.read_text("utf-8") for path in (words.root / ".code-intel/agreements").glob("*")]
    for place, number in enumerate(numbers):
        found = sum(bool(re.search(rf"term {place}\b", text)) for text in texts)
        assert found == 1 or (number in failed and found == 0)


def test_a_stopped_server_is_noticed(words: Project) -> None:
    with serving(words, GATEWAY, GATEWAY, MAP) as (first, gateway, of_map):
        first.process.send_signal(signal.SIGSTOP)
        try:
            began = time.monotonic()
            assert gateway.call("search_text", pattern="login")["matches"]
            assert "documents" in of_map.call("list_documents")
            assert time.monotonic() - began < 60
        finally:
            first.process.send_signal(signal.SIGCONT)
        assert first.call("search_text", pattern="login")["matches"]


def test_a_call_finishes_although_the_client_of_its_process_ends(words: Project) -> None:
    with serving(words, GATEWAY, GATEWAY) as (first, gateway):
        agreement = {"nl_term": "the till", "symbol": "Cart", "code_evidence": "it sums"}
        for turn in range(5):
            agreement["nl_term"] = f"till {turn}"
            number = gateway.send("tools/call", {"name": "add_agreement", "arguments": agreement})
            if turn == 3:
                code, seconds = first.close()
                assert code == 0
                assert seconds < first.patience
            assert not gateway.read(number)["result"]["isError"]
        assert not relays(gateway)
        assert gateway.close()[0] == 0
    assert not os.path.lexists(socket_path(words.root))


def test_of_servers_that_start_at_once_one_serves(words: Project) -> None:
    with ExitStack() as stack:
        servers = (GATEWAY, MAP, FOREST, COMMANDS)
        pipes = [stack.enter_context(started(words, server)) for server in servers]
        threads = [threading.Thread(target=pipe.greet) for pipe in pipes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for pipe in pipes:
            assert pipe.ask("tools/list")["result"]["tools"]
        assert sorted(relays(pipe) for pipe in pipes) == [False, True, True, True]
        pipes[0].process.kill()
        pipes[1].process.kill()
        for pipe in pipes[2:]:
            assert pipe.ask("tools/list")["result"]["tools"]
        assert sorted(relays(pipe) for pipe in pipes[2:]) == [False, True]


@pytest.mark.parametrize(
    "other",
    [{"CODE_INTEL_TOOL_GROUPS": "session"}, {"CODE_INTEL_ONE_PROCESS": "0"}],
    ids=["other tools", "switched off"],
)
def test_a_server_with_other_settings_serves_itself(words: Project, other: dict[str, str]) -> None:
    with serving(words, GATEWAY), serving(words, GATEWAY, **other) as (pipe,):
        assert not relays(pipe)
        assert pipe.call("search_text", pattern="login")["matches"]


def test_the_setting_in_the_project_keeps_servers_apart(words: Project) -> None:
    file = words.root / ".code-intel" / "config.toml"
    file.write_text("one_process = false\n", encoding="utf-8")
    with serving(words, GATEWAY, MAP) as (_, of_map):
        assert not relays(of_map)


def test_the_terminal_of_a_client_makes_no_difference(words: Project) -> None:
    with serving(words, GATEWAY, TERM="xterm"), serving(words, GATEWAY, TERM="dumb") as (pipe,):
        assert relays(pipe)


def test_malformed_and_long_lines_are_answered_through_a_relay(words: Project) -> None:
    with serving(words, GATEWAY, GATEWAY) as (_, pipe):
        pipe.write(b"\xff\xfe\n")
        assert pipe.read(None)["error"]["code"] == -32700
        pipe.write(b"\0ping\n")  # what the processes say to each other is no message
        pipe.write(b'{"jsonrpc": "1.0", "id": 79, "method": "ping"}\n')
        assert pipe.read(79)["error"]["code"] == -32600
        text = "x" * (MAX_LINE_CHARS + 10)
        call = {"name": "search_text", "arguments": {"pattern": text}}
        number = pipe.send("tools/call", call)
        assert "16 MiB" in pipe.read(number)["error"]["message"]
        assert pipe.call("search_text", pattern="login")["matches"]


@pytest.mark.parametrize("stop", sampled([signal.SIGTERM, signal.SIGHUP], signal.SIGTERM))
def test_a_relay_ends_like_a_server(words: Project, stop: signal.Signals) -> None:
    ours = signal.signal(stop, signal.SIG_DFL)  # a child inherits what `nohup` ignores
    with serving(words, GATEWAY, GATEWAY, GATEWAY) as (first, one, two):
        signal.signal(stop, ours)
        one.process.send_signal(stop)
        assert one.process.wait(60) == 128 + stop
        code, seconds = two.close()
        assert code == 0
        assert seconds < two.patience
        assert first.ask("ping")["result"] == {}


@pytest.mark.anyio
@pytest.mark.parametrize("era", ERAS)
async def test_progress_and_parallel_calls_pass_through_a_relay(words: Project, era: str) -> None:
    async with (
        words.connect(*FOREST, era=era),
        words.connect(*FOREST, era=era) as call,
    ):
        seen: list[tuple[float, float | None, str | None]] = []

        async def note(progress: float, total: float | None, message: str | None) -> None:
            seen.append((progress, total, message))

        # The server may index a file before the call does; then there is nothing to report.
        for number in range(20):
            (words.root / "progress.py").write_text(f"number = {number}\n", encoding="utf-8")
            answer = await call.client.call_tool("sync", {}, progress_callback=note)
            assert not answer.is_error
            if seen:
                break
        assert seen


def test_a_cancelled_call_is_not_answered(words: Project) -> None:
    with serving(words, GATEWAY, GATEWAY) as (first, pipe):
        first.process.send_signal(signal.SIGSTOP)
        number = pipe.send("tools/call", {"name": "search_text", "arguments": {"pattern": "a"}})
        pipe.send("notifications/cancelled", {"requestId": number}, notify=True)
        first.process.send_signal(signal.SIGCONT)
        assert pipe.ask("ping")["result"] == {}
        assert number not in pipe.answers
        lines = [json.loads(line) for line in pipe.lines]
        assert all(line.get("id") != number for line in lines)
