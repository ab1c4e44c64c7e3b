"""Measure how often the hook of a prompt adds context, and whether the context is useful.

    python -m benchmarks.hook_context
    python -m benchmarks.hook_context --data TASKS.jsonl [--data WORDS.jsonl] --sources DIR

Two kinds of prompts are asked, each in a client session of its own, which is the worst case for a
prompt that continues a conversation. `data/idle_prompts.jsonl` has 100 prompts that ask for nothing
in the code: small talk, thanks, consent, chores, questions about anything. The words that do not
count (`tools/hooks/idle_words`) and the limits were set on half of them (`fit`); `held` is the
other half. Each is asked in every repository. Context for one of them is useless.

The tasks are those of `agent_cost`, in all their wordings. Context for one of them is useless if it
shows no line of a file that the commit changed. Without --data, the tasks are about this checkout.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, quantiles
from typing import NamedTuple

import anyio

from benchmarks.agent_cost import OWN, make
from benchmarks.agent_tasks import Task, tasks_from
from benchmarks.labels import HERE
from code_intel.config import Settings
from code_intel.embedding.lazy import ENGINES
from code_intel.tools.context.corpus_service import open_project
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.context.searchers import in_process
from code_intel.tools.hooks.binding import find_session
from code_intel.tools.hooks.events import HookEvent, Kind
from code_intel.tools.hooks.prompt import answer_prompt
from code_intel.tools.wire.answers import tokens

IDLE = HERE / "data" / "idle_prompts.jsonl"


@dataclass(frozen=True)
class PromptResult:
    """What one prompt got.

    Attributes:
        repo: The repository.
        group: `idle/fit`, `idle/held`, or `task/` with the wording.
        prompt: The prompt.
        tokens: Tokens of the context; 0 if there was none.
        useful: Whether it shows a file that the commit changed.
        ms: Milliseconds of the rule.
    """

    repo: str
    group: str
    prompt: str
    tokens: int
    useful: bool
    ms: float


class Prompt(NamedTuple):
    """One prompt and the files that it is about."""

    group: str
    text: str
    files: tuple[str, ...] = ()


def idle_prompts() -> list[Prompt]:
    """Return the prompts that ask for nothing."""
    rows = map(json.loads, IDLE.read_text(encoding="utf-8").splitlines())
    return [Prompt(f"idle/{row['set']}", row["prompt"]) for row in rows]


def task_prompts(tasks: Iterable[Task]) -> list[Prompt]:
    """Return the tasks in all their wordings."""
    return [
        Prompt(f"task/{form or 'as it is'}", wording.request, task.files)
        for task in tasks
        for form, wording in task.wordings.items()
    ]


async def ask(
    settings: Settings, repo: str, prompts: Sequence[Prompt], *, vectors: bool
) -> list[PromptResult]:
    """Return what each prompt gets in one project."""
    map_service, forest = open_project(settings, engines=ENGINES if vectors else ())
    context = GatewayContext(
        settings,
        in_process(map_service, forest),
        map_service.index,
        forest.index,
        map_service.embedder,
    )
    results = []
    for number, prompt in enumerate(prompts):
        event = HookEvent(Kind.PROMPT, f"{repo}-{number}", text=prompt.text, client="benchmark")
        since = time.perf_counter()
        reply = await answer_prompt(context, event)
        spent = 1000 * (time.perf_counter() - since)
        bound = find_session(context, event) if reply.context else None
        shown = (
            {item.file for call in bound.session.calls for item in call.printed} if bound else set()
        )
        useful = not shown.isdisjoint(prompt.files)
        results.append(
            PromptResult(repo, prompt.group, prompt.text, tokens(reply.context), useful, spent)
        )
        sys.stderr.write(f"\r{repo}: {number + 1}/{len(prompts)} prompts")
    map_service.index.close()
    forest.index.close()
    return results


def show(results: Sequence[PromptResult]) -> None:
    """Print the table."""
    print(
        f"{'':12} {'prompts':18} {'number':>6} {'context':>8} {'useful':>7} {'useless':>8} tokens"
    )
    repos = dict.fromkeys(item.repo for item in results)
    for repo in (*repos, "all"):
        mine = [item for item in results if repo in (item.repo, "all")]
        for group in dict.fromkeys(item.group for item in mine):
            show_row(repo, group, [item for item in mine if item.group == group])
    spent = [item.ms for item in results if item.tokens]
    if len(spent) > 1:
        cuts = quantiles(spent, n=20)
        print(f"\ntime of a prompt with context: p50 {cuts[9]:.0f} ms, p95 {cuts[18]:.0f} ms")
    for item in results:
        if item.tokens and item.group.startswith("idle"):
            print(f"useless: {item.repo}: {item.prompt}")


def show_row(repo: str, group: str, rows: Sequence[PromptResult]) -> None:
    """Print the rates of one group. Useless is a share of all its prompts."""
    given = [item for item in rows if item.tokens]
    useful = sum(item.useful for item in given)
    size = fmean(item.tokens for item in given) if given else 0
    print(
        f"{repo:12} {group:18} {len(rows):6} {len(given) / len(rows):8.1%}"
        f" {useful / len(rows):7.1%} {(len(given) - useful) / len(rows):8.1%} {size:6.0f}"
    )


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, action="append", help="tasks; may be repeated")
    parser.add_argument("--sources", type=Path, help="the folder of the repositories")
    parser.add_argument("--vectors", action="store_true", help="embed, and search with both")
    parser.add_argument("--cache", type=Path, help="folder in which vectors are kept")
    parser.add_argument("--json", type=Path, help="also write everything here")
    args = parser.parse_args()
    if args.data and args.sources is None:
        parser.error("--sources is missing: the folder with the repositories of the tasks")
    tasks = tasks_from(args.data or [OWN])
    results: list[PromptResult] = []
    for repo in dict.fromkeys(task.repo for task in tasks):
        source = args.sources / repo if args.sources else HERE.parent
        prompts = [*idle_prompts(), *task_prompts(task for task in tasks if task.repo == repo)]
        with tempfile.TemporaryDirectory() as scratch:
            settings = make(source, Path(scratch) / repo, args.cache, vectors=args.vectors)
            results += anyio.run(_asked, settings, repo, prompts, args.vectors)
    show(results)
    if args.json:
        rows = [asdict(item) for item in results]
        args.json.write_text(json.dumps(rows, ensure_ascii=False, indent=1), encoding="utf-8")


async def _asked(
    settings: Settings,
    repo: str,
    prompts: Sequence[Prompt],
    vectors: bool,  # noqa: FBT001 - anyio.run passes no keywords
) -> list[PromptResult]:
    return await ask(settings, repo, prompts, vectors=vectors)


if __name__ == "__main__":
    main()
