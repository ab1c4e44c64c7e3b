"""Measure the lines of context that the hooks add to searches with the client's own tools.

    python -m benchmarks.hook_searches
    python -m benchmarks.hook_searches --data TASKS.jsonl --sources DIR

The searches are those that the agent with ripgrep makes in `agent_cost` until it has found the
files of a task: first for the identifiers of the request, then for its words by threes. Each is
given to the hook as the shell command that the agent would execute. A line is useful if a
definition that it names stands in a file that the commit changed; all others are useless, even if
they answer the search. The map is empty.
"""

import json
import shlex
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.agent_cost import OWN, cost_of, make, parsed
from benchmarks.agent_policies import Call, greps
from benchmarks.agent_tasks import Task, places_of, tasks_from
from benchmarks.labels import HERE
from benchmarks.plausibility_cases import Project, project_of
from code_intel.config import Settings
from code_intel.tools.context.corpus_service import open_project
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.hooks.searching import line_about
from code_intel.tools.hooks.shell_events import before_command

TARGET = 0.05
"""Maximum share of the searches that get a useless line."""


@dataclass(frozen=True)
class CommentedSearch:
    """A search of the agent.

    Attributes:
        command: The shell command.
        line: The line that the hook adds; empty if it adds none.
        is_useful: Whether it names a place in a file that the commit changed.
    """

    repo: str
    id: str
    command: str
    line: str
    is_useful: bool


def commands_of(root: Path, task: Task, project: Project) -> Sequence[str]:
    """Return the shell commands by which the agent searches until it has found the places."""
    made: list[str] = []

    def calls() -> Iterator[Call]:
        for search in greps(root, task.wordings[""].request):
            patterns = " ".join(f"-e {shlex.quote(word)}" for word in search.words)
            made.append(f"rg -n -i -F --sort=path {patterns} . | head -100")
            yield search.listing()
            yield from search.windows()

    cost_of(task, "ripgrep", calls(), places_of(project, task))
    return made


def searches_in(settings: Settings, tasks: Sequence[Task]) -> Iterator[CommentedSearch]:
    """Yield every search of the tasks of one repository."""
    map_service, forest = open_project(settings, readonly=True, engines=())
    context = GatewayContext(settings, None, map_service.index, forest.index, forest.embedder)
    project = project_of(tasks[0].repo, forest.index.store)
    for task in tasks:
        for command in commands_of(settings.root, task, project):
            event = before_command("benchmark", "Bash", command, str(settings.root))
            line = line_about(context, event) if event else ""
            is_useful = any(f"{file}:" in line for file in task.files)
            yield CommentedSearch(task.repo, task.id, command, line, is_useful)
    map_service.index.close()
    forest.index.close()


def main() -> None:
    """Command line."""
    args = parsed()
    rows: list[CommentedSearch] = []
    tasks = tasks_from(args.data or [OWN])
    for name in dict.fromkeys(task.repo for task in tasks):
        if args.repo and name not in args.repo:
            continue
        mine = [task for task in tasks if task.repo == name][: args.limit]
        source = args.sources / name if args.sources else HERE.parent
        with tempfile.TemporaryDirectory() as scratch:
            settings = make(source, Path(scratch) / name, args.cache, vectors=False)
            rows += searches_in(settings, mine)
    show(rows)
    if args.json:
        text = json.dumps([asdict(row) for row in rows], ensure_ascii=False, indent=1)
        args.json.write_text(text, encoding="utf-8")


def show(rows: Sequence[CommentedSearch]) -> None:
    """Print the table."""
    print(f"{'':10} {'tasks':>5} {'searches':>8} {'lines':>6} {'useful':>6} {'useless':>7} share")
    for name in [*dict.fromkeys(row.repo for row in rows), "all"]:
        mine = [row for row in rows if name in {row.repo, "all"}]
        lines = [row for row in mine if row.line]
        useful = sum(row.is_useful for row in lines)
        useless = len(lines) - useful
        print(
            f"{name:10} {len({(row.repo, row.id) for row in mine}):5} {len(mine):8}"
            f" {len(lines):6} {useful:6} {useless:7} {useless / len(mine):.1%}"
        )
    print(f"target: useless lines for at most {TARGET:.0%} of the searches")


if __name__ == "__main__":
    main()
