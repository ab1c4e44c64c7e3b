"""Measure what an agent pays once half of the tasks are learned.

    python -m benchmarks.agent_learning --data TASKS.jsonl --data WORDS.jsonl --sources DIR

The tasks and the policies are those of `agent_cost`. Tasks that have other wordings are learned: a
session starts, reads a symbol that the commit changed, understands, changes a word inside it, and
records a success. Then each learned task is asked again in the other wordings, English and
Japanese, and the other tasks as they are. An answer of the map is *right* if its first agreement
names a file that the commit changed. The agent with ripgrep has the English wording.
"""

import json
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import anyio

from benchmarks.agent_cost import cost_of, in_repository, make, parsed
from benchmarks.agent_gateway import GatewayAgent, GatewayRun
from benchmarks.agent_policies import POLICIES
from benchmarks.agent_tasks import Task, places_of, tasks_from
from benchmarks.labels import HERE
from benchmarks.plausibility_cases import changed_symbols
from benchmarks.replay_sessions import changed_in
from code_intel.chunking.words import words
from code_intel.records import Definition

AGAIN = ("again_en", "again_ja")
MAX_TRIED = 3
"""Symbols of a task that are tried until one is understood."""
MAP_PHASES = frozenset({"READY", "VERIFICATION"})


@dataclass(frozen=True)
class Asked:
    """A request with the map, and what it cost.

    Attributes:
        repo: The repository.
        id: The task.
        form: The wording; empty for a task that was not learned.
        phase: The phase after start_session.
        agreement: The first agreement that the map named: its term, symbol and score.
        right: Whether the map's answer names a file that the commit changed.
        calls: Calls until every changed file was printed; 30 if one never was.
        tokens: Tokens until then.
        grep_tokens: The same with ripgrep, by the better of the two policies.
    """

    repo: str
    id: str
    form: str
    phase: str
    agreement: str
    right: bool
    calls: int
    tokens: int
    grep_calls: int
    grep_tokens: int


@dataclass
class Learning:
    """What was learned and asked; `failed` says why a task was not learned."""

    learned: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)


async def learn(agent: GatewayAgent, task: Task) -> str:
    """Work on a task, change a word inside its symbol, and record a success; return why not."""
    why = "the tree defines no symbol that the commit changed"
    for symbol in _changed(agent, task)[:MAX_TRIED]:
        run, wording = GatewayRun(), task.wordings[""]
        await agent.start(run, wording)
        await agent.understand(run, wording, [symbol])
        if run.phase != "READY":
            why = f"{run.phase}: {'; '.join(run.refusals)}"
            continue
        await anyio.to_thread.run_sync(_change, agent.settings.root, symbol)
        answer = await agent.call(run, "record_outcome", outcome="success")
        await anyio.to_thread.run_sync(_commit, agent.settings.root)
        return "" if answer.get("cached_pairs") else str(answer.get("note"))
    return why


def _change(root: Path, symbol: Definition) -> None:
    path = root / symbol.file
    path.write_bytes(changed_in(path.read_bytes(), symbol.line, symbol.end_line))


def _commit(root: Path) -> None:
    git = ["git", "-C", str(root), "-c", "user.name=B", "-c", "user.email=b@example.invalid"]
    for arguments in (["add", "-A"], ["commit", "-qm", "Work", "--no-verify"]):
        subprocess.run([*git, *arguments], check=False, capture_output=True)


def _changed(agent: GatewayAgent, task: Task) -> list[Definition]:
    """Return the symbols that the commit changed: the most words of the request, then shortest."""
    named = set(changed_symbols(agent.project, task.files, task.hunks))
    wanted = set(words(task.wordings[""].request))
    found = []
    for path in task.files:
        file = agent.project.files.get(path)
        for definition, _ in file.symbols if file else ():
            if file and (path, definition.qualified) in named:
                lines = file.tokens[definition.line - 1 : definition.end_line]
                held = max((len(wanted & line) for line in lines), default=0)
                found.append((-held, definition.end_line - definition.line, definition))
    return [definition for _, _, definition in sorted(found, key=lambda item: item[:2])]


