"""Measure a warm question to a map of 10,000 agreements over stdio, beside an SDK echo tool.

    python -m benchmarks.map_scale [--agreements 10000] [--rounds 40] [--json OUT]

The agreements are those of the labelled set, each repeated for many parts of one invented business.
Their symbols are defined in generated source; all are committed and confirmed. The real model
embeds a few hundred cards. The vectors of the others are seeded perturbations of those, since
embedding 10,000 takes ten minutes; so times and memory are real and scores are not. The real model
embeds the questions, each asked once. Each round asks every server in turn. The result is how far
the median lies above the echo's, against a plain stat of every file.

`known` are terms of agreements, which the map answers. `other` are labelled questions about nothing
in this project: then search_smart asks the forest, too. The other table shows the time of the parts
of a question in this process. Memory is the gateway's proportional set size (/proc, Linux), with
agreements and without.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.latency import BIN, ECHO, SETTLE, WARM, Client, build
from benchmarks.map_labels import DATA, labels_from
from benchmarks.memory import pss
from code_intel.chunking.agreement import card, file_name, render
from code_intel.chunking.words import query_words
from code_intel.config import Settings, load_settings
from code_intel.embedding.lazy import LazyEmbedder
from code_intel.index.facade import Index
from code_intel.learned.files.stat_cache import link_stat, markdown_files
from code_intel.learned.recall.candidates import MAX_CANDIDATES
from code_intel.learned.recall.recall import recall
from code_intel.records import Agreement, FileReference
from code_intel.tools.context.corpus_service import open_project

REAL = 280
"""Cards that the real model embeds."""
SPREAD = 0.25
"""Length of the change added to a unit vector: cards of one feature in two parts are so near."""
PLACES = (
    *("Berlin", "Osaka", "Nairobi", "Lima", "Oslo", "Cairo", "Hanoi", "Porto", "Delhi", "Tokyo"),
    *("Madrid", "Seoul", "Quebec", "Denver"),
)
PARTS = (
    *("Retail", "Export", "Rental", "Returns", "Clinic", "Harbour", "Museum", "School"),
    *("Theatre", "Bakery", "Garage", "Library", "Farm", "Hotel"),
)


def business(count: int) -> list[Agreement]:
    """Return so many agreements; repeat the labelled ones, each time about another part."""
    labelled = labels_from(DATA).agreements
    everything = (
        _part_of(each, place, part) for place, part in product(PLACES, PARTS) for each in labelled
    )
    found = list(islice(everything, count))
    assert len(found) == count, f"there are {len(found):,} agreements at the most"
    return found


def _part_of(labelled: Agreement, place: str, part: str) -> Agreement:
    method = labelled.symbol.removesuffix("()").translate(str.maketrans(".:#", "___"))
    return replace(
        labelled,
        nl_term=f"{place} {part} {labelled.nl_term}",
        symbol=f"{place}{part}.{method}",
        files=(FileReference(f"src/{place}/{part}.py".lower()),),
        learned_at="2026-01-01T00:00:00+00:00",
        confirmed=True,
    )


def source(folder: Path, agreements: Sequence[Agreement]) -> None:
    """Write code that defines their symbols."""
    classes: dict[str, list[str]] = {}
    for each in agreements:
        name, _, method = each.symbol.partition(".")
        classes.setdefault(each.files[0].path, [f"class {name}:"]).append(
            f"    def {method}(self, item):\n"
            f'        """{each.evidence[0]}"""\n'
            "        return item\n"
        )
    for path, lines in classes.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("\n".join(lines), encoding="utf-8")


def agree(settings: Settings, agreements: Sequence[Agreement]) -> None:
    """Write the agreements as a team has merged them, for the symbols as they are now."""
    settings.agreements.mkdir(parents=True, exist_ok=True)
    with Index(settings.forest, readonly=True) as forest:
        files = sorted({each.files[0].path for each in agreements})
        digests = {d.qualified: d.digest for d in forest.store.defined_in(files)}
    for each in agreements:
        text = render(replace(each, digest=digests[each.symbol]))
        name = file_name(each.nl_term, each.symbol)
        (settings.agreements / name).write_text(text, encoding="utf-8")


def vectors(
    agreements: Sequence[Agreement], embedder: LazyEmbedder
) -> dict[str, NDArray[np.float32]]:
    """Return a vector a card: real ones, and near the real one of the same feature all others."""
    features = len(labels_from(DATA).agreements)
    cards = [card(each) for each in agreements]
    real = embedder.passages(cards[:REAL])
    found = dict(zip(cards, real, strict=False))
    draw = np.random.default_rng(1)
    for at, text in enumerate(cards[REAL:], REAL):
        near = real[at % features % len(real)]
        moved = near + SPREAD * _unit(draw.normal(size=near.shape))
        found[text] = _unit(moved).astype(np.float32)
    return found


def _unit(vector: NDArray[np.floating]) -> NDArray[np.floating]:
    return vector / np.linalg.norm(vector)


def index_map(settings: Settings, agreements: Sequence[Agreement]) -> None:
    """Index the agreements, words and vectors, and bring the learned pairs in line."""
    embedder = LazyEmbedder(settings, corpus="map")
    made = vectors(agreements, embedder)
    with Index(settings.map, embedder=embedder) as index:
        index.complete(words_only=True)
        generations = index.store.generations
        generation = generations.begin(embedder.identity, embedder.dimensions)
        waiting = generations.pending(generation, len(agreements))
        generations.put(generation, [(chunk, made[text]) for chunk, text in waiting])
        assert not index.store.pending_count()


def parts(settings: Settings, questions: Sequence[str]) -> dict[str, float]:
    """Return the median milliseconds of each part of a question to the map, in this process."""
    service, forest = open_project(settings)
    service.embedder.is_long_lived = True
    times: dict[str, list[float]] = {}

    def timed(name: str, work: Callable[..., Any], *arguments: Any) -> Any:
        started = time.perf_counter()
        result = work(*arguments)
        times.setdefault(name, []).append(1000 * (time.perf_counter() - started))
        return result

    for turn, question in enumerate(questions):
        if turn == WARM:
            times.clear()
        asked = timed("question embedded", service.question, question)
        timed("plain stat of every file", stat_all, str(settings.agreements))
        known = timed("snapshot", service.cache.snapshot, settings)
        index = timed("card index", service.cache.cards, service.index, known, asked.identity)
        words = query_words(question)
        spoken = timed("words", service.index.store.word_hits, words, "body", MAX_CANDIDATES)
        rows = service.index.store.chunk_rows([chunk for chunk, _ in spoken])
        names = [row.path for row in rows.values()]
        places = timed("candidates", index.candidates, question, asked.vector, names)
        cards = [index.cards[place] for place in places]
        timed("evidence of those", recall, question, asked.vector, cards, asked.identity)
        timed("service, all of it", service.search, question, 10)
    for each in (service, forest):
        each.index.close()
    return {name: statistics.median(values) for name, values in times.items()}


def stat_all(folder: str) -> None:
    """Do the least that finds out whether a file has changed."""
    for name in markdown_files(folder):
        link_stat(name)


def make(folder: Path, count: int) -> tuple[Settings, list[Agreement]]:
    """Set up the project: its source indexed, its agreements committed and indexed."""
    folder.mkdir()
    agreements = business(count)
    source(folder, agreements or business(56))
    git = ["git", "-C", str(folder), "-c", "user.name=B", "-c", "user.email=b@example.invalid"]
    subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
    subprocess.run([BIN / "code-intel", "init", folder], check=True, stdout=subprocess.DEVNULL)
    settings = load_settings(folder)
    build(settings, None)
    agree(settings, agreements)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "All of it"], check=True)
    if agreements:
        index_map(settings, agreements)
    return settings, agreements


def asked(agreements: Sequence[Agreement], rounds: int) -> dict[str, list[str]]:
    """Return the questions of each kind, each once."""
    labels = labels_from(DATA)
    other = [q for q, place in zip(labels.queries, labels.expected, strict=True) if place < 0]
    step = max(1, len(agreements) // (3 * rounds))
    known = iter([each.nl_term for each in agreements[::step]])
    return {
        "search_map, known": list(islice(known, rounds)),
        "search_smart, known": list(islice(known, rounds)),
        "search_map, other": other[:rounds],
        "search_smart, other": other[rounds : 2 * rounds],
    }


def race(
    folder: Path, agreements: Sequence[Agreement], rounds: int
) -> tuple[dict[str, list[float]], dict[str, float]]:
    """Return the milliseconds of each kind of question over stdio, and the gateway's MB."""
    questions = asked(agreements, rounds)
    times: dict[str, list[float]] = {name: [] for name in ("bare SDK, echo", *questions)}
    with ExitStack() as stack:
        echo = stack.enter_context(Client([sys.executable, "-c", ECHO], folder))
        gateway = stack.enter_context(Client([str(BIN / "code-intel"), "serve"], folder))
        memory = {"connected": pss(gateway.pid)}
        for turn, label in enumerate(labels_from(DATA).queries[-WARM:]):
            if turn == WARM // 2:
                time.sleep(SETTLE)
            first, _ = (
                gateway.call(tool, {"query": label}) for tool in ("search_map", "search_smart")
            )
            if not turn:
                print(f"the first question of a server takes {first / 1000:.1f} s")
        for row in zip(*questions.values(), strict=True):
            times["bare SDK, echo"].append(echo.call("echo", {"text": row[0]}))
            for name, question in zip(questions, row, strict=True):
                took = gateway.call(name.partition(",")[0], {"query": question})
                times[name].append(took)
        memory["after questions"] = pss(gateway.pid)
    return times, memory


