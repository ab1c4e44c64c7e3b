"""Those who work on the project: an editor, three clients that ask, a client with hooks, a learner.

Each is a task with its own random numbers. Each answer is compared with the tree at once.
"""

import json
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from time import monotonic
from typing import Any

import anyio
from mcp import Client

from benchmarks.workday.answers import compare
from benchmarks.workday.project import Project
from benchmarks.workday.samples import servers
from benchmarks.workday.tree import Function, Tree, symbol_words

MAX_CALL_S = 300
MAX_END_S = 30
MAX_DRAWS = 10_000
MAX_LOOKS, PAUSE_S = 5, 5.0
MAX_AGREEMENTS = 8
"""More are deleted again, so that the map has a steady size."""
ERRORS_ALLOWED = frozenset({"not_found", "requirements_missing", "phase_blocked", "busy"})
"""What is asked for was just changed; the learner has not shown enough; its session is the one of
the client, and does not allow this search; another process writes. They are counted."""


@dataclass
class Day:
    """The project at work, and the agreements that must be, and must not be, in the map."""

    project: Project
    tree: Tree
    until: float
    calm: anyio.Lock = field(default_factory=anyio.Lock)
    """Held while a session changes code, and while the branch changes."""
    agreed: dict[str, str] = field(default_factory=dict)
    begun: set[str] = field(default_factory=set)
    """The names of functions that have an agreement, or will have one."""
    deleted: set[str] = field(default_factory=set)
    shown: dict[str, int] = field(default_factory=dict)
    slowest: dict[str, float] = field(default_factory=dict)

    @property
    def goes_on(self) -> bool:
        """Whether the day has not ended."""
        return monotonic() < self.until

    def new_function(self, rng: random.Random) -> Function:
        """Return a function without an agreement: a second one would be an alias of the first."""
        for _ in range(MAX_DRAWS):
            function = function_in(self.tree, rng)
            if _last(function.name) not in self.begun:
                self.begun.add(_last(function.name))
                return function
        raise RuntimeError("Nearly all functions have an agreement. Name a larger --source.")

    def note_deletion(self, term: str, symbol: str) -> None:
        """Note that an agreement was deleted; its function may get another one."""
        self.deleted.add(term)
        self.begun.discard(_last(symbol))

    async def pause(self, seconds: float) -> None:
        """Wait between two actions."""
        await anyio.sleep(min(seconds, max(0.0, self.until - monotonic())))

    async def call(self, client: Client, tool: str, **arguments: Any) -> Mapping[str, Any]:
        """Call a tool and compare its answer with the tree."""
        since = monotonic()
        with anyio.move_on_after(MAX_CALL_S) as scope:
            result = await client.call_tool(tool, arguments)
        if scope.cancelled_caught:
            self.project.fault(f"{tool} {arguments} was not answered within {MAX_CALL_S} s")
            return {}
        self.slowest[tool] = max(self.slowest.get(tool, 0.0), monotonic() - since)
        self.project.count(f"call {tool}")
        text = "".join(getattr(part, "text", "") for part in result.content)
        data = dict(result.structured_content or {})
        if result.is_error:
            error = str(data.get("error") or _error(text))
            self.project.count(f"error {error}")
            if error not in ERRORS_ALLOWED:
                self.project.fault(f"{tool} {arguments}: {text or data}")
            return data
        if not data:
            data = _parsed(text)
        while self.tree.moving:  # noqa: ASYNC110 - a thread sets it
            await anyio.sleep(0.05)
        for kind, sentence in compare(self.tree, tool, data, since):
            self.shown[kind] = self.shown.get(kind, 0) + 1
            if kind != "outdated":
                self.project.fault(sentence)
        self.shown["answers"] = self.shown.get("answers", 0) + 1
        return data


def _last(symbol: str) -> str:
    return symbol.rpartition(".")[2]


def _error(text: str) -> str:
    return str(_parsed(text).get("error", ""))


