"""Run an MCP server, on the standard library alone, that answers or fails as MODE says.

    python -I -S fake_upstream.py MODE [--log FILE] [--era legacy|modern] [--number N] [--go FILE]

`--log` gets a line for every start, greeting, call and cancellation. The mode `slow_start` waits
until the file of `--go` exists, or for `--number` milliseconds.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

HIT = {"document": "src/auth/service.py", "chunk": "class AuthService:", "position": 0}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "query": {"type": "string"},
        "top_k": {"type": "integer"},
        "directory": {"type": "string"},
        "file_pattern": {"type": "string"},
    },
    "required": ["query"],
}
ODD = [
    {**HIT, "score": float("nan"), "similarity": "high"},
    {**HIT, "score": 1e9, "similarity": -1},
    {**HIT, "score": "0.99"},
    {"chunk": "no document"},
    "no object",
    {**HIT, "score": 0.5, "similarity": 0.75},
]
LONG = 400 << 20


def argument(name: str, default: str = "") -> str:
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


MODE = sys.argv[1] if len(sys.argv) > 1 else "good"
LOG, GO = argument("--log"), argument("--go")
ERA = argument("--era", "legacy")
WORDS = argument("--words")
NUMBER = int(argument("--number", "3"))
calls = 0
lock = threading.Lock()


def log(text: str) -> None:
    if LOG:
        with Path(LOG).open("a", encoding="utf-8") as file:
            file.write(text + "\n")


def write(data: str) -> None:
    with lock:
        sys.stdout.write(data + "\n")
        sys.stdout.flush()


def send(message: dict[str, Any]) -> None:
    write(json.dumps({"jsonrpc": "2.0", **message}))


def for_ever() -> NoReturn:
    while True:
        signal.pause()


def results(hits: list[Any]) -> dict[str, Any]:
    data = {"results": hits}
    return {"content": [{"type": "text", "text": json.dumps(data)}], "structuredContent": data}


def answered(number: Any, _params: dict[str, Any]) -> None:
    good = [{**HIT, "similarity": 0.9, "score": 0.5}]
    send({"id": number, "result": complete(results(good))})


def complete(result: dict[str, Any]) -> dict[str, Any]:
    return {**result, "resultType": "complete"} if ERA == "modern" else result


def crash(_number: Any, _params: dict[str, Any]) -> NoReturn:
    sys.stderr.write("fatal: the engine is broken\n")
    sys.stderr.flush()
    os._exit(7)


def half(number: Any, _params: dict[str, Any]) -> NoReturn:
    text = json.dumps({"jsonrpc": "2.0", "id": number, "result": results([HIT])})
    sys.stdout.write(text[: len(text) // 2])
    sys.stdout.flush()
    os._exit(0)


def hang(_number: Any, _params: dict[str, Any]) -> None:
    log("hangs")


def deaf(_number: Any, _params: dict[str, Any]) -> NoReturn:
    for_ever()


def progress(_number: Any, params: dict[str, Any]) -> None:
    token = params.get("_meta", {}).get("progressToken")
    for done in (1, 2):
        body = {"progressToken": token, "progress": done, "total": 3, "message": "looking"}
        send({"method": "notifications/progress", "params": body})


def garbage(number: Any, _params: dict[str, Any]) -> None:
    write("a banner, as programs print them")
    write('{"jsonrpc": "2.0", "id": 1, "resu')
    write('{"jsonrpc": "2.0", "id": 99999, "result": {}}')
    write("[1, 2, 3]")
    body = {"content": [{"type": "text", "text": json.dumps({"results": ODD})}]}
    write(json.dumps({"jsonrpc": "2.0", "id": number, "result": complete(body)}))


def wrong_ids(_number: Any, _params: dict[str, Any]) -> None:
    send({"id": 70_000, "result": complete(results([HIT]))})


def huge(number: Any, _params: dict[str, Any]) -> None:
    hits = [{**HIT, "chunk": "x" * 1_000_000} for _ in range(50)]
    send({"id": number, "result": complete(results(hits))})


def flood(_number: Any, _params: dict[str, Any]) -> NoReturn:
    note = {"method": "notifications/message", "params": {"level": "info", "data": "x" * 200}}
    while True:
        send(note)


def long_line(_number: Any, _params: dict[str, Any]) -> NoReturn:
    for _ in range(LONG >> 16):
        sys.stdout.write("x" * (1 << 16))
    sys.stdout.flush()
    for_ever()


def flood_stderr(_number: Any, _params: dict[str, Any]) -> NoReturn:
    while True:
        sys.stderr.write("something is wrong\n" * 1000)


def refusal(number: Any, _params: dict[str, Any]) -> None:
    body = {"content": [{"type": "text", "text": "no license"}], "isError": True}
    send({"id": number, "result": complete(body)})


def orders_refusal(number: Any, _params: dict[str, Any]) -> None:
    text = json.dumps({"error": WORDS, "message": WORDS, "hint": WORDS})
    send({"id": number, "result": {"content": [{"type": "text", "text": text}], "isError": True}})


def refuses_once(number: Any, params: dict[str, Any]) -> None:
    (refusal if calls == 1 else answered)(number, params)


def orders_error(number: Any, _params: dict[str, Any]) -> None:
    send({"id": number, "error": {"code": -32603, "message": WORDS, "data": WORDS}})


def orders_degraded(number: Any, _params: dict[str, Any]) -> None:
    index = {"state": WORDS, "degraded": [f"embedding: {WORDS}", WORDS]}
    data = {"results": [HIT], "index": index, "message": WORDS, "warnings": [WORDS]}
    send({"id": number, "result": {"content": [{"type": "text", "text": json.dumps(data)}]}})


def orders_death(_number: Any, _params: dict[str, Any]) -> NoReturn:
    sys.stderr.write(WORDS)
    sys.stderr.flush()
    os._exit(1)


def server_error(number: Any, _params: dict[str, Any]) -> None:
    send({"id": number, "error": {"code": -32000, "message": "the database is locked"}})


def lies(number: Any, _params: dict[str, Any]) -> None:
    send({"id": number, "result": complete(results(json.loads(argument("--hits", "[]"))))})


def wrong_shape(number: Any, _params: dict[str, Any]) -> None:
    body = {"content": [{"type": "text", "text": '{"answer": 42}'}]}
    send({"id": number, "result": complete(body)})


def devrag(number: Any, params: dict[str, Any]) -> None:
    """Answer as devrag 1.1.0 does: JSON in a text."""
    unknown = set(params["arguments"]) - {"query", "top_k"}
    assert not unknown, unknown
    hits = [
        {
            "DocumentName": "service.py",
            "ChunkContent": "class AuthService:",
            "Similarity": 0.93,
            "Position": 0,
        },
        {"DocumentName": "elsewhere/x.md", "ChunkContent": "x", "Similarity": 0.9, "Position": 1},
    ]
    text = json.dumps({"results": hits}, indent=2)
    send({"id": number, "result": {"content": [{"type": "text", "text": text}]}})


def counted(number: Any, params: dict[str, Any]) -> None:
    answered(number, params)
    if calls >= NUMBER:
        os._exit(0)


def idle_death(number: Any, params: dict[str, Any]) -> None:
    answered(number, params)
    threading.Timer(0.05, os._exit, (0,)).start()


def slowly(number: Any, params: dict[str, Any]) -> None:
    threading.Timer(NUMBER / 1000, answered, (number, params)).start()


CALLS: dict[str, Callable[[Any, dict[str, Any]], None]] = {
    "crash_call": crash,
    "unsafe": crash,
    "half_answer": half,
    "hang_call": hang,
    "deaf": deaf,
    "progress": progress,
    "garbage": garbage,
    "wrong_ids": wrong_ids,
    "huge": huge,
    "flood": flood,
    "long_line": long_line,
    "flood_stderr": flood_stderr,
    "refusal": refusal,
    "lies": lies,
    "server_error": server_error,
    "wrong_shape": wrong_shape,
    "orders_refusal": orders_refusal,
    "orders_error": orders_error,
    "refuses_once": refuses_once,
    "orders_degraded": orders_degraded,
    "orders_death": orders_death,
    "devrag": devrag,
    "exits_after": counted,
    "dies_idle": idle_death,
    "slow_call": slowly,
}


def tools() -> list[dict[str, Any]]:
    hints = {"readOnlyHint": True, "idempotentHint": True}
    schema = SCHEMA
    name = "search"
    if MODE == "devrag":
        hints = {}
        schema = {**SCHEMA, "properties": {k: SCHEMA["properties"][k] for k in ("query", "top_k")}}
    elif MODE == "unsafe":
        hints = {}
    elif MODE == "no_search" or (MODE == "loses_search" and calls):
        name = "lookup"
    elif MODE == "orders_tools":
        name = WORDS
    elif MODE == "other_schema":
        schema = {"type": "object", "properties": {"text": {}}, "required": ["text"]}
    elif MODE == "gateway":
        return [{"name": n, "inputSchema": SCHEMA} for n in ("search", "search_smart")]
    return [{"name": name, "inputSchema": schema, "annotations": hints}]


def serve(message: dict[str, Any]) -> None:
    global calls  # noqa: PLW0603 - one process, one server
    method, number = message.get("method"), message.get("id")
    params = message.get("params") or {}
    info = {"name": "code-intel" if MODE == "gateway" else f"fake-{MODE}", "version": "1"}
    if method == "notifications/cancelled":
        log("cancelled")
    if number is None:
        return
    if method == "server/discover" and MODE == "ends_on_discover":
        os._exit(1)
    elif method == "server/discover" and MODE == "silent_on_discover":
        log("discover")
    elif method == "server/discover" and ERA == "modern":
        body = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
        stamp = {"io.modelcontextprotocol/serverInfo": info}
        hints = {"resultType": "complete", "ttlMs": 0, "cacheScope": "public"}
        send({"id": number, "result": {**body, **hints, "_meta": stamp}})
    elif method == "initialize" and ERA == "legacy":
        version = params.get("protocolVersion", "2025-06-18")
        body = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        send({"id": number, "result": body})
    elif method == "tools/list":
        cached = {"ttlMs": 0, "cacheScope": "public"} if ERA == "modern" else {}
        send({"id": number, "result": complete({"tools": tools(), **cached})})
    elif method == "tools/call":
        calls += 1
        log(f"call {json.dumps(params.get('arguments'))}")
        if MODE == "loses_search":
            send({"id": number, "error": {"code": -32602, "message": "unknown tool"}})
        else:
            CALLS.get(MODE, answered)(number, params)
    else:
        send({"id": number, "error": {"code": -32601, "message": "Method not found"}})


def wait() -> None:
    if not GO:
        threading.Event().wait(NUMBER / 1000)
    while GO and not Path(GO).exists():
        threading.Event().wait(0.01)


def start() -> None:
    log(f"start {os.getpid()}")
    if MODE == "crash_start":
        crash(None, {})
    elif MODE == "hang_start":
        for_ever()
    elif MODE == "slow_start":
        wait()
    elif MODE == "flood_start":
        flood(None, {})
    elif MODE == "banner":
        write("Welcome!")
        write("listening on stdio")
    elif MODE in {"stubborn", "stubborn_parent"}:
        for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(name, signal.SIG_IGN)
    if MODE in {"grandchildren", "stubborn_parent"}:
        code = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.pause()"
        for _ in range(2):
            subprocess.Popen([sys.executable, "-I", "-S", "-c", code], stdin=subprocess.DEVNULL)


def main() -> None:
    start()
    for line in sys.stdin:
        serve(json.loads(line))
    if MODE in {"stubborn", "stubborn_parent"}:
        for_ever()


if __name__ == "__main__":
    main()
