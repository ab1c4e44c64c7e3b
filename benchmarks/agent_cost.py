"""Measure what an agent pays with the gateway and with ripgrep, over real tasks.

    python -m benchmarks.agent_cost
    python -m benchmarks.agent_cost --data TASKS.jsonl [--data SLOTS.jsonl] --sources DIR --vectors

A task is a request and the source files that its commit changed (`agent_tasks` describes the
files). DIR holds a git clone of each repository, at the commit before its tasks; the benchmark
works on clones of them. Without --data, the tasks are about this checkout.

The policies know nothing of the answer, but stop once it was printed. With ripgrep
(`agent_policies`) an agent searches for the identifiers of the request, then for its words by
threes, rarest first, and reads 60 lines around the best hit of each file: (a) in single calls,
(b) a search and five windows in one shell call. With the gateway (`agent_gateway`) it starts a
session, reads on while the place is missing, and submits what it understood. Every policy has 30
calls; a place that is never printed costs all of them. A file counts as printed once five
of its lines were shown, a function once its header and 40 lines (or all) were.

Figures: calls and tokens until every changed file was printed, and every function; calls until
files may be written; files that may be written although the commit did not change them. Tokens
are those of what the model gets: the text of the shell, the structured content of the gateway as
JSON. The list of the gateway's tools counts once for each session.

`--wording ja` (or `again_en`, `again_ja`) asks in other words; the agent with ripgrep always has
the English ones, since the code is English.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any, get_args

import anyio

from benchmarks.agent_gateway import GatewayAgent, GatewayRun, connected
from benchmarks.agent_policies import MAX_CALLS, POLICIES, Call
from benchmarks.agent_tasks import (
    MIN_LINES,
    Places,
    Seen,
    Task,
    Wording,
    contains,
    places_of,
    tasks_from,
)
from benchmarks.labels import HERE
from benchmarks.plausibility_cases import Project, changed_symbols, project_of
from code_intel.chunking.words import words
from code_intel.cli.setup.init import apply, setup
from code_intel.config import Settings, load_settings
from code_intel.records import Definition
from code_intel.session.state import Demands
from code_intel.tools.context.corpus_service import open_project
from code_intel.tools.wire.answers import tokens

OWN = HERE / "data" / "agent_cost_own.jsonl"
GATEWAY = "gateway"


@dataclass(frozen=True)
class Cost:
    """What one policy paid for one task.

    Attributes:
        calls: Calls until every changed file was printed; 30 if one never was.
        tokens: Tokens until then.
        found: Whether every file was printed.
        function_calls: The same for every function; 0 if no function of the tree is named.
        function_tokens: The same for every function.
        ready_calls: Calls until the session was READY; 0 if it never was.
        ready_tokens: Tokens until then.
        write_calls: Calls until every changed file was known to be writable; 0 if it never was.
        wrong: Source files that may be written although the commit did not change them.
        refusals: What submit_understanding lacked.
        claimed: The symbol that the agent would change.
        is_right: Whether the commit changed it.
    """

    repo: str
    id: str
    policy: str
    calls: int
    tokens: int
    found: bool
    function_calls: int = 0
    function_tokens: int = 0
    functions_found: bool = False
    ready_calls: int = 0
    ready_tokens: int = 0
    write_calls: int = 0
    wrong: int = 0
    refusals: tuple[str, ...] = ()
    claimed: str = ""
    is_right: bool = False


def cost_of(task: Task, policy: str, calls: Iterable[Call], places: Places) -> Cost:
    """Return what it cost until the places were printed; take calls only as far as needed."""
    seen, spent = Seen(), 0
    files = functions = (0, 0)
    wants_functions = bool(places.functions)
    for count, call in enumerate(calls, start=1):
        spent += tokens(call.text)
        seen.add(call.printed)
        if not files[0] and seen.has_files(places.files):
            files = (count, spent)
        if wants_functions and not functions[0] and seen.has_functions(places.functions):
            functions = (count, spent)
        if count == MAX_CALLS or (files[0] and (functions[0] or not wants_functions)):
            break
    missed = (MAX_CALLS, spent)
    return Cost(
        task.repo,
        task.id,
        policy,
        *(files if files[0] else missed),
        found=bool(files[0]),
        function_calls=(functions if functions[0] else missed)[0] if wants_functions else 0,
        function_tokens=(functions if functions[0] else missed)[1] if wants_functions else 0,
        functions_found=bool(functions[0]),
    )


async def measure(agent: GatewayAgent, task: Task, form: str, *, whole: bool) -> list[Cost]:
    """Return the costs of every policy for one task; `whole` also wants the functions printed."""
    places = places_of(agent.project, task)
    places = places if whole else places._replace(functions=())
    english = task.wordings.get("again_en" if form.startswith("again") else "", task.wordings[""])
    root = agent.settings.root
    costs = [
        cost_of(task, name, policy(root, english.request), places)
        for name, policy in POLICIES.items()
    ]
    wording = task.wordings[form]
    reading = await agent.solve(wording, places, functions=whole)
    cost = cost_of(task, GATEWAY, reading.calls, places)
    return [*costs, await _permission(agent, task, wording, places, cost)]


async def _permission(
    agent: GatewayAgent, task: Task, wording: Wording, places: Places, cost: Cost
) -> Cost:
    """Return the cost with what it takes until files may be written, in a session of its own."""
    run = await agent.solve(wording, places, functions=False, first=True)
    changed = set(changed_symbols(agent.project, task.files, task.hunks))
    claims = _claims(agent.project, task, wording, run)
    if not any((claim.file, claim.qualified) in changed for claim in claims):
        files = {file for file, _ in changed if run.seen.has_files([file])}
        await agent.read_on(run, wording, files)
        claims = _claims(agent.project, task, wording, run)
    await agent.understand(run, wording, claims)
    ready = run.ready_calls
    spent = sum(tokens(call.text) for call in run.calls[:ready])
    written = wrong = 0
    if ready:
        allowed = await agent.writable(run, task.files)
        written = len(run.calls) if allowed >= set(task.files) else 0
        others = [file for file in agent.project.files if file not in task.files]
        for start in range(0, len(others), 50):
            wrong += len(await agent.writable(run, others[start : start + 50]))
    return replace(
        cost,
        ready_calls=ready,
        ready_tokens=spent,
        write_calls=written,
        wrong=wrong,
        refusals=tuple(run.refusals),
        claimed=claims[0].qualified if claims else "",
        is_right=bool(claims) and (claims[0].file, claims[0].qualified) in changed,
    )


def _claims(project: Project, task: Task, wording: Wording, run: GatewayRun) -> list[Definition]:
    """Return, of each changed file of which code was shown, the shown symbol that the agent claims.

    It knows the changed symbol when it sees it. If it was shown another one only, it claims that.
    Among several, it takes the one with the most words of the request in the shown lines.
    """
    changed = set(changed_symbols(project, task.files, task.hunks))
    wanted = set(words(wording.request))
    claims: list[tuple[tuple[bool, int, int], Definition]] = []
    for path in task.files:
        file, shown = project.files.get(path), run.seen.lines.get(path, set())
        found = []
        for definition, _ in file.symbols if file else ():
            lines = shown.intersection(range(definition.line, definition.end_line + 1))
            size = definition.end_line - definition.line + 1
            if file and len(lines) >= min(MIN_LINES, size):
                held = max(len(wanted & file.tokens[n - 1]) for n in lines)
                is_changed = (path, definition.qualified) in changed
                found.append(((is_changed, held, -size), definition))
        inner = [item for item in found if not any(contains(item[1], o[1]) for o in found)]
        if inner:
            claims.append(max(inner, key=lambda item: item[0]))
    claims.sort(key=lambda item: item[0], reverse=True)
    return [definition for _, definition in claims]


def make(
    source: Path, root: Path, cache: Path | None, *, vectors: bool, demands: Demands = "evidence"
) -> Settings:
    """Clone a repository at its current commit, set it up and index it; return its settings."""
    clone = ["git", "clone", "-q", "--shared", str(source), str(root)]
    subprocess.run(clone, check=True)
    apply(setup(root))
    settings = load_settings(root)
    settings = replace(
        settings,
        demands=demands,
        cache_dir=cache or root.parent / "cache",
        state_dir=root.parent / "state",
    )
    for service in open_project(settings):
        service.index.complete(
            words_only=not vectors,
            progress=lambda done, total: _say(f"{root.name} {done}/{total}"),
        )
        service.index.close()
    return settings


def _say(text: str) -> None:
    sys.stderr.write(f"\r{text}")


async def in_repository(
    settings: Settings, name: str, use: Callable[[GatewayAgent], Awaitable[None]]
) -> None:
    """Call `use` with an agent that is connected to the gateway of a project."""
    _, forest = open_project(settings, readonly=True)
    project = project_of(name, forest.index.store)
    async with connected(settings, project) as agent:
        await use(agent)
    forest.index.close()


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the arguments, by default of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, action="append", help="tasks; may be repeated")
    parser.add_argument("--sources", type=Path, help="the folder of the repositories")
    parser.add_argument("--repo", action="append", help="only this repository; may be repeated")
    parser.add_argument("--limit", type=int, help="only the first tasks of each repository")
    parser.add_argument("--wording", default="", choices=["", "ja", "again_en", "again_ja"])
    parser.add_argument("--files-only", action="store_true", help="leave the functions out")
    parser.add_argument("--vectors", action="store_true", help="embed, and search with both")
    parser.add_argument(
        "--demands", default="evidence", choices=get_args(Demands), help="what READY requires"
    )
    parser.add_argument("--cache", type=Path, help="folder in which vectors are kept")
    parser.add_argument("--json", type=Path, help="also write everything here")
    args = parser.parse_args(arguments)
    if args.data and args.sources is None:
        parser.error("--sources is missing: the folder with the repositories of the tasks")
    return args


def main() -> None:
    """Command line."""
    args = parsed()
    costs: list[Cost] = []
    listed: list[int] = []
    tasks = [task for task in tasks_from(args.data or [OWN]) if args.wording in task.wordings]
    for name in dict.fromkeys(task.repo for task in tasks):
        if args.repo and name not in args.repo:
            continue
        mine = [task for task in tasks if task.repo == name][: args.limit]
        source = args.sources / name if args.sources else HERE.parent
        with tempfile.TemporaryDirectory() as scratch:
            settings = make(
                source, Path(scratch) / name, args.cache, vectors=args.vectors, demands=args.demands
            )
            use = partial(_run, mine, args.wording, costs, listed, not args.files_only)
            anyio.run(in_repository, settings, name, use)
    result = summary(costs, listed[0])
    show(result)
    if args.json:
        rows = {"summary": result, "tasks": [asdict(cost) for cost in costs]}
        args.json.write_text(json.dumps(rows, ensure_ascii=False, indent=1), encoding="utf-8")


async def _run(
    tasks: Sequence[Task],
    form: str,
    costs: list[Cost],
    listed: list[int],
    whole: bool,  # noqa: FBT001 - bound by partial
    agent: GatewayAgent,
) -> None:
    listed.append(tokens(await agent.tool_list()))
    for number, task in enumerate(tasks, start=1):
        costs += await measure(agent, task, form, whole=whole)
        _say(f"{task.repo}: {number}/{len(tasks)} tasks")


def summary(costs: Sequence[Cost], list_tokens: int) -> dict[str, Any]:
    """Return the means by repository and policy, and over all tasks."""
    repos = dict.fromkeys(cost.repo for cost in costs)
    groups = {repo: [cost for cost in costs if cost.repo == repo] for repo in repos}
    groups["all"] = list(costs)
    return {
        "list_tokens": list_tokens,
        "rows": [
            {"repo": repo, "policy": policy, **_means([c for c in group if c.policy == policy])}
            for repo, group in groups.items()
            for policy in dict.fromkeys(cost.policy for cost in group)
        ],
        **_ratios(costs, list_tokens),
    }


def _means(costs: Sequence[Cost]) -> dict[str, float]:
    named = [cost for cost in costs if cost.function_calls]
    ready = [cost for cost in costs if cost.ready_calls]
    return {
        "tasks": len(costs),
        "calls": fmean(cost.calls for cost in costs),
        "tokens": fmean(cost.tokens for cost in costs),
        "found": fmean(cost.found for cost in costs),
        "with_functions": len(named),
        "function_calls": fmean(cost.function_calls for cost in named) if named else 0.0,
        "function_tokens": fmean(cost.function_tokens for cost in named) if named else 0.0,
        "functions_found": fmean(cost.functions_found for cost in named) if named else 0.0,
        "ready": len(ready) / len(costs),
        "ready_in_3": fmean(0 < cost.ready_calls <= 3 for cost in costs),
        "ready_calls": fmean(cost.ready_calls for cost in ready) if ready else 0.0,
        "ready_tokens": fmean(cost.ready_tokens for cost in ready) if ready else 0.0,
        "right": fmean(cost.is_right for cost in costs),
        "writable": fmean(cost.write_calls > 0 for cost in costs),
        "wrong_files": fmean(cost.wrong for cost in ready) if ready else 0.0,
    }


def _ratios(costs: Sequence[Cost], list_tokens: int) -> dict[str, Mapping[str, float]]:
    """Return the gateway's figures in relation to the best other policy of each figure."""
    means = {
        policy: _means([cost for cost in costs if cost.policy == policy])
        for policy in dict.fromkeys(cost.policy for cost in costs)
    }
    mine = means.pop(GATEWAY)
    ratios: dict[str, float] = {}
    for key in ("calls", "tokens", "function_calls", "function_tokens"):
        best = min(row[key] for row in means.values())
        ratios[key] = mine[key] / best if best else 0.0
        if key.endswith("tokens"):
            ratios[f"{key}_with_list"] = (mine[key] + list_tokens) / best if best else 0.0
    return {"ratios": ratios}