def _parsed(text: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


async def edits(day: Day, pause: float) -> None:
    """Edit and save files; delete one now and then, and put it back; switch the branch."""
    for number in count():
        if not day.goes_on:
            return
        day.tree.edit()
        day.project.count("edit")
        if number % 10 == 9:
            file, text = day.tree.delete()
            await day.pause(4 * pause)
            day.tree.restore(file, text)
            day.project.count("deletion of a file")
        if number % 25 == 24:
            async with day.calm:
                await anyio.to_thread.run_sync(day.tree.switch)
            day.project.count("branch switch")
        await day.pause(pause)


async def asks(day: Day, client: Client, server: str, seed: int, pause: float) -> None:
    """Ask one question after another."""
    rng = random.Random(seed)
    while day.goes_on:
        function = function_in(day.tree, rng)
        name, words = function.name, symbol_words(function.name)
        tool: str
        given: dict[str, Any]
        if server == "gateway":
            tool, given = rng.choice(
                (
                    ("search_smart", {"query": words}),
                    ("search_smart", {"query": f"where is {words} done in {function.file}"}),
                    ("search_text", {"pattern": name.rpartition(".")[2]}),
                    ("search_text", {"pattern": f"dayword{rng.randrange(day.tree.edits + 1):06d}"}),
                    ("find_definitions", {"symbol": name}),
                    ("find_references", {"symbol": name}),
                    ("snippets_get", {"symbol": name, "path": function.file}),
                    ("search_map", {"query": words}),
                )
            )
        else:
            tool, given = "search", {"query": words, "top_k": 5}
        await day.call(client, tool, **given)
        await day.pause(pause * rng.random() * 2)


def function_in(tree: Tree, rng: random.Random) -> Function:
    """Return any function of the project."""
    while True:
        found = list(tree.functions(rng.choice(tree.python_files())))
        if found:
            return rng.choice(found)


async def learns(day: Day, client: Client, other: Client, seed: int, pause: float) -> None:
    """Hold whole sessions, and see that others find what was agreed; keep the map at its size."""
    rng = random.Random(seed)
    for number in count():
        if not day.goes_on:
            return
        async with day.calm:
            function = day.new_function(rng)
            day.tree.reserved.add(function.file)
            try:
                await _session(day, client, function, f"s{seed}n{number}")
            finally:
                day.tree.reserved.discard(function.file)
        await _look(day, other, rng)
        while len(day.agreed) > MAX_AGREEMENTS and day.goes_on:
            await _delete(day, rng)
        if number % 5 == 4:
            await _confirm(day, rng)
        await day.pause(pause)


async def _session(day: Day, client: Client, function: Function, mark: str) -> None:
    """Start, read, understand, change, record a success; note the agreement."""
    words = symbol_words(function.name)
    feature = f"{words} {mark}"
    query = f"The {feature} fails when the input is empty"
    slots = {
        "target_feature": {"value": feature, "quote": feature},
        "trigger_condition": {
            "value": "when the input is empty",
            "quote": "when the input is empty",
        },
        "observed_issue": {"value": "fails", "quote": "fails"},
    }
    started = await day.call(client, "start_session", intent="MODIFY", query=query, **slots)
    handle = started.get("session_id")
    if not handle:
        return
    day.project.count("session")

    async def call(tool: str, **given: Any) -> Mapping[str, Any]:
        return await day.call(client, tool, session_id=handle, **given)

    place = {"symbol": function.name, "path": function.file}
    code = await call("snippets_get", **place)
    await call("find_references", symbol=function.name)
    phase = started.get("current_phase")
    if phase == "VERIFICATION":
        await call("revert_to_exploration", reason="The code of another function is meant.")
        phase = "EXPLORATION"
    if phase == "EXPLORATION":
        claim = {
            "symbol": function.name,
            "file": function.file,
            "explanation": f"{function.name} is where {feature} is done when the input is empty.",
            "quote": "\n".join(code.get("lines", ())),
        }
        answer = await call("submit_understanding", symbols_identified=[claim])
        phase = answer.get("next_phase")
    day.project.count(f"session reached {phase}")
    if phase != "READY":
        await call("record_outcome", outcome="failure", analysis={"root_cause": "not understood"})
        return
    await call("check_write_target", file_path=function.file)
    before = day.tree.text(function.file)
    lines = before.split("\n")
    lines.insert(function.before - 1, f"{' ' * function.indent}day_{mark} = {mark!r}")
    day.tree.write(function.file, "\n".join(lines))
    answer = await call("record_outcome", outcome="success", analysis={"root_cause": "not checked"})
    for pair in answer.get("cached_pairs", ()):
        day.agreed[pair["nl_term"]] = pair["symbol"]
        day.project.count("agreement learned")
    day.tree.write(function.file, before)


async def _look(day: Day, client: Client, rng: random.Random) -> None:
    """Ask another client for one of the agreements."""
    if not day.agreed:
        return
    term = rng.choice(list(day.agreed))
    answer: Mapping[str, Any] = {}
    for attempt in range(MAX_LOOKS):
        answer = await day.call(client, "search_map", query=term, top_k=10)
        rows = [row.get("agreement", {}) for row in answer.get("results", ())]
        if term not in day.agreed or term in {row.get("nl_term") for row in rows}:
            return
        # Its file may have been deleted, or read while it was being saved: until the next scan,
        # the symbol does not exist.
        day.project.count(f"agreement not found at attempt {attempt + 1}")
        await day.pause(PAUSE_S)
    day.project.fault(f"search_map {term!r} does not find the agreement: {answer}")


async def _delete(day: Day, rng: random.Random) -> None:
    term = rng.choice(list(day.agreed))
    symbol = day.agreed.pop(term)
    if await command(day, "map", "delete", term, symbol):
        day.note_deletion(term, symbol)


async def _confirm(day: Day, rng: random.Random) -> None:
    """Add an agreement by hand, and confirm it."""
    function = day.new_function(rng)
    term = f"{symbol_words(function.name)} by hand {rng.randrange(10**9)}"
    words = (term, function.name, "--evidence", "It does that.", "--file", function.file)
    if await command(day, "map", "add", *words):
        day.agreed[term] = function.name
        # The branch may have changed since: then its symbol may be missing.
        await command(day, "map", "confirm", term, function.name, codes=(0, 1, 2))


async def command(day: Day, *words: str, codes: tuple[int, ...] = (0,)) -> bool:
    """Run a command with --json; a code that is not expected is a fault."""
    ran = await day.project.run(*words, "--json")
    day.project.count(f"command {words[0]} {words[1] if words[0] == 'map' else ''}".rstrip())
    is_busy = ran.data.get("error") == "busy"
    if is_busy:
        day.project.count("command was refused: busy")
    if (ran.code not in codes and not is_busy) or "Traceback" in ran.stderr:
        day.project.fault(f"{' '.join(words)} ended with {ran.code}: {ran.stdout}{ran.stderr}")
    return ran.code == 0


async def looks_after(day: Day, pause: float) -> None:
    """Run the commands of people in a terminal."""
    works: list[Callable[[], Awaitable[object]]] = [
        lambda: command(day, "status"),
        lambda: command(day, "search", "where is the text written", codes=(0, 1)),
        lambda: command(day, "map", "list"),
        lambda: command(day, "doctor", codes=(0, 1)),
    ]
    for number in count():
        await day.pause(pause)
        if not day.goes_on:
            return
        await works[number % len(works)]()


async def hooks(day: Day, seed: int, pause: float) -> None:
    """Be Claude Code with hooks: one window after another."""
    rng = random.Random(seed)
    for number in count():
        for name, fields in _window(day.tree, rng):
            if not day.goes_on:
                return
            row = {
                "session_id": f"window-{seed}-{number}",
                "cwd": str(day.project.root),
                "permission_mode": "default",
                "hook_event_name": name,
                **fields,
            }
            ran = await day.project.run("hook", "claude-code", stdin=json.dumps(row))
            day.project.count(f"hook {name}")
            if ran.code or ran.stderr or (ran.stdout and not ran.data):
                day.project.fault(f"hook {name}: {ran.code} {ran.stdout} {ran.stderr}")
            await day.pause(pause)


def _window(tree: Tree, rng: random.Random) -> list[tuple[str, dict[str, Any]]]:
    function = function_in(tree, rng)
    path, word = str(tree.root / function.file), function.name.rpartition(".")[2]
    lines = tree.text(function.file).split("\n")[function.first - 1 : function.last]
    text = "\n".join(lines)
    file = {"filePath": path, "content": text, "numLines": len(lines), "startLine": function.first}
    read = {"type": "text", "file": {**file, "totalLines": function.last}}
    edit = {"file_path": path, "old_string": lines[0], "new_string": lines[0] + " "}
    grep = f"rg -n {word} ."
    return [
        ("SessionStart", {"source": "startup"}),
        (
            "UserPromptSubmit",
            {"prompt": f"Fix {function.name}: {symbol_words(word)} must not fail."},
        ),
        ("PreToolUse", {"tool_name": "Grep", "tool_input": {"pattern": word}}),
        ("PreToolUse", {"tool_name": "Bash", "tool_input": {"command": grep}}),
        (
            "PostToolUse",
            {"tool_name": "Read", "tool_input": {"file_path": path}, "tool_response": read},
        ),
        ("PreToolUse", {"tool_name": "Edit", "tool_input": edit}),
        ("Stop", {"stop_hook_active": False}),
        ("SessionEnd", {"reason": "exit"}),
    ]


async def find_all(day: Day) -> None:
    """Compare the map with what was acknowledged."""
    ran = await day.project.run("map", "list", "--json")
    listed = {row["nl_term"] for row in ran.data.get("agreements", ran.data.get("rows", ()))}
    for term in day.agreed.keys() - listed:
        day.project.fault(f"the agreement on {term!r} was acknowledged and is not listed")
    for term in day.deleted & listed:
        day.project.fault(f"the agreement on {term!r} was deleted and is listed")


async def all_are_gone(project: Project) -> None:
    """Wait for the servers to end; one that is left is a fault."""
    left = servers(project.mark)
    with anyio.move_on_after(MAX_END_S):
        while left := servers(project.mark):  # noqa: ASYNC110 - there is no event for it
            await anyio.sleep(0.2)
    for process in left:
        project.fault(f"a process was left: {process}")
