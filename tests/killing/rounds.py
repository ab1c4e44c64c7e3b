"""Start several processes at once, kill each at a random moment, and check what they leave."""

import json
import os
import random
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cli.migration.layouts import v38_by_script
from code_intel.foundation.gateway_socket import socket_path
from faulty_disk import leftovers
from faulty_machine import in_child
from killing import checks
from killing.scene import Scene, clean_tree
from killing.victims import Turn, Victim, chosen

PATIENCE = 60.0
"""Seconds after which processes must have ended whose parent or client was killed."""
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "kills", "version": "1"},
}
SHORTER, LONGER = 0.9, 1.1
"""How the longest life of a kind changes: it is shorter after a command that ended by itself, or a
server that answered more than `ENOUGH` calls, otherwise longer."""
ENOUGH = 12


@dataclass
class Tally:
    """What happened.

    Attributes:
        killed: The kills by kind.
        ended: The commands by kind that ended before their kill.
        refused: The commands and calls that were refused, by kind and message.
        answers: The acknowledged calls of servers.
        faults: What was wrong.
        lives: The longest life of each kind, in seconds.
    """

    killed: Counter[str] = field(default_factory=Counter)
    ended: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    answers: int = 0
    rounds: int = 0
    faults: list[str] = field(default_factory=list)
    lives: dict[str, float] = field(default_factory=dict)


def play(
    place: Path,
    kills: int,
    *,
    seed: int,
    at_once: int = 8,
    rounds: int = 15,
    until: float = float("inf"),
    keep: Path | None = None,
) -> Iterator[Tally]:
    """Kill processes until `kills` were killed; yield the tally after each round.

    Args:
        place: An empty folder.
        kills: How many processes to kill.
        seed: Chooses the processes, what they do and their moments. The machine decides what they
            reach by then.
        at_once: The processes of a round.
        rounds: After so many rounds, another project is used; after a fault, too.
        until: When to stop, by the monotonic clock.
        keep: Where to keep the projects with faults.
    """
    rng, tally = random.Random(seed), Tally()
    number = 0
    while tally.killed.total() < kills and time.monotonic() < until:
        number += 1
        scene = Scene(place / str(number), model=number % 3 == 2)
        if scene.model:
            scene.run("snapshot", "write", "../../first.snapshot")
        migrated = _migrated(scene)
        found: list[str] = []
        for _ in range(rounds):
            found = _round(scene, rng, tally, at_once, migrated)
            tally.rounds += 1
            tally.faults += found
            yield tally
            if found or tally.killed.total() >= kills or time.monotonic() > until:
                break
        tally.faults += (last := _last(scene))
        if (found or last) and keep:
            shutil.copytree(
                scene.place, keep / f"{seed}-{number}", symlinks=True, dirs_exist_ok=True
            )
        shutil.rmtree(scene.place)
    yield tally


def _migrated(scene: Scene) -> dict[str, bytes]:
    root = scene.place / "migrated" / "p"
    root.parent.mkdir()
    v38_by_script(root)
    scene.run("migrate", str(root))
    return clean_tree(root)


def _round(
    scene: Scene, rng: random.Random, tally: Tally, at_once: int, migrated: dict[str, bytes]
) -> list[str]:
    scene.busy.clear()
    scene.swapped.clear()
    first = tally.rounds * at_once
    victims = [chosen(Turn(scene, rng, first + place)) for place in range(at_once)]
    for victim in victims:
        scene.expect(victim.effects, sure=False)
    lives = [rng.random() for _ in victims]
    from_write = [rng.random() < 0.5 for _ in victims]
    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(lambda v, s, w: _kill(scene, v, s, tally, from_write=w), victims, lives,
                      from_write))  # fmt: skip
    found = list(_left(scene))
    for root in scene.folders:
        checks.make_leftovers_old(root)
        scene.run("migrate", str(root))
        if left := leftovers(root):
            found.append(f"the migration that was repeated leaves {left}")
        if clean_tree(root) != migrated:
            found.append("a migration that was repeated ends otherwise")
        shutil.rmtree(root.parent)
    scene.folders.clear()
    observed = scene.place / "observed"
    observed.unlink(missing_ok=True)

    def look() -> int:
        for fault in checks.faults(scene, observed):
            sys.stderr.write(f"{fault}\n")
        return 0

    looked = in_child(look)
    found += looked.said.splitlines() if not looked.came else [f"the check fails: {looked.said}"]
    if observed.exists():
        rows = json.loads(observed.read_text(encoding="utf-8"))
        now = {(kind, name): state for kind, name, state in rows}
        scene.allowed = {thing: {state} for thing, state in now.items()}
    kinds = sorted({victim.kind for victim in victims})
    return [f"{fault} (after {', '.join(kinds)})" for fault in found]


def _left(scene: Scene) -> Iterator[str]:
    end = time.monotonic() + PATIENCE
    while (running := checks.processes(scene.mark)) and time.monotonic() < end:
        time.sleep(0.02)
    if running:
        yield f"processes were left: {running}"
        for each in running:
            os.kill(int(each.split()[0]), signal.SIGKILL)


