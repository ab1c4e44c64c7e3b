"""The servers and commands that are killed, what they do, and what they acknowledge.

A command acknowledges by its exit code, a server by each answer.
"""

import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from cli.migration.layouts import v38_by_script
from code_intel.learned.files import agreements
from killing.scene import ABSENT, CONFIRMED, GROWN, SYMBOLS, THERE, Scene, State, Thing

Effects = Mapping[Thing, State]


class Call(NamedTuple):
    """A call of a tool, and what its answer acknowledges.

    Attributes:
        tool: The name.
        arguments: What is passed.
        effects: The states of things after it.
        learns: Adds what only the answer says, such as the name of a session.
    """

    tool: str
    arguments: Mapping[str, object]
    effects: Effects = MappingProxyType({})
    learns: Callable[[dict[str, Any]], Effects] = lambda _: {}


@dataclass
class Victim:
    """A process to be killed.

    Attributes:
        kind: The row of the table.
        words: The arguments of the interpreter.
        effects: What a command acknowledges when it ends.
        calls: What a client asks of a server; None for a command.
        stdin: What a command reads.
    """

    kind: str
    words: tuple[str, ...]
    effects: Effects = field(default_factory=dict)
    calls: Iterator[Call] | None = None
    stdin: bytes = b""

    def log(self, scene: Scene) -> Path:
        """Return the file of what it prints on stderr."""
        return scene.place / f"stderr-{id(self)}.log"


class Turn(NamedTuple):
    """A choice of a process: the project, chance, and a number that no other one has."""

    scene: Scene
    rng: random.Random
    number: int


Make = Callable[[Turn], Victim]
CODE_INTEL = ("-m", "code_intel")
DEVRAG = ("-c", "import sys; from code_intel.cli.devrag import main; sys.exit(main(sys.argv[1:]))")
MAP, FOREST = ("--config", "devrag-map.json"), ("--config", "devrag-forest.json")


def _agreement(term: str, rng: random.Random) -> dict[str, object]:
    symbol = rng.choice(SYMBOLS)
    return {"nl_term": term, "symbol": symbol, "code_evidence": f"{term} is {symbol}"}


# --- servers


def gateway(turn: Turn) -> Victim:
    """Learn, ask, open sessions and keep plans."""

    def session(answer: dict[str, Any]) -> Effects:
        return {("session", str(answer["session_id"]).rpartition("_")[0]): THERE}

    def calls() -> Iterator[Call]:
        for n in count():
            term = f"term {turn.number}-{n}"
            feature = {"value": "shipping", "quote": "shipping"}
            task = f"task_{turn.rng.randrange(GROWN)}_3"
            start = {"intent": "MODIFY", "query": f"shipping of {task}"}
            yield Call("add_agreement", _agreement(term, turn.rng), {("agreement", term): THERE})
            yield Call("start_session", start, learns=session)
            yield Call("set_query_frame", {"target_feature": feature})
            yield Call("search_smart", {"query": f"shipping {term}"})
            yield Call("find_definitions", {"symbol": task})
            yield Call("gistdex_query_plan", {"goal": f"shipping {turn.number} {n}"})

    return Victim("gateway", (*CODE_INTEL, "serve"), calls=calls())


def map_server(turn: Turn) -> Victim:
    """Search and sync the map."""

    def calls() -> Iterator[Call]:
        while True:
            yield Call("sync", {})
            yield Call("search", {"query": f"term {turn.rng.randrange(99)}"})
            yield Call("list_documents", {})

    return Victim("devrag-map", (*DEVRAG, *MAP), calls=calls())


def forest_server(turn: Turn) -> Victim:
    """Add and delete documents by name, search and sync."""

    def calls() -> Iterator[Call]:
        for n in count():
            name = f"extra_{turn.number}_{n}.cfg"
            (turn.scene.root / name).write_text(f"[zone]\nfee = {n}\n", encoding="utf-8")
            yield Call("index_code", {"filepath": name}, {("choice", name): True})
            yield Call("delete_document", {"filename": name}, {("choice", name): False})
            yield Call("sync", {})
            yield Call("search", {"query": "shipping fee of a zone"})

    return Victim("devrag-forest", (*DEVRAG, *FOREST), calls=calls())


def commands_server(_turn: Turn) -> Victim:
    """Search commands and describe them."""

    def calls() -> Iterator[Call]:
        while True:
            yield Call("search", {"query": "group the changes by meaning"})
            name = {"c1": "climpt-git", "c2": "group-commit", "c3": "unstaged-changes"}
            yield Call("describe", name)
            yield Call("execute", {**name, "options": {"edition": "default"}})

    return Victim("climpt", (*CODE_INTEL, "commands"), calls=calls())


# --- commands