def main() -> None:
    """Run the rounds and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--agreements", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument(
        "--keep", type=Path, help="make the project here, or take the one that is here"
    )
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.keep or Path(scratch) / "business"
        if folder.exists():
            settings, agreements = load_settings(folder), business(args.agreements)
        else:
            settings, agreements = make(folder, args.agreements)
        times, memory = race(folder, agreements, args.rounds)
        spent = parts(settings, asked(agreements, args.rounds)["search_map, known"])
    show(args.agreements, times, memory, spent)
    if args.json:
        report = {
            "agreements": args.agreements,
            "milliseconds": times,
            "MB": memory,
            "parts": spent,
        }
        args.json.write_text(json.dumps(report, indent=1), encoding="utf-8")


def show(
    count: int,
    times: Mapping[str, Sequence[float]],
    memory: Mapping[str, float],
    spent: Mapping[str, float],
) -> None:
    """Print the tables."""
    print(f"{count:,} agreements; milliseconds over stdio")
    print(f"{'':<28}{'p50':>8}{'p95':>8}{'above the echo':>16}")
    bare = statistics.median(times["bare SDK, echo"])
    for name, values in times.items():
        median = statistics.median(values)
        late = sorted(values)[int(0.95 * (len(values) - 1))]
        print(f"{name:<28}{median:>8.1f}{late:>8.1f}{median - bare:>16.1f}")
    print("\nthe gateway's PSS in MB: " + ", ".join(f"{k} {v:.0f}" for k, v in memory.items()))
    print("\nin one process, medians")
    for name, value in spent.items():
        print(f"{name:<28}{value:>8.2f}")


if __name__ == "__main__":
    main()
