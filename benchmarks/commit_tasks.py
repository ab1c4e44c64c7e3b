r"""Measure search on real tasks: from a commit's message to the source files that it changed.

    python -m benchmarks.commit_tasks --data FILE.jsonl --sources DIR [--manifest FILE] \
        [--peers /path/to/peers/bin/python] [--vectors --cache DIR] [--json OUT]

`agent_tasks.py` describes the data; DIR has one git work tree for each repository, at the commit
before its tasks. Everyone gets the same message. NDCG@10 and recall@5 are of the files; `function`
is the share of the tasks with a changed function that overlaps one of the first ten places.

ripgrep, bm25s and semble see source files only, as in `peers.py`. `bm25s paths` also leaves out
tests, examples, documentation and built files, by our own rules. Our own columns search everything:
with words only and with vectors, each without and with earlier commits. The last table compares our
columns with the best peer, task by task, with 95 % bootstrap intervals.
"""

import argparse
import json
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.agent_tasks import places_of as changed_places
from benchmarks.agent_tasks import tasks_from
from benchmarks.indexing import Peers
from benchmarks.labels import HERE, Repository, add_options, asked_about, checked, forest_config
from benchmarks.peers import by_words, files_of
from benchmarks.plausibility_cases import is_source, project_of
from benchmarks.scoring import DEPTH, bootstrap, ndcg
from code_intel.config import load_settings
from code_intel.embedding.cache import VectorCache
from code_intel.embedding.lazy import LazyEmbedder
from code_intel.forest.ranking.places import places_of
from code_intel.forest.ranking.question import embedded
from code_intel.forest.ranking.search import search
from code_intel.forest.ranking.state import NO_SITUATION
from code_intel.index.facade import Index
from code_intel.records import Definition

PER_FILE = 3
RECALL = 5
OURS: Mapping[str, tuple[bool, frozenset[str]]] = {
    "words": (False, frozenset({"history"})),
    "words + history": (False, frozenset()),
    "vectors": (True, frozenset({"history"})),
    "vectors + history": (True, frozenset()),
}
"""Our columns: whether with vectors, and rows of the ranking to skip."""

Place = tuple[str, int, int]


class Found(NamedTuple):
    """What a task found: distinct files, best first, and the first places."""

    files: Sequence[str]
    places: Sequence[Place] = ()


class Measured(NamedTuple):
    """Figures of one task; `function` is None if none is known, or if there are no places."""

    ndcg: float
    recall: float
    function: float | None


def by_peers(peers: Peers, corpus: Repository) -> dict[str, list[Found]]:
    """Return what each peer finds, by name."""
    files = files_of(corpus.folder)
    asked = {"rg words": [Found(found) for found in by_words(corpus)]}
    bm25s = {"bm25s file": files, "bm25s chunk": files, "bm25s paths": [*filter(is_source, files)]}
    for name, seen in bm25s.items() if peers.has("bm25s") else ():
        peer = "bm25s chunk" if name == "bm25s paths" else name
        asked[name] = _ask(peers, corpus, peer, seen)
    if peers.has("semble", "wordllama"):
        asked["semble"] = _ask(peers, corpus, "semble", [])
    return asked


def _ask(peers: Peers, corpus: Repository, peer: str, files: Sequence[str]) -> list[Found]:
    folder = str(corpus.folder)
    answer = peers.ask(peer=peer, folder=folder, queries=corpus.queries, files=files)
    whole = peer == "bm25s file"
    return [
        Found(found, () if whole else [tuple(place) for place in places])
        for found, places in zip(answer["found"], answer["places"], strict=True)
    ]


def by_us(
    index: Index, corpus: Repository, embedder: LazyEmbedder | None
) -> dict[str, list[Found]]:
    """Return what our own search finds, by name of the column."""
    found: dict[str, list[Found]] = defaultdict(list)
    for query in corpus.queries:
        vector = embedded(embedder, query) if embedder else None
        for name, (vectors, without) in OURS.items():
            if vectors and vector is None:
                continue
            hits = search(
                index.store,
                query,
                vector if vectors else None,
                top_k=DEPTH,
                situation=NO_SITUATION,
                without=without,
            )
            places = places_of(index.store, query, hits, PER_FILE)[:DEPTH]
            found[name].append(
                Found(
                    [hit.document for hit in hits],
                    [(hit.document, hit.start_line, hit.end_line) for hit in places],
                )
            )
    return found


