"""A relay is accepted if it is of the same code and starts a server that is known."""

from typing import Any

import pytest

from code_intel.servers.relay.greeting import (
    Greeting,
    decode_greeting,
    own_code,
    starts_server,
)

GREETING = Greeting("code-intel", ["serve"], "/x\udcff", {"A": "あ\udcff"}, own_code(), None)


def test_a_greeting_survives_the_socket() -> None:
    assert decode_greeting(GREETING.encode().rstrip()) == GREETING


@pytest.mark.parametrize(
    "change",
    [{"code": ["/elsewhere", "/usr"]}, {"words": []}, {"words": None}, {"program": "rm"}],
    ids=str,
)
def test_a_greeting_of_something_else_is_refused(change: dict[str, Any]) -> None:
    assert decode_greeting(GREETING._replace(**change).encode()) is None


@pytest.mark.parametrize("line", [b"", b"0.0.1 relay {}", b"[]", GREETING.encode()[:-9]])
def test_a_line_that_is_no_greeting_is_refused(line: bytes) -> None:
    assert decode_greeting(line) is None


@pytest.mark.parametrize(
    ("line", "starts"),
    [
        ("code-intel serve", True),
        ("code-intel commands", True),
        ("code-intel serve --http 0", False),
        ("code-intel commands search x", False),
        ("devrag --config a.json", True),
        ("devrag --config a.json serve", True),
        ("devrag --config", False),
        ("devrag --config a.json search x", False),
        ("devrag", False),
    ],
)
def test_only_servers_on_stdin_may_be_relays(line: str, *, starts: bool) -> None:
    program, *words = line.split()
    assert starts_server(program, words) == starts
