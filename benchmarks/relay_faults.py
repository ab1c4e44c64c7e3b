"""Kill and stop the process that serves a project, while four clients ask all the time.

    python -m benchmarks.relay_faults [--rounds 200] [--clients 4] [--seed 1] [--json OUT]

Every client has a server of its own, numbers its requests from 1, as the others do, and sends one
search after the other; every second call adds an agreement. At random moments the process that
serves all of them is killed, or stopped for some seconds and then killed or continued. Each answer
must be that of its call, and each agreement be there once if it was confirmed, at most once if not.
A client whose own server has ended starts it again. Exit code 1 if anything else was seen.
"""

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
SHOP = ROOT / "tests" / "repos" / "shop"
WORDS, WRITES_EVERY = 400, 2
CLEAR = {"interrupted", "busy"}
"""Errors of a write; a process that was stopped may hold a file's lock."""
LONGEST_CALL_S = 120.0
"""A call without an answer after this time counts as lost."""


class EndedError(Exception):
    """The client's own server has ended."""


class Client:
    """One client, its server, and what it has seen."""

    def __init__(self, number: int, project: Path, environ: dict[str, str]) -> None:
        """Begin without a server."""
        self.number, self.project, self.environ = number, project, environ
        self.came: Counter[str] = Counter()
        self.faults: list[str] = []
        self.times: list[float] = []
        self.written: dict[str, str] = {}
        self.server: subprocess.Popen[bytes] | None = None
        self.asks = 0

    def run(self, stop: threading.Event) -> None:
        """Ask until told to stop."""
        while not stop.is_set():
            try:
                self._start()
                while not stop.is_set():
                    self._ask_next()
            except (EndedError, BrokenPipeError):
                self.came["own server ended"] += 1
            self.end()

    def end(self) -> None:
        """End the server."""
        if self.server is not None:
            self.server.kill()
            self.server.communicate()

    def _start(self) -> None:
        self.server = subprocess.Popen(
            [str(BIN / "code-intel"), "serve"],
            cwd=self.project,
            env=self.environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.id = 0
        name = {"name": f"client {self.number}", "version": "1"}
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": name}
        self._exchange("initialize", hello)
        self._send({"method": "notifications/initialized"})
        self._exchange("tools/list", {})

    def _ask_next(self) -> None:
        self.asks += 1
        began = time.monotonic()
        if self.asks % WRITES_EVERY:
            self._search(f"marker_{self.number}_{self.asks % WORDS}_end")
        else:
            self._write(f"term of {self.number} at {self.asks} end")
        self.times.append(time.monotonic() - began)

    def _search(self, word: str) -> None:
        result = self._call("search_text", {"pattern": word})
        text = json.dumps(result)
        found = set(re.findall(r"marker_\d+_\d+_end", text))
        if result.get("isError"):
            error = result["structuredContent"]["error"]
            self.came[f"read: {error}"] += 1
            self.faults.append(f"a search failed: {error}")
        elif found != {word}:
            self.faults.append(f"{word} was answered with {sorted(found)}")
        else:
            self.came["read: answered"] += 1

    def _write(self, term: str) -> None:
        arguments = {"nl_term": term, "symbol": "Cart", "code_evidence": "it sums"}
        self.written[term] = "no answer"
        result = self._call("add_agreement", arguments)
        if not result.get("isError"):
            self.written[term] = "confirmed"
        else:
            self.written[term] = str(result["structuredContent"]["error"])
            if self.written[term] not in CLEAR:
                self.faults.append(f"a write failed: {result['structuredContent']}")
        self.came[f"write: {self.written[term]}"] += 1

    def _call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        answer = self._exchange("tools/call", {"name": tool, "arguments": arguments})
        result: dict[str, Any] = answer.get("result") or {
            "isError": True,
            "structuredContent": answer,
        }
        return result

    def _exchange(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        assert self.server is not None
        assert self.server.stdout is not None
        self.id += 1
        self._send({"method": method, "params": params, "id": self.id})
        timer = threading.Timer(LONGEST_CALL_S, self._give_up, (method,))
        timer.start()
        try:
            while line := self.server.stdout.readline():
                message: dict[str, Any] = json.loads(line)
                if "method" in message:
                    continue
                if message.get("id") != self.id:
                    self.faults.append(f"request {self.id} got an answer to {message.get('id')}")
                    continue
                return message
        finally:
            timer.cancel()
        raise EndedError

    def _give_up(self, method: str) -> None:
        assert self.server is not None
        self.faults.append(f"{method} got no answer in {LONGEST_CALL_S:.0f} s")
        self.server.kill()

    def _send(self, message: dict[str, Any]) -> None:
        assert self.server is not None
        assert self.server.stdin is not None
        self.server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.server.stdin.flush()


def serving(project: Path, clients: list[Client]) -> int | None:
    """Return the process that holds the project's lock."""
    lock = project / ".code-intel" / "hooks.lock"
    for server in [client.server for client in clients]:
        if server is None or server.poll() is not None:
            continue
        folder = Path(f"/proc/{server.pid}/fd")
        try:
            if any(each.readlink() == lock for each in folder.iterdir()):
                return server.pid
        except OSError:
            continue
    return None


def disturb(chance: random.Random, project: Path, clients: list[Client]) -> str:
    """Kill or stop the process that serves; return what was done."""
    time.sleep(chance.uniform(0.0, 3.0))
    process = serving(project, clients)
    if process is None:
        return "none served"
    what = chance.choices(("killed", "stopped and killed", "stopped and continued"), (6, 1, 1))[0]
    if what == "killed":
        os.kill(process, signal.SIGKILL)
        return what
    asked = [client.asks for client in clients]
    os.kill(process, signal.SIGSTOP)
    end = time.monotonic() + LONGEST_CALL_S / 2  # its own client must not give up meanwhile
    others = [
        (client, before)
        for client, before in zip(clients, asked, strict=True)
        if client.server is not None and client.server.pid != process
    ]
    while any(client.asks <= before + 1 for client, before in others):
        if time.monotonic() > end:
            break
        time.sleep(0.05)
    if time.monotonic() > end:
        slow = [client.number for client, before in others if client.asks <= before + 1]
        clients[0].faults.append(f"a stopped process blocked the clients {slow}")
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGCONT if "continued" in what else signal.SIGKILL)
    if "continued" in what:  # those that gave it up serve themselves; begin again with relays
        for client, _ in others:
            if client.server is not None:
                client.server.terminate()
    return what


@contextmanager
def prepared(clients: int) -> Iterator[tuple[Path, dict[str, str]]]:
    """Return a project with words that only one client looks for, and an environment."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "shop"
        shutil.copytree(SHOP, project)
        lines = [f"marker_{n}_{i}_end = {i}\n" for n in range(clients) for i in range(WORDS)]
        (project / "src" / "markers.py").write_text("".join(lines), encoding="utf-8")
        environ = {
            **os.environ,
            "CODE_INTEL_CACHE_DIR": f"{folder}/cache",
            "CODE_INTEL_STATE_DIR": f"{folder}/state",
            "CODE_INTEL_EMBEDDING": "off",
        }
        for words in (["git", "init", "-q"], [str(BIN / "code-intel"), "init"]):
            subprocess.run(words, cwd=project, env=environ, check=True, stdout=subprocess.DEVNULL)
        yield project, environ


def check_written(project: Path, clients: list[Client]) -> list[str]:
    """Return the agreements that are there too often, or not although they were confirmed."""
    folder = project / ".code-intel" / "agreements"
    found = Counter(
        term
        for path in folder.glob("*.md")
        for term in re.findall(r"term of \d+ at \d+ end", path.read_text("utf-8").split("\n---")[0])
    )
    faults = []
    for client in clients:
        for term, came in client.written.items():
            if found[term] > 1 or (came == "confirmed" and not found[term]):
                faults.append(f"{term!r}: {came}, and is there {found[term]} times")
    return faults


def left(project: Path) -> list[int]:
    """Return the processes that still work in the project."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "cwd").readlink() == project:
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def play(rounds: int, number: int, seed: int) -> dict[str, Any]:
    """Play the rounds; return what was seen."""
    chance, stop = random.Random(seed), threading.Event()
    with prepared(number) as (project, environ):
        clients = [Client(n, project, environ) for n in range(number)]
        threads = [threading.Thread(target=client.run, args=(stop,)) for client in clients]
        for thread in threads:
            thread.start()
        done: Counter[str] = Counter()
        try:
            while sum(done.values()) - done["none served"] < rounds:
                done[disturb(chance, project, clients)] += 1
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        time.sleep(3)
        faults = [f for client in clients for f in client.faults]
        faults += check_written(project, clients)
        faults += [f"process {each} was left" for each in left(project)]
    times = sorted(t for client in clients for t in client.times)
    came = sum((client.came for client in clients), Counter[str]())
    return {
        "disturbed": dict(done),
        "came": dict(sorted(came.items())),
        "seconds": {"median": times[len(times) // 2], "longest": times[-1]},
        "faults": faults,
    }


def main() -> None:
    """Print what was seen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    found = play(args.rounds, args.clients, args.seed)
    text = json.dumps(found, indent=1)
    print(text)
    if args.json:
        args.json.write_text(text, encoding="utf-8")
    sys.exit(bool(found["faults"]))


if __name__ == "__main__":
    main()