def _last(scene: Scene) -> list[str]:
    """Let a gateway start and end in a normal way; nothing of it must remain."""
    process = _start(scene, Victim("", ("-m", "code_intel", "serve")))
    assert process.stdin
    assert process.stdout
    process.stdin.write(_line(1, "initialize", HELLO))
    process.stdin.flush()
    process.stdout.readline()
    end = time.monotonic() + PATIENCE
    while not _listens(socket_path(scene.root)) and time.monotonic() < end:
        time.sleep(0.02)
    process.stdin.close()
    code = process.wait(PATIENCE)
    found = [f"the last gateway ended with {code}"] if code else []
    if os.path.lexists(socket_path(scene.root)):
        found.append("a socket was left")
    found += [f"the socket {name} was left" for name in checks.sockets(scene.place)]
    return [*found, *_left(scene)]


def _listens(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as link:
        try:
            link.connect(path)
        except OSError:
            return False
    return True


def _start(scene: Scene, victim: Victim) -> "subprocess.Popen[bytes]":
    with victim.log(scene).open("ab") as log:
        return subprocess.Popen(
            [sys.executable, *victim.words],
            cwd=scene.root,
            env=scene.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
        )


def _kill(scene: Scene, victim: Victim, share: float, tally: Tally, *, from_write: bool) -> None:
    """Run a process until its moment has come.

    In half of the cases its time begins with its first write, because half of a short life is the
    start of the interpreter.
    """
    longest = tally.lives.setdefault(victim.kind, 8.0 if victim.calls else 1.5)
    process = _start(scene, victim)
    began = time.monotonic()
    assert process.stdin
    if victim.calls is None:
        with suppress(BrokenPipeError):
            process.stdin.write(victim.stdin)
            process.stdin.close()
    else:
        process.stdin.write(_line(0, "initialize", HELLO))
        process.stdin.write(_line(None, "notifications/initialized", {}))
        process.stdin.flush()
    if from_write:
        while not _has_written(process.pid) and time.monotonic() - began < 4 * longest:
            if process.poll() is not None:
                break
            time.sleep(0.002)
        longest /= 2
    moment = time.monotonic() + share * longest
    if victim.calls is None:
        _command(scene, victim, process, moment, tally)
    else:
        _server(scene, victim, process, moment, tally)


def _has_written(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/io").read_text("utf-8")
    except OSError:
        return True
    return "syscw: 0\n" not in text


def _command(
    scene: Scene, victim: Victim, process: "subprocess.Popen[bytes]", moment: float, tally: Tally
) -> None:
    try:
        process.wait(max(0.0, moment - time.monotonic()))
    except subprocess.TimeoutExpired:
        process.kill()
    code = process.wait()
    assert process.stdout
    process.stdout.close()
    if code == -signal.SIGKILL:
        tally.killed[victim.kind] += 1
        tally.lives[victim.kind] *= LONGER
        return
    tally.ended[victim.kind] += 1
    tally.lives[victim.kind] *= SHORTER
    if code:
        said = victim.log(scene).read_text("utf-8", "replace").strip().splitlines()
        tally.refused[f"{victim.kind}: exit {code}: {' '.join(said)[-300:]}"] += 1
    else:
        scene.expect(victim.effects, sure=True)


def _server(
    scene: Scene, victim: Victim, process: "subprocess.Popen[bytes]", moment: float, tally: Tally
) -> None:
    assert process.stdin
    assert process.stdout
    assert victim.calls
    reader, answered = _Lines(process.stdout.fileno(), moment), 0
    with suppress(BrokenPipeError, TimeoutError):
        reader.answer(0)
        for number, call in enumerate(victim.calls, 1):
            scene.expect(call.effects, sure=False)
            params = {"name": call.tool, "arguments": call.arguments}
            process.stdin.write(_line(number, "tools/call", params))
            process.stdin.flush()
            result = reader.answer(number).get("result") or {"isError": True}
            if result.get("isError"):
                what = result.get("structuredContent") or result
                tally.refused[f"{victim.kind}: {call.tool}: {str(what)[:150]}"] += 1
                continue
            tally.answers += 1
            answered += 1
            scene.expect(call.effects, sure=True)
            scene.expect(call.learns(result["structuredContent"]), sure=True)
    early = process.poll()
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        with suppress(BrokenPipeError):
            pipe.close()
    tally.lives[victim.kind] *= SHORTER if answered > ENOUGH else LONGER
    if early is None:
        tally.killed[victim.kind] += 1
    else:
        tally.faults.append(f"{victim.kind} ended by itself with {early}")


def _line(number: int | None, method: str, params: object) -> bytes:
    message: dict[str, object] = {"jsonrpc": "2.0", "method": method, "params": params}
    if number is not None:
        message["id"] = number
    return json.dumps(message).encode() + b"\n"


class _Lines:
    """Reads answers from a pipe until a moment."""

    def __init__(self, handle: int, moment: float) -> None:
        self._handle, self._moment = handle, moment
        self._rest = b""

    def answer(self, number: int) -> dict[str, Any]:
        """Return the answer with an id.

        Raises:
            TimeoutError: The moment has come.
            BrokenPipeError: The process has ended.
        """
        while True:
            line, found, rest = self._rest.partition(b"\n")
            if found:
                self._rest = rest
                message: dict[str, Any] = json.loads(line)
                if message.get("id") == number and "method" not in message:
                    return message
                continue
            wait = max(0.0, self._moment - time.monotonic())
            if not select.select([self._handle], [], [], wait)[0]:
                raise TimeoutError
            if not (data := os.read(self._handle, 1 << 16)):
                raise BrokenPipeError
            self._rest += data
