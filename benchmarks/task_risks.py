"""Show how the risk of real tasks is distributed, before and at their submission.

    python -m benchmarks.task_risks --data TASKS.jsonl --data SLOTS.jsonl --sources DIR

The tasks are those of `agent_cost`. What is submitted is right: of each changed file an innermost
symbol that the commit changed, with the line that holds most of the request as its quote. Nothing
is learned, so that no agreement names a symbol. Words only: vectors do not matter for the risk.
"""

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import anyio

from benchmarks.agent_cost import make
from benchmarks.agent_tasks import Task, Wording, contains, tasks_from
from benchmarks.plausibility_cases import Project, changed_symbols, project_of
from code_intel.chunking.words import words
from code_intel.foundation import git
from code_intel.session.frame import Frame, Slot
from code_intel.session.phases import Intent, Phase
from code_intel.session.risk import (
    LOW_REASON,
    RISK_RULES,
    ChangeFacts,
    assess_change,
    provisional_risk,
)
from code_intel.session.state import Session
from code_intel.session.understanding.claims import Claim, Understanding
from code_intel.tools.context.corpus_service import open_project
from code_intel.tools.context.evidence_facts import evidence_facts
from code_intel.tools.context.gateway import GatewayContext


def session_of(root: Path, wording: Wording) -> Session:
    """Return a session that has just begun, with every slot of the task."""
    slots = tuple(Slot(name, value, value) for name, value in wording.slots.items())
    return Session(
        "task",
        "",
        str(root),
        Intent.MODIFY,
        wording.request,
        Phase.EXPLORATION,
        "",
        "",
        demands="evidence",
        frame=Frame(wording.request, slots),
        commit=git.head(root),
    )


def right_claims(project: Project, task: Task) -> Iterator[Claim]:
    """Yield an innermost changed symbol of each changed file: that with the best line."""
    changed = set(changed_symbols(project, task.files, task.hunks))
    wanted = frozenset(words(task.wordings[""].request))
    for path in task.files:
        file = project.files.get(path)
        symbols = [d for d, _ in file.symbols] if file else []
        known = [d for d in symbols if (path, d.qualified) in changed] or symbols
        inner = [d for d in known if not any(contains(d, other) for other in known)]
        lines = [
            (len(wanted & file.tokens[number]), -number, d)
            for d in inner
            if file
            for number in range(d.line - 1, min(d.end_line, len(file.lines)))
        ]
        if file and lines:
            _, number, definition = max(lines)
            quote = file.lines[-number].strip()
            yield Claim(definition.qualified, path, "It is changed.", quote)


def reason_of(changes: Sequence[ChangeFacts]) -> str:
    """Return the level, and the row of `RISK_RULES` that decides it."""
    level, _ = assess_change(changes)
    rules = [rule for rule in RISK_RULES if rule.level is level]
    rule = next((rule for rule in rules if any(map(rule.holds, changes))), None)
    reason = rule.reason if rule else LOW_REASON
    shown = reason.format(symbol="a symbol", using_files="several", words="…")
    return f"{level}: {shown}"


async def risks(context: GatewayContext, project: Project, tasks: Sequence[Task]) -> list[str]:
    """Return the level and its reason for each task that changes an indexed symbol."""
    found = []
    for task in tasks:
        if claims := tuple(right_claims(project, task)):
            session = session_of(context.root, task.wordings[""])
            _, facts = await evidence_facts(context, session, Understanding(claims))
            found.append(reason_of(facts.changes))
    return found


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, action="append", required=True, help="tasks")
    parser.add_argument("--sources", type=Path, required=True, help="a folder of git clones")
    parser.add_argument("--repo", action="append", help="only this repository; may be repeated")
    args = parser.parse_args()
    tasks = tasks_from(args.data)
    found: list[str] = []
    for name in dict.fromkeys(task.repo for task in tasks):
        if args.repo and name not in args.repo:
            continue
        mine = [task for task in tasks if task.repo == name]
        with tempfile.TemporaryDirectory() as scratch:
            settings = make(args.sources / name, Path(scratch) / name, None, vectors=False)
            maps, forest = open_project(settings)
            with maps.index, forest.index:
                context = GatewayContext(settings, None, maps.index, forest.index, maps.embedder)
                project = project_of(name, forest.index.store)
                found += anyio.run(partial(risks, context, project, mine))
    level, reason = provisional_risk(Intent.MODIFY)
    print(f"before the submission: {level} ({reason}), {len(found)} tasks\nat the submission:")
    for text, count in sorted(Counter(found).items(), key=lambda item: -item[1]):
        print(f"{count:5} {count / len(found):5.0%} {text}")


if __name__ == "__main__":
    main()
