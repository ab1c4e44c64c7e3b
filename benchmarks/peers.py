r"""The same questions for others and for us, side by side: NDCG@10 by repository, in one run.

    python -m benchmarks.peers --peers /path/to/peers/bin/python
    python -m benchmarks.peers --peers PYTHON \
        --data FILE.jsonl --manifest FILE --sources DIR [--scope full]

Questions, corpora and NDCG are those of `code_search.py`; our columns are its searches, over every
file. The others see source files alone, as semble does by default; otherwise data and prose would
hide them. ripgrep: files by how many different words of the question they have, then by how many
lines. bm25s: whole files, and windows of 50 lines. semble: all of it, with the vectors of the
`wordllama` wheel, since its own model lies on a hub. `peer_side.py` describes --peers. A missing
peer is left out and named.
"""

import argparse
import json
import statistics
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.code_search import measure
from benchmarks.indexing import Peers
from benchmarks.labels import HERE, Repository, add_options, asked_about, checked
from benchmarks.scoring import DEPTH, ndcg
from code_intel.chunking.languages import row_of
from code_intel.chunking.words import STOP_WORDS
from code_intel.config import load_settings
from code_intel.embedding.cache import VectorCache
from code_intel.embedding.lazy import LazyEmbedder
from code_intel.forest.text.grep import find_ripgrep

Found = Sequence[Sequence[str]]


def by_words(corpus: Repository) -> Found:
    """Ask ripgrep for each word alone; files with more of them come first."""
    return [_by_words(corpus.folder, query) for query in corpus.queries]


def _by_words(folder: Path, query: str) -> list[str]:
    distinct, lines = Counter[str](), Counter[str]()
    words = dict.fromkeys(word.strip("`'\"()?.,:;").lower() for word in query.split())
    for word in words:
        if not word or word in STOP_WORDS:
            continue
        rg = [find_ripgrep(), "--count", "--fixed-strings", "--ignore-case", "--no-config"]
        done = subprocess.run(
            [*rg, "-e", word, "--", "."],
            cwd=folder,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        for line in done.stdout.decode("utf-8", "replace").splitlines():
            path, _, count = line.rpartition(":")
            distinct[path.removeprefix("./")] += 1
            lines[path.removeprefix("./")] += int(count)
    ranked = sorted(filter(_is_code, distinct), key=lambda p: (-distinct[p], -lines[p], p))
    return ranked[:DEPTH]


def files_of(folder: Path) -> list[str]:
    """Return the source files that ripgrep would search."""
    listed = subprocess.run(
        [find_ripgrep(), "--files", "--no-config"], cwd=folder, capture_output=True, check=True
    )
    return sorted(filter(_is_code, listed.stdout.decode("utf-8", "replace").splitlines()))


def _is_code(path: str) -> bool:
    """Whether a file is source; answers of ripgrep and bm25s drown in data and prose otherwise."""
    return row_of(path).complete


def rivals(peers: Peers) -> dict[str, Callable[[Repository], Found]]:
    """Return who takes part beside us, and how they are asked."""

    def asked(peer: str) -> Callable[[Repository], Found]:
        def ask(corpus: Repository) -> Found:
            files = files_of(corpus.folder) if peer.startswith("bm25s") else []
            request = {"folder": str(corpus.folder), "queries": corpus.queries, "files": files}
            found: Found = peers.ask(peer=peer, **request)["found"]
            return found

        return ask

    there: dict[str, Callable[[Repository], Found]] = {"rg words": by_words}
    if peers.has("bm25s"):
        there |= {peer: asked(peer) for peer in ("bm25s file", "bm25s chunk")}
    if peers.has("semble", "wordllama"):
        there |= {"semble": asked("semble")}
    return there


def scores_of(corpus: Repository, found: Found) -> list[float]:
    """Return NDCG@10 of each question, the files found being named as labels name them."""
    before = f"{corpus.prefix}/" if corpus.prefix else ""
    return [
        ndcg([before + path for path in paths], [target["path"] for target in question["relevant"]])
        for question, paths in zip(corpus.questions, found, strict=True)
    ]


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peers", type=Path, help="interpreter in which the peers are")
    add_options(parser)
    args = checked(parser, parser.parse_args())
    table: dict[str, dict[str, list[float]]] = defaultdict(dict)
    with ExitStack() as stack:
        peers = stack.enter_context(Peers(args.peers))
        there = rivals(peers)
        for corpus in asked_about(args):
            for name, ask in there.items():
                table[corpus.name][name] = scores_of(corpus, ask(corpus))
            table[corpus.name] |= ours(corpus, args)
            print(f"{time.strftime('%H:%M:%S')} {corpus.name}", flush=True)
    report = show(table, f"{args.data.name}, scope {args.scope}")
    if args.json:
        args.json.write_text(json.dumps({"peers": peers.versions, **report}, indent=1))


def ours(corpus: Repository, args: argparse.Namespace) -> dict[str, list[float]]:
    """Return the scores of the product's own search, without and with vectors."""
    place = (corpus.name, corpus.folder, corpus.prefix, corpus.questions)
    _, words = measure(*place, None, None)
    columns = {"ours, words": [score.ndcg for score in words]}
    if args.vectors:
        embedder = LazyEmbedder(load_settings(HERE.parent), corpus="forest")
        cache = VectorCache(args.cache) if args.cache else None
        _, both = measure(*place, embedder, cache)
        columns["ours"] = [score.ndcg for score in both]
    return columns


def show(table: Mapping[str, Mapping[str, Sequence[float]]], label: str) -> dict[str, Any]:
    """Print one row a repository, and return the same."""
    names = list(next(iter(table.values())))
    print(f"# {label}, NDCG@10")
    print(f"{'repository':<14}{'n':>5}" + "".join(f"{name:>13}" for name in names))
    rows = {
        repo: {name: statistics.fmean(row[name]) for name in names} for repo, row in table.items()
    }
    every = {name: [score for row in table.values() for score in row[name]] for name in names}
    rows["ALL"] = {name: statistics.fmean(values) for name, values in every.items()}
    for repo, row in rows.items():
        count = len(table[repo][names[0]]) if repo in table else len(every[names[0]])
        print(f"{repo:<14}{count:>5}" + "".join(f"{row[name]:>13.3f}" for name in names))
    return {
        "label": label,
        "ndcg10": rows,
        "questions": {repo: dict(row) for repo, row in table.items()},
    }


if __name__ == "__main__":
    main()
