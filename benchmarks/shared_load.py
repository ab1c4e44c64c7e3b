"""Load a shared index, kill its parts, and count what was lost.

    python -m benchmarks.shared_load [--clients N] [--seconds S] [--think S] [--kills N]
        [--repositories N] [--files N] [--json OUT]

One `milvus-lite server`, two instances of `serve-shared`, and repositories of real source, which
`code-intel push` pushes. All run on this machine.

*Load*: clients with tokens of their own ask for `--seconds`, half of them each instance. A client
waits `--think` seconds on average between two questions. An answer that is not 200, an error result
or a missing file counts as an error; nothing is tried again.

*Kills*: while other clients read, an instance, the engine, or a push in the middle gets SIGKILL, in
turns, and is started again. A client tries again, at the other instance, for 60 s, as a balancer
makes it do. Each version of a repository changes five files, each of which says its version. *Half
visible*: an answer has files of two versions, or not all five. *Lost*: an answer is older than a
push that had reported success before the question.

*Revoked*: how long a token is accepted after it was revoked, the longer time of both instances.
"""

import argparse
import asyncio
import json
import random
import re
import shutil
import signal
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import httpx2

from benchmarks.shared_farm import MARKED_FILES, MARKER, Farm, Repository, farm

QUESTIONS = (
    "where are secrets masked before a text is stored",
    "parse arguments of a command",
    "wait for a lock with a time limit",
    "read settings from the environment",
    "calibrated score of an agreement",
    "split a file into chunks",
    "close the database when the server ends",
    "retry after the connection was lost",
)
GIVE_UP_S = 60.0
REVOKED_S = 60.0
UNAUTHORIZED = 401
VERSION = re.compile(r"k=(\d+)")
HEADERS = {
    "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json",
    "MCP-Protocol-Version": "2025-06-18",
}


class WrongAnswerError(Exception):
    """An answer that is not what was asked for."""


@dataclass
class Tally:
    """What was measured.

    Attributes:
        seconds: Durations by kind of question.
        errors: Errors by kind.
        retries: Requests that were sent again.
    """

    seconds: dict[str, list[float]] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    retries: int = 0

    def add(self, kind: str, seconds: float) -> None:
        """Note how long an answer took."""
        self.seconds.setdefault(kind, []).append(seconds)


