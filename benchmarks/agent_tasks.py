"""The tasks of `agent_cost`: a request, the files that its commit changed, and the functions.

A line of a set is {"repo", "query", "relevant": [{"path"}], "hunks"}; `hunks` are git's hunk
headers. Optional are the slots of the query frame, each a quote of the request ("feature",
"action", "issue", "trigger"), and the request in other forms ("ja", "again_en", "again_ja"),
whose slots have the same names behind a prefix ("ja_feature"). A set may lie in several files,
whose lines are joined by `repo` and `commit` (or `id`).
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.agent_policies import Printed
from benchmarks.plausibility_cases import Project, changed_symbols
from code_intel.records import Definition

SLOTS = {
    "feature": "target_feature",
    "trigger": "trigger_condition",
    "issue": "observed_issue",
    "action": "desired_action",
}
MIN_LINES = 5
"""A file is printed once this many of its lines were shown: a line of a search is not enough."""
MAX_BODY = 40
"""A longer function or class is printed once its header and this many lines were shown."""


class Wording(NamedTuple):
    """A request and its slots, each a quote of it."""

    request: str
    slots: Mapping[str, str]


class Task(NamedTuple):
    """One task.

    Attributes:
        repo: The repository.
        id: The commit, or the id of the set.
        wordings: The request as it is (`""`) and in other forms (`ja`, `again_en`, `again_ja`).
        files: The source files that the commit changed.
        hunks: Git's hunk headers.
    """

    repo: str
    id: str
    wordings: Mapping[str, Wording]
    files: tuple[str, ...]
    hunks: tuple[str, ...]


class Places(NamedTuple):
    """What must be printed: files, and functions or classes that stand in the tree."""

    files: tuple[str, ...]
    functions: tuple[Definition, ...]


def tasks_from(paths: Iterable[Path]) -> list[Task]:
    """Read a set; lines about the same task in several files are joined."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            name = str(row.get("commit") or row.get("id"))
            rows.setdefault((row["repo"], name), {}).update(row)
    return [_task(repo, name, row) for (repo, name), row in rows.items() if "query" in row]


def _task(repo: str, name: str, row: Mapping[str, Any]) -> Task:
    wordings = {"": Wording(row["query"], _slots(row, ""))}
    for form in ("ja", "again_en", "again_ja"):
        if row.get(form):
            wordings[form] = Wording(row[form], _slots(row, f"{form}_"))
    files = tuple(target["path"] for target in row["relevant"])
    return Task(repo, name, wordings, files, tuple(row.get("hunks", ())))


def _slots(row: Mapping[str, Any], prefix: str) -> dict[str, str]:
    values = {slot: str(row.get(prefix + name) or "") for name, slot in SLOTS.items()}
    return {slot: value for slot, value in values.items() if value}


def places_of(project: Project, task: Task) -> Places:
    """Return the files, and the outermost symbols that a hunk header names and the tree defines."""
    named = set(changed_symbols(project, task.files, task.hunks))
    found: list[Definition] = []
    for path in task.files:
        file = project.files.get(path)
        inside = [d for d, _ in file.symbols if (path, d.qualified) in named] if file else []
        found += [d for d in inside if not any(contains(o, d) for o in inside)]
    return Places(task.files, tuple(found))


def contains(outer: Definition, inner: Definition) -> bool:
    """Return whether a symbol is a part of another one."""
    return (
        outer != inner
        and outer.line <= inner.line
        and inner.end_line <= outer.end_line
        and inner.qualified.startswith(f"{outer.qualified}.")
    )


class Seen:
    """The lines that were printed so far."""

    def __init__(self) -> None:
        self.lines: dict[str, set[int]] = {}

    def add(self, printed: Iterable[Printed]) -> None:
        """Add lines."""
        for item in printed:
            self.lines.setdefault(item.file, set()).update(item.lines)

    def has_files(self, files: Iterable[str]) -> bool:
        """Return whether of every file at least five lines were printed."""
        return all(len(self.lines.get(file, ())) >= MIN_LINES for file in files)

    def has_functions(self, functions: Sequence[Definition]) -> bool:
        """Return whether of every function the header and 40 lines, or all of it, were printed."""
        return all(self.has_function(definition) for definition in functions)

    def has_function(self, definition: Definition, body: int = MAX_BODY) -> bool:
        """Return whether the header of a function and `body` lines, or all of it, were printed."""
        shown = self.lines.get(definition.file, set())
        span = range(definition.line, definition.end_line + 1)
        return definition.line in shown and len(shown.intersection(span)) >= min(len(span), body)
