"""A relay knows what to ask the next server, and what to answer the client."""

import json
from typing import Any

from code_intel.servers.relay.calls import Calls

INITIALIZE = b'{"jsonrpc":"2.0","id":0,"method":"initialize"}\n'
INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'


def line(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


def call(number: object, tool: str) -> bytes:
    return line(id=number, method="tools/call", params={"name": tool})


def initialized() -> Calls:
    """Return the calls of a client that knows the tools."""
    calls = Calls()
    listed = [{"name": "read", "annotations": {"readOnlyHint": True}}, {"name": "write"}]
    for sent, received in (
        (INITIALIZE, line(id=0, result={})),
        (INITIALIZED, None),
        (line(id=1, method="tools/list"), line(id=1, result={"tools": listed})),
    ):
        calls.sent(sent)
        assert received is None or calls.received(received)
    return calls


def test_the_next_server_is_initialized_and_its_answer_is_not_shown() -> None:
    calls = initialized()
    assert calls.resume([]) == ([INITIALIZE, INITIALIZED], [])
    assert calls.has_open
    assert not calls.received(line(id=0, result={}))
    assert not calls.has_open


def test_a_handshake_that_was_not_answered_is_answered_by_the_next_server() -> None:
    calls = Calls()
    calls.sent(INITIALIZE)
    assert calls.resume([]) == ([INITIALIZE], [])
    assert calls.received(line(id=0, result={}))


def test_open_calls_that_read_are_asked_again_and_others_are_reported() -> None:
    calls = initialized()
    for sent in (call(5, "read"), call("5", "write"), line(id=6, method="ping")):
        calls.sent(sent)
    to_server, to_client = calls.resume([])
    assert to_server[2:] == [call(5, "read"), line(id=6, method="ping")]
    (answer,) = map(json.loads, to_client)
    assert answer["id"] == "5"
    assert answer["result"]["isError"]
    assert answer["result"]["structuredContent"]["error"] == "interrupted"
    assert calls.received(line(id=5, result={}))


def test_lines_that_were_not_taken_are_sent_again_in_their_order() -> None:
    calls = initialized()
    sent = [call(5, "write"), line(method="notifications/progress"), call(6, "read")]
    for each in sent:
        calls.sent(each)
    assert calls.resume(sent) == ([INITIALIZE, INITIALIZED, *sent], [])


def test_a_handshake_that_was_not_taken_is_sent_once() -> None:
    calls = Calls()
    calls.sent(INITIALIZE)
    calls.sent(INITIALIZED)
    assert calls.resume([INITIALIZE, INITIALIZED]).to_server == [INITIALIZE, INITIALIZED]


def test_a_cancelled_call_is_forgotten() -> None:
    calls = initialized()
    calls.sent(call(5, "write"))
    calls.sent(line(method="notifications/cancelled", params={"requestId": 5}))
    assert calls.resume([]) == ([INITIALIZE, INITIALIZED], [])


def test_lines_that_are_no_messages_pass() -> None:
    calls = Calls()
    for text in (b"\xff\n", b"[]\n", b"5\n", b"[" * 100_000 + b"\n", line(id=3), line(id=None)):
        calls.sent(text)
        assert calls.received(text)
    assert not calls.has_open