class Client(NamedTuple):
    """A client with its token; it asks the first of `ports` that answers."""

    web: httpx2.AsyncClient
    token: str
    ports: Sequence[int]

    async def call(self, port: int, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool.

        Raises:
            HTTPError: There is no answer, or its status is not 200.
            WrongAnswerError: The answer is an error result.
        """
        message = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": tool, "arguments": arguments},
        }
        reply = await self.web.post(
            f"http://127.0.0.1:{port}/mcp",
            json=message,
            headers={**HEADERS, "Authorization": f"Bearer {self.token}"},
        )
        reply.raise_for_status()
        result = reply.json()["result"]
        if result.get("isError"):
            raise WrongAnswerError(result["structuredContent"]["error"])
        answer: dict[str, Any] = result["structuredContent"]
        return answer

    async def persist(self, tally: Tally, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool, and try again at the other instance until it answers."""
        deadline, turn = time.monotonic() + GIVE_UP_S, random.randrange(len(self.ports))
        while True:
            try:
                return await self.call(self.ports[turn % len(self.ports)], tool, arguments)
            except (httpx2.HTTPError, WrongAnswerError):
                if time.monotonic() > deadline:
                    raise
                tally.retries += 1
                turn += 1
                await asyncio.sleep(random.uniform(0.05, 0.3))


Question = Callable[[Client, Sequence[Repository]], Awaitable[None]]


async def search_one(client: Client, repositories: Sequence[Repository]) -> None:
    """Search one repository."""
    name = random.choice(repositories).name
    arguments = {"query": random.choice(QUESTIONS), "repositories": [name]}
    await client.call(client.ports[0], "search_forest", arguments)


async def search_all(client: Client, repositories: Sequence[Repository]) -> None:
    """Search all repositories."""
    answer = await client.call(
        client.ports[0], "search_forest", {"query": random.choice(QUESTIONS)}
    )
    if answer["repositories_searched"] != len(repositories) or not answer["results"]:
        raise WrongAnswerError("search of all")


async def define(client: Client, repositories: Sequence[Repository]) -> None:
    """Find a symbol that each repository defines."""
    answer = await client.call(client.ports[0], "find_definitions", {"symbol": MARKER})
    if answer["total"] != MARKED_FILES * len(repositories):
        raise WrongAnswerError("definitions")


async def list_all(client: Client, repositories: Sequence[Repository]) -> None:
    """List the repositories."""
    answer = await client.call(client.ports[0], "list_repositories", {})
    if answer["total"] != len(repositories):
        raise WrongAnswerError("list")


MIX: tuple[tuple[str, int, Question], ...] = (
    ("search of one repository", 45, search_one),
    ("search of all", 25, search_all),
    ("definitions in all", 20, define),
    ("list of repositories", 10, list_all),
)
"""What the clients ask, and how often of 100 times."""


async def load(made: Farm, clients: int, seconds: float, think: float) -> Tally:
    """Let clients ask for some time."""
    tally = Tally()
    tokens = [made.token("read:team/*")[0] for _ in range(clients)]
    await asyncio.sleep(3)  # until both instances have read them
    ends = time.monotonic() + seconds

    async def ask(web: httpx2.AsyncClient, number: int) -> None:
        client = Client(web, tokens[number], (made.ports[number % len(made.ports)],))
        await asyncio.sleep(random.uniform(0, think))
        while time.monotonic() < ends:
            kind, _, question = random.choices(MIX, [row[1] for row in MIX])[0]
            began = time.monotonic()
            try:
                await question(client, made.repositories)
            except (httpx2.HTTPError, WrongAnswerError) as error:
                tally.errors[f"{kind}: {type(error).__name__} {error}"[:120]] += 1
            tally.add(kind, time.monotonic() - began)
            await asyncio.sleep(random.expovariate(1 / think) if think else 0)

    # One pool for all: each would read the certificates of the system, for 30 ms.
    no_limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx2.AsyncClient(timeout=GIVE_UP_S, limits=no_limits) as web:
        await asyncio.gather(*(ask(web, number) for number in range(clients)))
    return tally


class Versions(NamedTuple):
    """Checks answers about versions while parts are killed."""

    tally: Tally

    async def check(self, client: Client, repository: Repository) -> None:
        """Ask a repository for its version."""
        least, began = repository.pushed, time.monotonic()
        arguments = {"symbol": MARKER, "repositories": [repository.name]}
        try:
            answer = await client.persist(self.tally, "find_definitions", arguments)
        except (httpx2.HTTPError, WrongAnswerError) as error:
            self.tally.errors[f"no answer: {type(error).__name__} {error}"[:120]] += 1
            return
        self.tally.add("definitions in one", time.monotonic() - began)
        rows = answer["definitions"]
        versions = {int(VERSION.search(row["signature"])[1]) for row in rows}  # type: ignore[index]
        commits = {row["commit"] for row in rows}
        if len(rows) != MARKED_FILES or len(versions) != 1 or len(commits) != 1:
            self.tally.errors["half visible"] += 1
        elif not least <= versions.pop() <= repository.begun:
            self.tally.errors["lost"] += 1


async def kills(made: Farm, count: int, readers: int, token: str) -> tuple[Tally, Counter[str]]:
    """Kill parts in turns while clients read."""
    versions, done, is_over = Versions(Tally()), Counter[str](), asyncio.Event()
    reading = made.token("read:team/*")[0]
    await asyncio.sleep(3)

    async def read() -> None:
        async with httpx2.AsyncClient(timeout=GIVE_UP_S) as web:
            client = Client(web, reading, made.ports)
            while not is_over.is_set():
                await versions.check(client, random.choice(made.repositories))
                await asyncio.sleep(random.uniform(0, 0.5))

    async def kill() -> None:
        async with httpx2.AsyncClient(timeout=GIVE_UP_S) as web:
            client = Client(web, reading, made.ports)
            for number in range(count):
                what, part = PARTS[number % len(PARTS)]
                await asyncio.to_thread(part, made, token)
                done[what] += 1
                for repository in made.repositories:
                    await versions.check(client, repository)
                print(f"\r{number + 1} of {count} kills", end="", flush=True)
        is_over.set()

    await asyncio.gather(kill(), *(read() for _ in range(readers)))
    print()
    return versions.tally, done


def kill_instance(made: Farm, _token: str) -> None:
    """Kill an instance, and start it again."""
    port = random.choice(made.ports)
    made.kill_instance(port)
    made.start_instance(port)
    made.wait_until_ready([port])


def kill_engine(made: Farm, token: str) -> None:
    """Kill the engine, half of the times while a push runs."""
    repository = random.choice(made.repositories)
    push = None
    if random.random() < 0.5:
        repository.next_version()
        push = made.push(repository, token)
        _pause(push, random.uniform(0.5, 3))
    made.engine.kill()
    made.engine.start()
    made.wait_until_ready(made.ports)
    if push is not None:
        if push.wait(600) == 0:
            repository.pushed = repository.begun
        else:
            made.push_until_done(repository, token)


def kill_push(made: Farm, token: str) -> None:
    """Kill a push in the middle, then push again."""
    repository = random.choice(made.repositories)
    repository.next_version()
    push = made.push(repository, token)
    _pause(push, random.uniform(0.3, 3))
    if push.poll() is None:
        push.send_signal(signal.SIGKILL)
        push.wait()
    made.push_until_done(repository, token)


def _pause(push: Any, seconds: float) -> None:
    try:
        push.wait(seconds)
    except Exception:  # noqa: BLE001 - TimeoutExpired: it still runs
        return


PARTS: tuple[tuple[str, Callable[[Farm, str], None]], ...] = (
    ("instance", kill_instance),
    ("push", kill_push),
    ("engine", kill_engine),
)


async def revocation(made: Farm) -> float:
    """Return how long a revoked token is still accepted."""
    token, token_id = made.token("read:team/*")
    async with httpx2.AsyncClient(timeout=GIVE_UP_S) as web:
        client = Client(web, token, made.ports)
        await client.persist(Tally(), "list_repositories", {})
        await asyncio.sleep(2)
        made.revoke(token_id)
        began = time.monotonic()
        waiting = set(made.ports)
        while waiting:
            for port in sorted(waiting):
                try:
                    await client.call(port, "list_repositories", {})
                except httpx2.HTTPStatusError as error:
                    if error.response.status_code == UNAUTHORIZED:
                        waiting.discard(port)
    return time.monotonic() - began


def row(kind: str, values: Sequence[float]) -> dict[str, Any]:
    """Return the times of a kind of question."""
    ordered = sorted(values)
    return {
        "question": kind,
        "answers": len(ordered),
        "p50_ms": round(statistics.median(ordered) * 1000, 1),
        "p95_ms": round(ordered[int(len(ordered) * 0.95)] * 1000, 1),
        "max_ms": round(ordered[-1] * 1000, 1),
    }


def print_rows(tally: Tally) -> list[dict[str, Any]]:
    """Print and return the times of all kinds of questions."""
    every = [value for values in tally.seconds.values() for value in values]
    rows = [row(kind, values) for kind, values in sorted(tally.seconds.items())]
    rows.append(row("all", every))
    print(f"{'question':<28}{'answers':>9}{'p50':>10}{'p95':>10}{'max':>10}")
    for each in rows:
        times = "".join(f"{each[name]:>7} ms" for name in ("p50_ms", "p95_ms", "max_ms"))
        print(f"{each['question']:<28}{each['answers']:>9}{times}")
    print(f"errors: {sum(tally.errors.values())} {dict(tally.errors)}; retries: {tally.retries}")
    return rows


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--think", type=float, default=20)
    parser.add_argument("--kills", type=int, default=12)
    parser.add_argument("--readers", type=int, default=4)
    parser.add_argument("--repositories", type=int, default=10)
    parser.add_argument("--files", type=int, default=30)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="shared-load-"))
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        made = farm(folder, stack, repositories=args.repositories, files=args.files)
        token, _ = made.token("push:team/*")
        time_of_pushes = time.monotonic()
        for repository in made.repositories:
            repository.next_version()
            made.push_until_done(repository, token)
        seconds = time.monotonic() - time_of_pushes
        chunks = made.chunks()
        print(f"{args.repositories} repositories, {chunks} chunks, pushed in {seconds:.0f} s")
        result: dict[str, Any] = {"push_s": round(seconds, 1), "chunks": chunks}
        if args.seconds:
            print(f"\nload: {args.clients} clients, {args.think:g} s between two questions")
            tally = asyncio.run(load(made, args.clients, args.seconds, args.think))
            result["load"] = print_rows(tally)
            result["load_errors"] = dict(tally.errors)
        if args.kills:
            print("\nkills")
            tally, done = asyncio.run(kills(made, args.kills, args.readers, token))
            print(f"killed: {dict(done)}")
            result["kills"] = print_rows(tally)
            result["killed"], result["kill_errors"] = dict(done), dict(tally.errors)
        revoked = asyncio.run(revocation(made))
        print(f"\na revoked token was accepted for {revoked:.1f} s (limit {REVOKED_S:.0f} s)")
        result["revoked_s"] = round(revoked, 1)
    if args.json:
        args.json.write_text(json.dumps(result, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
