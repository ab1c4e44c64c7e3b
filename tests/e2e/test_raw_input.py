"""Invalid bytes from a client get protocol errors, and the next message works."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from code_intel.servers.long_lines import MAX_LINE_CHARS
from code_intel.tools.declaration import MAX_CALL_BYTES
from code_intel.tools.wire.answers import MAX_ANSWER_TOKENS, tokens
from piped import GATEWAY, Pipe, started
from projects import Project

PARSE_ERROR, INVALID_REQUEST, NO_METHOD, BAD_PARAMS = -32700, -32600, -32601, -32602


@pytest.fixture(scope="module")
def pipe(indexed_shop: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipe]:
    """Start one server for all tests that do not end it."""
    folder = tmp_path_factory.mktemp("raw")
    root = Path(shutil.copytree(indexed_shop, folder / "shop"))
    env = {**os.environ, "CODE_INTEL_CACHE_DIR": str(folder), "CODE_INTEL_EMBEDDING": "off"}
    with started(Project(root, env), GATEWAY) as pipe:
        pipe.greet()
        yield pipe
        assert pipe.ask("ping")["result"] == {}


def request(number: object, pattern: str) -> bytes:
    """Return a call of search_text; `pattern` is put between the quotes as it is."""
    return (
        f'{{"jsonrpc":"2.0","id":{json.dumps(number)},"method":"tools/call",'
        f'"params":{{"name":"search_text","arguments":{{"pattern":"{pattern}"}}}}}}\n'
    ).encode("utf-8", "surrogateescape")


INVALID_MESSAGES = (
    (b"{\n", None, PARSE_ERROR),
    (b'{"jsonrpc": "2.0", "id": 77, "method"\n', None, PARSE_ERROR),
    (b"\xff\xfe\xfa\n", None, PARSE_ERROR),
    (request("latin", "caf\udce9"), "latin", PARSE_ERROR),
    (request("half", "\\ud800"), "half", PARSE_ERROR),
    (request("half", "\\ud800").replace(b'"half"', b'"\\ud800"'), None, PARSE_ERROR),
    (request("latin", "x").replace(b'"latin"', b'"caf\xe9"'), None, PARSE_ERROR),
    (b"\x00\n", None, PARSE_ERROR),
    (b"[" * 100_000 + b"\n", None, PARSE_ERROR),
    (b"[]\n", None, INVALID_REQUEST),
    (b'[{"jsonrpc":"2.0","id":78,"method":"ping"}]\n', None, INVALID_REQUEST),
    (b'{"jsonrpc": "1.0", "id": 79, "method": "ping"}\n', 79, INVALID_REQUEST),
    (b'{"jsonrpc": "2.0", "id": {"a": 1}, "method": 5}\n', None, INVALID_REQUEST),
    (b'{"jsonrpc": "2.0", "id": true, "method": 5}\n', None, INVALID_REQUEST),
    (b'{"jsonrpc": "2.0", "id": "s", "method": 5}\n', "s", INVALID_REQUEST),
    (b'{"jsonrpc": "2.0", "id": 80, "method": "no/such"}\n', 80, NO_METHOD),
    (b'{"jsonrpc":"2.0","id":81,"method":"notifications/initialized"}\n', 81, NO_METHOD),
    (b'{"jsonrpc":"2.0","id":82,"method":"tools/call","params":{"name":5}}\n', 82, BAD_PARAMS),
    (b'{"jsonrpc":"2.0","id":83,"method":"tools/call"}\n', 83, BAD_PARAMS),
)


def test_invalid_messages_get_protocol_errors(
    pipe: Pipe,
) -> None:
    for line, number, code in INVALID_MESSAGES:
        pipe.write(line)
        assert pipe.read(number)["error"]["code"] == code, line[:80]
        assert pipe.ask("ping")["result"] == {}, line[:80]


def test_blank_lines_answers_and_notifications_get_no_answer(pipe: Pipe) -> None:
    pipe.write(b"\n \n\r\n")
    pipe.write(b'{"jsonrpc": "2.0", "id": 7, "result": {}}\n')
    pipe.write(b'{"jsonrpc": "2.0", "id": 8, "error": {"code": 1, "message": "no"}}\n')
    pipe.write(b'{"jsonrpc": "2.0", "method": "notifications/nonsense"}\n')
    assert pipe.ask("ping")["result"] == {}
    assert not pipe.answers


def test_request_ids_may_repeat(pipe: Pipe) -> None:
    twin = b'{"jsonrpc":"2.0","id":"twin","method":"ping"}\n'
    for several in (1, 1, 3):
        pipe.write(twin * several)
        assert pipe.read("twin")["result"] == {}
        assert pipe.ask("ping")["result"] == {}
    pipe.answers.pop("twin", None)


def test_a_message_may_arrive_in_pieces(pipe: Pipe) -> None:
    whole = json.dumps(
        {"jsonrpc": "2.0", "id": "late", "method": "ping", "params": {"_": "x" * 99_999}}
    )
    for at in range(0, len(whole), 30_001):
        pipe.write(whole[at : at + 30_001].encode())
    assert not pipe.answers
    pipe.write(b"\n")
    assert pipe.read("late")["result"] == {}


def test_large_messages_are_refused_with_little_memory(
    words: Project,
) -> None:
    with started(words, GATEWAY) as pipe:
        pipe.greet()
        refuse_the_large(pipe)


def refuse_the_large(pipe: Pipe) -> None:
    pipe.call("start_session", intent="MODIFY", query="fix the login")
    pipe.call("search_text", pattern="login")
    before = peak(pipe)
    for arguments in (
        {"query": "x" * (10 * MAX_CALL_BYTES)},
        {"query": ["x"] * 100_000},
        {"query": "login", "unknown_field": [["x" * 100] * 1000] * 100},
    ):
        answer = pipe.ask("tools/call", {"name": "search_smart", "arguments": arguments})["result"]
        assert answer["isError"]
        assert answer["structuredContent"]["error"] == "invalid_argument"
    text = "x" * (30 << 20)
    call = {
        "method": "tools/call",
        "params": {"name": "search_smart", "arguments": {"query": text}},
    }
    for number, message in (
        (901, {"jsonrpc": "2.0", "id": 901, **call}),
        ("last", {**call, "jsonrpc": "2.0", "id": "last"}),
        (902, {**call, "id": 902, "jsonrpc": "2.0"}),
    ):
        pipe.write(json.dumps(message).encode() + b"\n")
        error = pipe.read(number)["error"]
        assert error["code"] == INVALID_REQUEST
        assert "16 MiB" in error["message"]
    pipe.write(json.dumps({"params": {"text": text, "id": 903}}).encode() + b"\n")
    assert pipe.read(None)["error"]["code"] == INVALID_REQUEST  # the id is not the message's
    line = b"x" * (1 << 20)
    for _ in range(12 * MAX_LINE_CHARS // len(line)):
        pipe.write(line)
    pipe.write(b"\n")
    assert pipe.read(None)["error"]["code"] == INVALID_REQUEST
    assert pipe.ask("ping")["result"] == {}
    # Only a part of a line of that size is in memory.
    assert peak(pipe) - before < 9 * MAX_LINE_CHARS


def peak(pipe: Pipe) -> int:
    """Return the most bytes of memory the server has had."""
    status = Path(f"/proc/{pipe.process.pid}/status").read_text("ascii").split()
    return int(status[status.index("VmHWM:") + 1]) << 10


NOT_A_NUMBER = (b"NaN", b"Infinity", b"-Infinity", b"1e999", b'"NaN"', b"1" * 400)


def test_invalid_numbers_are_refused_with_their_field(pipe: Pipe) -> None:
    for value in NOT_A_NUMBER:
        pipe.write(
            b'{"jsonrpc":"2.0","id":"n","method":"tools/call","params":{"name":"search_smart",'
            b'"arguments":{"query":"login","top_k":' + value + b"}}}\n"
        )
        refused = pipe.read("n")["result"]
        assert refused["isError"], value
        assert refused["structuredContent"]["field"] == "top_k"


def test_hidden_characters_pass_through(pipe: Pipe) -> None:
    for text in ("a\u2028b\u2029c", "\u202eabc", "a\rb\x1b\\[31m", "\U0001f980", "\ufeff"):
        said = pipe.call("search_text", pattern=text)
        assert said["pattern"] == text
    refused = pipe.call("search_text", pattern="a\x00b")
    assert refused["error"] == "invalid_argument"


def test_answers_do_not_repeat_long_texts(pipe: Pipe) -> None:
    pipe.call("start_session", intent="MODIFY", query="fix the login")
    long = "n" * 300_000
    for tool, arguments in (
        ("search_text", {"pattern": "login", long: 1, long + "2": 2}),
        (long, {}),
        ("check_write_target", {"file_path": long}),
        ("record_outcome", {"outcome": "failure", "trigger_message": long}),
        ("submit_understanding", {"symbols_identified": [f"{i}{'長' * 200}" for i in range(200)]}),
        ("find_definitions", {"symbol": "login", "path": long}),
        ("search_forest", {"query": "login", "directory": long}),
    ):
        result = pipe.ask("tools/call", {"name": tool, "arguments": arguments})["result"]
        told = json.dumps(result["structuredContent"], ensure_ascii=False)
        assert tokens(told) <= MAX_ANSWER_TOKENS, tool[:30]
        assert all(tokens(part["text"]) <= MAX_ANSWER_TOKENS + 100 for part in result["content"]), (
            tool[:30]
        )


def test_unusual_first_and_last_messages_are_handled(words: Project) -> None:
    early = {"method": "tools/call", "params": {"name": "list_agreements", "arguments": {}}}
    first = json.dumps({"jsonrpc": "2.0", "id": "early", **early})
    with started(words, GATEWAY) as pipe:
        pipe.write(b"\xef\xbb\xbf" + first.encode() + b"\r\n")
        assert pipe.read("early")["error"]["code"] == BAD_PARAMS
        assert pipe.greet()["result"]["serverInfo"]["name"] == "code-intel"
        pipe.write(b'{"jsonrpc": "2.0", "id": 1, "method": "pi')
        code, _ = pipe.close()
        assert code == 0
        (line,) = pipe.rest()
        assert json.loads(line)["error"]["code"] == PARSE_ERROR
