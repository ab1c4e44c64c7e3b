"""Measure the value of learning: work on questions once, then ask them in another author's words.

    python -m benchmarks.replay [--cache DIR] [--json OUT] [--plot OUT.svg]
    python -m benchmarks.replay --data FILE.jsonl --manifest FILE --sources DIR

A line of FILE is a question as in code_search.py ({"repo", "query", "relevant": [path]}) with what
an agent finds out ({"id", "nl_term", "symbol", "file", "evidence"}: nl_term is a quote of the
query) and the same need in the words of another author ({"again": {"en", "ja"}}). Each repository
is copied, put into git, indexed with words and vectors, and served by the real gateway over MCP in
memory.

    pass 1   every question in a session that changes something, by the rules, until its symbol
             is learned
    pass 2   every other wording, shuffled among unrelated questions, in a session that only
             asks; the map answers (READY or VERIFICATION) or leaves it to the forest, which is
             asked alone for comparison
    pass 3   (--passes 3) one wording of each in a session that changes something, so that it
             becomes an alias; then the other wording is asked as in pass 2

--hold-back SHARE leaves out that share of the questions in pass 1: an answer of the map to their
other wordings is wrong unless it is the same symbol. Unrelated are those of the labelled sets of
the map and, with several repositories, `foreign` ones: about others that the manifest does not say
to be `about` the same, and whose symbol this one does not have.
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import anyio
from mcp import Client

from benchmarks.labels import HERE, OWN_MANIFEST, Repository, manifest_of, repositories
from benchmarks.map_labels import FOLDER, labels_from
from benchmarks.replay_plot import plot
from benchmarks.replay_sessions import NOTHING, Agent, Lesson, Need
from benchmarks.replay_tables import ReplayedQuestion, show
from code_intel.cli.setup.init import apply, setup
from code_intel.config import Settings, load_settings
from code_intel.learned.recall.recall import fold
from code_intel.servers.gateway import build_gateway
from code_intel.tools.context.corpus_service import open_project

OWN = HERE / "data" / "replay_own.jsonl"
LANGUAGES = ("en", "ja")


class Question(NamedTuple):
    """One question of a shuffled pass; without a need it is unrelated."""

    kind: str
    language: str
    query: str
    need: Need | None = None


def needs_of(corpus: Repository) -> list[Need]:
    """Return the labelled questions of a repository, its files named as its index names them."""
    before = f"{corpus.prefix}/" if corpus.prefix else ""
    return [
        Need(
            str(row["id"]),
            row["query"],
            row["nl_term"],
            row["symbol"],
            row["file"].removeprefix(before),
            tuple(path.removeprefix(before) for path in row["relevant"]),
            row["evidence"],
            row["again"],
        )
        for row in corpus.questions
    ]


def apart(name: str, names: Iterable[str], manifest: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the repositories that the manifest does not say to be `about` the same as this one."""
    about = {each: manifest[each].get("about", each) for each in names}
    return [each for each in names if about[each] != about[name]]


def make(folder: Path, root: Path, cache: Path) -> Settings:
    """Copy `folder` to `root`, set it up in git, index words and vectors; return its settings."""
    shutil.copytree(folder, root, ignore=shutil.ignore_patterns("__pycache__", ".git"))
    apply(setup(root))
    git = ["git", "-C", str(root), "-c", "user.name=B", "-c", "user.email=b@example.invalid"]
    for arguments in (["init", "-qb", "main"], ["add", "-A"], ["commit", "-qm", "All of it"]):
        subprocess.run([*git, *arguments], check=True)
    # The sessions list what they found, without quotes.
    settings = replace(
        load_settings(root), cache_dir=cache, state_dir=cache / "state", demands="counts"
    )
    settings.agreements.mkdir(parents=True, exist_ok=True)
    for service in open_project(settings):
        service.index.complete(progress=lambda done, total: _say(f"{root.name} {done}/{total}"))
        service.index.close()
    return settings


@asynccontextmanager
async def connected(settings: Settings) -> AsyncIterator[Agent]:
    """Connect an agent to the gateway of a project."""
    async with Client(build_gateway(settings), mode="legacy") as client:
        yield Agent(client, settings.root)


def again(
    needs: Iterable[Need], languages: Sequence[str] = LANGUAGES, kind: str = "again"
) -> list[Question]:
    """Return the other wordings of some needs, without those in the same words."""
    return [
        Question(kind, each, need.again[each], need)
        for need in needs
        for each in languages
        if fold(need.again[each]) not in {fold(need.query), fold(need.nl_term)}
    ]


async def unrelated(
    agent: Agent, others: Sequence[Need], count: int, draw: random.Random
) -> list[Question]:
    """Return questions about nothing here and about other repositories, so many of each at most."""
    labels = labels_from(FOLDER)
    kinds = zip(labels.queries, labels.kinds, strict=True)
    general = sorted({query for query, kind in kinds if kind == "unrelated"})
    found = [
        Question("unrelated", "", query) for query in draw.sample(general, min(count, len(general)))
    ]
    foreign: list[Question] = []
    for need in draw.sample(others, len(others)):
        if len(foreign) < count and not await _defined(agent, need.symbol):
            foreign += [each._replace(need=None) for each in again([need], kind="foreign")]
    return found + foreign[:count]


async def _defined(agent: Agent, symbol: str) -> bool:
    name = symbol.rpartition(".")[2]
    answer = await agent.call("find_definitions", symbol=name, exact_match=True)
    return bool(answer.get("definitions"))