def measured(found: Found, wanted: Sequence[str], functions: Sequence[Definition]) -> Measured:
    """Return the figures of one task."""
    function = None
    if functions and found.places:
        function = float(any(_overlaps(place, d) for place in found.places for d in functions))
    first = found.files[:RECALL]
    return Measured(
        ndcg(found.files, wanted), sum(path in first for path in wanted) / len(wanted), function
    )


def _overlaps(place: Place, definition: Definition) -> bool:
    file, first, last = place
    return file == definition.file and first <= definition.end_line and definition.line <= last


def of_repository(
    corpus: Repository,
    peers: Peers,
    args: argparse.Namespace,
    embedder: LazyEmbedder | None,
) -> dict[str, list[Measured]]:
    """Return the figures of every column for the tasks of one repository."""
    cache = VectorCache(args.cache) if args.cache else None
    tasks = [task for task in tasks_from([args.data]) if task.repo == corpus.name]
    with tempfile.TemporaryDirectory() as scratch:
        index = Index(forest_config(corpus.folder, scratch), embedder=embedder, cache=cache)
        index.complete(words_only=embedder is None, progress=_progress(corpus.name))
        project = project_of(corpus.name, index.store)
        functions = [changed_places(project, task).functions for task in tasks]
        columns = by_peers(peers, corpus) | by_us(index, corpus, embedder)
        index.close()
    return {
        name: [
            measured(each, task.files, defined)
            for each, task, defined in zip(found, tasks, functions, strict=True)
        ]
        for name, found in columns.items()
    }


def _progress(name: str) -> Callable[[int, int], None]:
    return lambda done, total: print(f"\r{name}: {done}/{total}", end="", file=sys.stderr)


def show(table: Mapping[str, Mapping[str, Sequence[Measured]]]) -> dict[str, Any]:
    """Print the figures of each column, and the gains over the best peer; return the same."""
    names = list(next(iter(table.values())))
    every = {name: [m for row in table.values() for m in row[name]] for name in names}
    rows = {**table, "ALL": every}
    heads = "".join(f"{repo:>8}" for repo in rows)
    print(f"\n{'NDCG@10':<18}{heads}{'recall@5':>10}{'function':>10}")
    report = {name: _figures(name, rows) for name in names}
    for name, row in report.items():
        means = "".join(f"{value:8.3f}" for value in row["ndcg10"].values())
        function = "-" if row["function"] is None else f"{row['function']:.3f}"
        print(f"{name:<18}{means}{row['recall5']:10.3f}{function:>10}")
    rivals = [name for name in names if name not in OURS]
    best = max(rivals, key=lambda name: float(report[name]["ndcg10"]["ALL"]))
    print(f"\nNDCG@10 over {best}, the best peer")
    for name in (name for name in names if name in OURS):
        pairs = zip(every[name], every[best], strict=True)
        gain = bootstrap([[our.ndcg - theirs.ndcg] for our, theirs in pairs])
        report[name]["over_best"] = gain._asdict()
        print(f"{name:<18}{gain.mean:+8.3f} [{gain.low:+.3f}, {gain.high:+.3f}]")
    return {"columns": report, "best_peer": best}


def _figures(name: str, rows: Mapping[str, Mapping[str, Sequence[Measured]]]) -> dict[str, Any]:
    every = rows["ALL"][name]
    known = [m.function for m in every if m.function is not None]
    return {
        "ndcg10": {repo: statistics.fmean(m.ndcg for m in row[name]) for repo, row in rows.items()},
        "recall5": statistics.fmean(m.recall for m in every),
        "function": statistics.fmean(known) if known else None,
    }


def main(arguments: Iterable[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peers", type=Path, help="interpreter in which the peers are")
    add_options(parser)
    args = checked(parser, parser.parse_args(None if arguments is None else [*arguments]))
    if args.sources is None:
        parser.error("--sources is missing: the folder with the work trees")
    embedder = LazyEmbedder(load_settings(HERE.parent), corpus="forest") if args.vectors else None
    table: dict[str, dict[str, list[Measured]]] = {}
    with ExitStack() as stack:
        peers = stack.enter_context(Peers(args.peers))
        for corpus in asked_about(args):
            table[corpus.name] = of_repository(corpus, peers, args, embedder)
    report = show(table)
    if args.json:
        args.json.write_text(json.dumps({"peers": peers.versions, **report}, indent=1))


if __name__ == "__main__":
    main()
