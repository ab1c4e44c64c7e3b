r"""How soon an agent meets the file that matters: tokens of a bundle until the first relevant file.

    python -m benchmarks.token_efficiency [--vectors --cache DIR]
    python -m benchmarks.token_efficiency \
        --data FILE.jsonl --manifest FILE --sources DIR [--scope root|full]

Questions and corpora are those of `code_search.py`. Ours: the answer of the tool `context_bundle`
with its defaults, as JSON; a file counts from the end of its part of the answer. Beside it, in the
same run, is the way of agents without us: ripgrep for the words of the question, then reading the
files it names one after the other, whole, the best first, the listing for free. Tokens are
estimated as for answers: four ASCII characters, or one other character.
"""

import argparse
import asyncio
import json
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.labels import HERE, Repository, add_options, asked_about, checked, forest_config
from benchmarks.peers import by_words
from code_intel.config import Settings, load_settings
from code_intel.embedding.cache import VectorCache
from code_intel.embedding.lazy import LazyEmbedder
from code_intel.index.facade import Index
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.search.context_bundle import context_bundle
from code_intel.tools.wire.answers import tokens

MARKS = (250, 500, 1000, 2000, 4000)
NEVER = math.inf


class Answered(NamedTuple):
    """One question: tokens to the first relevant file (or never), all tokens, milliseconds."""

    repo: str
    category: str
    query: str
    until: float
    size: int
    milliseconds: float


def context_of(
    folder: Path, database: Path, settings: Settings, cache: VectorCache | None
) -> GatewayContext:
    """Return what the tool works with, its index complete; nothing is written into `folder`."""
    config = forest_config(folder, database.parent)
    here = replace(settings, root=folder, forest=config)
    embedder = LazyEmbedder(here, corpus="forest")
    index = Index(config, embedder=embedder, cache=cache)
    index.complete(words_only=settings.embedding == "off", progress=_progress)
    return GatewayContext(here, None, Index(here.map, readonly=True), index, embedder)


def ours(repo: str, corpus: Repository, context: GatewayContext) -> list[Answered]:
    """Ask the tool every question."""
    answers = []
    for question in corpus.questions:
        query = str(question["query"])
        started = time.perf_counter()
        data = asyncio.run(context_bundle(context, query)).data
        took = 1000 * (time.perf_counter() - started)
        wanted = _wanted(corpus, question)
        text = json.dumps(data, ensure_ascii=False)
        until = next((_until(text, item) for item in _items(data) if _file(item) in wanted), NEVER)
        answers.append(Answered(repo, str(question["category"]), query, until, tokens(text), took))
    return answers


def reading(repo: str, corpus: Repository) -> list[Answered]:
    """Read whole files in the order of ripgrep's words."""
    answers = []
    for question, paths in zip(corpus.questions, by_words(corpus), strict=True):
        spent, until, wanted = 0, NEVER, _wanted(corpus, question)
        for path in paths:
            spent += tokens((corpus.folder / path).read_text("utf-8", errors="replace"))
            until = min(until, spent) if path in wanted else until
        answers.append(
            Answered(repo, str(question["category"]), str(question["query"]), until, spent, 0.0)
        )
    return answers


def _items(data: Mapping[str, Any]) -> list[object]:
    return [*data["files"], *data["further"]]


def _file(item: Any) -> str:
    if not isinstance(item, str):
        return str(item["file"])
    place = item.split("  ", 1)[0]
    return place.rpartition(":")[0] or place


def _until(text: str, item: object) -> int:
    """Return how many tokens an answer has up to the end of one of its items."""
    said = json.dumps(item, ensure_ascii=False)
    return tokens(text[: text.index(said) + len(said)])


def _wanted(corpus: Repository, question: Mapping[str, Any]) -> set[str]:
    """Return the relevant files as the index names them."""
    before = f"{corpus.prefix}/" if corpus.prefix else ""
    return {str(target["path"]).removeprefix(before) for target in question["relevant"]}


def show(answers: Mapping[str, Sequence[Answered]], label: str) -> dict[str, Any]:
    """Print the table and return what it says."""
    print(f"# {label}")
    print(
        f"{'within tokens':<28}"
        + "".join(f"{mark:>8}" for mark in MARKS)
        + f"{'mean size':>11}{'p50 ms':>8}"
    )
    result: dict[str, Any] = {"label": label}
    for name, mine in answers.items():
        for category in ("", *sorted({each.category for each in mine})):
            rows = [each for each in mine if category in {"", each.category}]
            shares = {mark: sum(each.until <= mark for each in rows) / len(rows) for mark in MARKS}
            size = statistics.fmean(each.size for each in rows)
            median = statistics.median(each.milliseconds for each in rows)
            title = f"  {category} ({len(rows)})" if category else f"{name} ({len(rows)})"
            print(
                f"{title:<28}"
                + "".join(f"{share:>8.3f}" for share in shares.values())
                + f"{size:>11.0f}{median:>8.1f}"
            )
            key = f"{name} {category}".strip()
            result[key] = {"n": len(rows), "within": shares, "mean_size": size, "p50_ms": median}
    result["questions"] = [
        {"who": name} | each._asdict() | {"until": None if each.until == NEVER else each.until}
        for name, mine in answers.items()
        for each in mine
    ]
    return result


def _progress(done: int, total: int) -> None:
    sys.stderr.write(f"\r{done}/{total}   ")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_options(parser)
    args = checked(parser, parser.parse_args())
    settings = load_settings(HERE.parent)
    settings = settings if args.vectors else replace(settings, embedding="off")
    cache = VectorCache(args.cache) if args.vectors and args.cache else None
    answers: dict[str, list[Answered]] = {"context_bundle": [], "ripgrep, then reading": []}
    for corpus in asked_about(args):
        with tempfile.TemporaryDirectory() as scratch:
            context = context_of(corpus.folder, Path(scratch) / "forest.db", settings, cache)
            answers["context_bundle"] += ours(corpus.name, corpus, context)
            context.forest.close()
        answers["ripgrep, then reading"] += reading(corpus.name, corpus)
    how = "words and vectors" if args.vectors else "words only"
    result = show(answers, f"{args.data.name}, scope {args.scope}, {how}")
    if args.json:
        args.json.write_text(json.dumps(result, ensure_ascii=False, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