async def teach(
    agent: Agent, needs: Sequence[Need], words: Mapping[str, tuple[str, str]]
) -> list[Lesson]:
    """Work on every need; `words` are query and target feature by id."""
    lessons = []
    for at, need in enumerate(needs, 1):
        lessons.append(await agent.work(need, *words[need.id]))
        _say(f"{agent.root.name} taught {at}/{len(needs)}")
    return lessons


async def asked(
    agent: Agent, questions: Sequence[Question], turn: int, intent: str, draw: random.Random
) -> list[ReplayedQuestion]:
    """Ask questions in a shuffled order.

    Ask the forest alone before or after, by lot, so that neither is warmer.
    """
    rows = []
    for at, each in enumerate(draw.sample(questions, len(questions)), 1):
        first = draw.random() < 0.5
        alone = (NOTHING, NOTHING)
        if each.need and first:
            alone = await agent.alone(each.query, intent, each.need)
        reply = await agent.ask(each.query, intent, each.need)
        if each.need and not first:
            alone = await agent.alone(each.query, intent, each.need)
        name, symbol = (each.need.id, each.need.symbol) if each.need else ("", "")
        who = (agent.root.name, turn, each.kind, name, each.language, each.query, symbol)
        rows.append(ReplayedQuestion(*who, reply, *alone))
        _say(f"{agent.root.name} asked {at}/{len(questions)}")
    return rows


async def play(
    settings: Settings, needs: Sequence[Need], others: Sequence[Need], args: argparse.Namespace
) -> tuple[list[Lesson], list[ReplayedQuestion]]:
    """Play all passes in one project."""
    draw = random.Random(args.seed)
    held = draw.sample(needs, round(args.hold_back * len(needs)))
    worked = [need for need in needs if need not in held]
    kept = again(held, kind="held back")
    async with connected(settings) as agent:
        words = {need.id: (need.query, need.nl_term) for need in worked}
        lessons = await teach(agent, worked, words)
        more = await unrelated(agent, others, args.unrelated, draw)
        middle = len(more) if args.passes < 3 else len(more) // 2
        draw.shuffle(more)
        asking = [*again(worked), *kept, *more[:middle]]
        rows = await asked(agent, asking, 2, args.intent, draw)
        if args.passes > 2:
            one = {need.id: draw.choice(LANGUAGES) for need in worked}
            words = {need.id: (need.again[one[need.id]],) * 2 for need in worked}
            later = await teach(agent, worked, words)
            rest = [
                question
                for need in worked
                for question in again([need], [each for each in LANGUAGES if each != one[need.id]])
            ]
            rows += await asked(agent, [*rest, *more[middle:]], 3, args.intent, draw)
            lessons += [each._replace(turn=3) for each in later]
    return lessons, rows


def _say(text: str) -> None:
    sys.stderr.write(f"\r\033[K{text}")


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the arguments, by default of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=OWN, help="JSONL; by default about us")
    parser.add_argument(
        "--manifest", type=Path, help="by default DATA.manifest.json, beside --data"
    )
    parser.add_argument("--sources", type=Path, help="the folder of the repositories")
    parser.add_argument("--repo", action="append", help="only this repository; may be repeated")
    parser.add_argument("--passes", type=int, choices=[2, 3], default=2)
    parser.add_argument(
        "--intent",
        choices=["INVESTIGATE", "MODIFY"],
        default="INVESTIGATE",
        help="of passes 2 and 3; MODIFY frames the whole wording as target feature",
    )
    parser.add_argument(
        "--hold-back",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="of the questions, from pass 1",
    )
    parser.add_argument(
        "--unrelated", type=int, default=200, metavar="N", help="of each sort, a repository"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cache", type=Path, help="folder in which vectors are kept")
    parser.add_argument("--json", type=Path, help="also write everything here")
    parser.add_argument("--plot", type=Path, help="draw the sequence here, as SVG")
    args = parser.parse_args(arguments)
    if args.data != OWN and args.sources is None:
        parser.error("--sources is missing: the folder with the repositories that --data is about")
    args.manifest = args.manifest or (manifest_of(args.data) if args.sources else None)
    if args.manifest is not None and not args.manifest.is_file():
        parser.error(f"there is no {args.manifest}: --manifest says where it is")
    return args


def main() -> None:
    """Command line."""
    args = parsed()
    manifest = json.loads(args.manifest.read_text()) if args.manifest else OWN_MANIFEST
    corpora = repositories(args.data, manifest, args.sources, "root")
    needs = {corpus.name: needs_of(corpus) for corpus in corpora}
    lessons: dict[str, list[Lesson]] = {}
    rows: list[ReplayedQuestion] = []
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        for corpus in corpora:
            if args.repo and corpus.name not in args.repo:
                continue
            root = Path(scratch) / corpus.name
            settings = make(corpus.folder, root, args.cache or Path(scratch) / "cache")
            others = [need for name in apart(corpus.name, needs, manifest) for need in needs[name]]
            lessons[corpus.name], mine = anyio.run(play, settings, needs[corpus.name], others, args)
            rows += mine
    _say(f"{time.perf_counter() - started:.0f} s\n")
    report = show(lessons, rows, f"{args.data.name}, {args.intent}, seed {args.seed}")
    if args.json:
        args.json.write_text(json.dumps(report, ensure_ascii=False, indent=1), encoding="utf-8")
    if args.plot:
        args.plot.write_text(plot(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