def show(result: Mapping[str, Any]) -> None:
    """Print the table."""
    print(
        f"{'':10} {'policy':26} {'tasks':>5} {'calls':>6} {'tokens':>7} {'found':>6}"
        f" {'functions:':>10} {'calls':>6} {'tokens':>7} {'found':>6}"
    )
    for row in result["rows"]:
        print(
            f"{row['repo']:10} {row['policy']:26} {row['tasks']:5} {row['calls']:6.1f}"
            f" {row['tokens']:7.0f} {row['found']:6.0%} {row['with_functions']:10}"
            f" {row['function_calls']:6.1f} {row['function_tokens']:7.0f}"
            f" {row['functions_found']:6.0%}"
        )
    print(
        f"\n{'':10} {'READY':>6} {'in 3':>6} {'calls':>6} {'tokens':>7} {'right':>6}"
        f" {'writable':>8} wrong"
    )
    for row in result["rows"]:
        if row["policy"] == GATEWAY:
            print(
                f"{row['repo']:10} {row['ready']:6.0%} {row['ready_in_3']:6.0%}"
                f" {row['ready_calls']:6.1f} {row['ready_tokens']:7.0f} {row['right']:6.0%}"
                f" {row['writable']:8.0%} {row['wrong_files']:5.1f}"
            )
    print(f"\ntool list: {result['list_tokens']} tokens, once a session")
    for key, value in result["ratios"].items():
        print(f"gateway / best other policy, {key}: {value:.2f}")


if __name__ == "__main__":
    main()