async def ask(agent: GatewayAgent, task: Task, form: str) -> Asked:
    """Ask a task in a wording, and read on until its files are printed."""
    places = places_of(agent.project, task)._replace(functions=())
    wording, english = task.wordings[form], task.wordings["again_en" if form else ""]
    run = await agent.solve(wording, places, functions=False)
    phase = str(run.started.get("current_phase", ""))
    first: Mapping[str, Any] = next(iter(run.started.get("map", ())), {})
    files = {str(file).partition(":")[0] for file in first.get("files", ())}
    mine = cost_of(task, "gateway", run.calls, places)
    root = agent.settings.root
    others = [cost_of(task, name, p(root, english.request), places) for name, p in POLICIES.items()]
    return Asked(
        task.repo,
        task.id,
        form,
        phase,
        f"{first['nl_term']} → {first['symbol']} {first.get('score')}" if first else "",
        bool(files & set(task.files)),
        mine.calls,
        mine.tokens,
        min(other.calls for other in others),
        min(other.tokens for other in others),
    )


async def _run(tasks: Sequence[Task], result: Learning, agent: GatewayAgent) -> None:
    learned = []
    for task in tasks:
        if all(form in task.wordings for form in AGAIN):
            why = await learn(agent, task)
            if why:
                result.failed[task.id] = why
            else:
                learned.append(task)
                result.learned.append(task.id)
    for task in tasks:
        if task in learned:
            result.asked += [await ask(agent, task, form) for form in AGAIN]
        elif task.id not in result.failed:
            result.asked.append(await ask(agent, task, ""))


def summary(result: Learning) -> list[dict[str, Any]]:
    """Return the figures by wording."""
    rows = []
    for form in ("", *AGAIN):
        asked = [each for each in result.asked if each.form == form]
        if not asked:
            continue
        answered = [each for each in asked if each.phase in MAP_PHASES]
        grep = fmean(each.grep_tokens for each in asked)
        spent = fmean(each.tokens for each in asked)
        rows.append(
            {
                "form": form or "not learned",
                "tasks": len(asked),
                "ready": fmean(each.phase == "READY" for each in asked),
                "by_map": len(answered) / len(asked),
                "wrong": sum(not each.right for each in answered) / len(asked),
                "wrong_ready": fmean(each.phase == "READY" and not each.right for each in asked),
                "calls": fmean(each.calls for each in asked),
                "tokens": spent,
                "grep_calls": fmean(each.grep_calls for each in asked),
                "grep_tokens": grep,
                "ratio": spent / grep,
            }
        )
    return rows


def show(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print the table."""
    print(" ".join(f"{name:>15}" for name in rows[0]))
    for row in rows:
        cells = (f"{v:15.3f}" if isinstance(v, float) else f"{v:>15}" for v in row.values())
        print(" ".join(cells))


def main() -> None:
    """Command line."""
    args = parsed()
    result = Learning()
    tasks = tasks_from(args.data or ())
    for name in dict.fromkeys(task.repo for task in tasks):
        if args.repo and name not in args.repo:
            continue
        mine = [task for task in tasks if task.repo == name][: args.limit]
        source = args.sources / name if args.sources else HERE.parent
        with tempfile.TemporaryDirectory() as scratch:
            root = Path(scratch) / name
            settings = make(source, root, args.cache, vectors=args.vectors)
            anyio.run(in_repository, settings, name, partial(_run, mine, result))
    rows = summary(result)
    print(f"learned: {len(result.learned)}, not learned: {len(result.failed)}")
    show(rows)
    if args.json:
        data = {"summary": rows, **asdict(result), "failed": result.failed}
        args.json.write_text(json.dumps(data, ensure_ascii=False, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