def sync(turn: Turn) -> Victim:
    """Sync after edits."""
    for file in turn.rng.sample(range(GROWN), GROWN // 2):
        turn.scene.write_source(file, turn.number)
    return Victim("sync", (*CODE_INTEL, "sync"))


def map_add(turn: Turn) -> Victim:
    """Add an agreement."""
    term = f"added {turn.number}"
    words = ("map", "add", term, turn.rng.choice(SYMBOLS), "--evidence", f"{term} is it")
    return Victim("map add", (*CODE_INTEL, *words), {("agreement", term): THERE})


def map_import(turn: Turn) -> Victim:
    """Import many agreements."""
    terms = [f"imported {turn.number}-{row}" for row in range(25)]
    file = turn.scene.place / f"import-{turn.number}.jsonl"
    rows = (
        {"nl_term": term, "symbol": turn.rng.choice(SYMBOLS), "evidence": [f"{term} is it"]}
        for term in terms
    )
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    effects = {("agreement", term): THERE for term in terms}
    return Victim("map import", (*CODE_INTEL, "map", "import", str(file)), effects)


def _on_term(turn: Turn, kind: str, change: Callable[[str], Victim]) -> Victim:
    """Change an agreement that is there; without one, add one."""
    terms = turn.scene.terms()
    if not terms:
        return map_add(turn)
    term = turn.rng.choice(terms)
    turn.scene.busy.add(term)
    victim = change(term)
    victim.kind = kind
    return victim


def map_confirm(turn: Turn) -> Victim:
    """Confirm an agreement."""

    def change(term: str) -> Victim:
        words = (*CODE_INTEL, "map", "confirm", term)
        return Victim("", words, {("agreement", term): CONFIRMED})

    return _on_term(turn, "map confirm", change)


def map_delete(turn: Turn) -> Victim:
    """Delete an agreement."""

    def change(term: str) -> Victim:
        words = (*CODE_INTEL, "map", "delete", term, _symbol(turn.scene, term))
        return Victim("", words, {("agreement", term): ABSENT})

    return _on_term(turn, "map delete", change)


def map_rename(turn: Turn) -> Victim:
    """Rename the term of an agreement."""

    def change(term: str) -> Victim:
        new = f"renamed {turn.number}"
        words = (*CODE_INTEL, "map", "rename", term, _symbol(turn.scene, term), "--term", new)
        turn.scene.swapped.append((term, new))
        is_confirmed = CONFIRMED in turn.scene.allowed["agreement", term]
        state = CONFIRMED if is_confirmed else THERE
        return Victim("", words, {("agreement", term): ABSENT, ("agreement", new): state})

    return _on_term(turn, "map rename", change)


def _symbol(scene: Scene, term: str) -> str:
    known = agreements.look(scene.settings.agreements).by_key
    return next(key[1] for key in known if key[0] == term)


def snapshot_write(_turn: Turn) -> Victim:
    """Write a snapshot."""
    return Victim("snapshot write", (*CODE_INTEL, "snapshot", "write", "../../vectors.snapshot"))


def snapshot_load(_turn: Turn) -> Victim:
    """Load the snapshot of the scene."""
    return Victim("snapshot load", (*CODE_INTEL, "snapshot", "load", "../../first.snapshot"))


def vacuum(turn: Turn) -> Victim:
    """Compact a database."""
    return Victim("vacuum", (*DEVRAG, *turn.rng.choice((MAP, FOREST)), "vacuum"))


def migrate(turn: Turn) -> Victim:
    """Migrate a project of an earlier version."""
    root = turn.scene.place / f"migrated-{turn.number}" / "p"
    root.parent.mkdir()
    v38_by_script(root)
    turn.scene.folders.append(root)
    return Victim("migrate", (*CODE_INTEL, "migrate", str(root)))


def hook(turn: Turn) -> Victim:
    """Answer a hook, in the gateway if one runs."""
    about: dict[str, object] = {
        "session_id": f"window {turn.number % 7}",
        "cwd": str(turn.scene.root),
    }
    event = turn.rng.choice(
        (
            {"hook_event_name": "SessionStart", "source": "startup"},
            {"hook_event_name": "UserPromptSubmit", "prompt": "The shipping fee abroad is wrong."},
            {
                "hook_event_name": "PreToolUse",
                "tool_name": "Edit",
                "tool_input": {"file_path": str(turn.scene.root / "src" / "cart" / "shipping.py")},
            },
        )
    )
    words = (*CODE_INTEL, "hook", "claude-code")
    return Victim("hook", words, stdin=json.dumps({**about, **event}).encode())


SERVERS: tuple[Make, ...] = (gateway, map_server, forest_server, commands_server)
COMMANDS: tuple[Make, ...] = (
    *(sync, map_add, map_import, map_confirm, map_delete, map_rename),
    *(vacuum, migrate, hook),
)
WITH_MODEL: tuple[Make, ...] = (snapshot_write, snapshot_load)


def chosen(turn: Turn) -> Victim:
    """Return a process of a random kind; half of them are servers, every second one a gateway."""
    if turn.rng.random() < 0.45:
        make = turn.rng.choice((gateway, *SERVERS))
    else:
        make = turn.rng.choice((*COMMANDS, *(WITH_MODEL if turn.scene.model else ())))
    return make(turn)
