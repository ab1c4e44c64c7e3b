"""Find files by sentences of their own documentation, in a whole index and in a folder of it.

    python -m benchmarks.known_items --project FOLDER [--questions 160] [--depth 3]

The project must have an index, such as one that `growth.py --keep` made. A question is a sentence
from the documentation of a symbol, with half of its words, in random order; its answer is the file.
The search has no vectors. The floor is off, except in the rows `floor`.

all words        the whole index, exactly; the peer of `rare first`
rare first       the same as the product asks (docs/decisions/0107)
folder, after    with a filter on the first folders of the path: the best 4,096 chunks of all, then
                 the filter; the peer of `folder`
folder           the same as the product asks (docs/decisions/0108)
floor            as `folder` and its peer, with the floor
other folder     the same for the folder of another question, where a good search returns nothing
"""

import argparse
import random
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from code_intel.config import load_settings
from code_intel.forest.ranking.search import search, search_words
from code_intel.index.searching import narrowed, word_search
from code_intel.index.store import Store

SEED = 3
FETCHED = 400
"""Chunks that are read at once."""
WORDS = range(6, 31)
"""How long a sentence may be."""
TOP_K = 10
SHIFT = 7
"""From whose folder a question gets one that is not its own."""


class Question(NamedTuple):
    """A question, the file that answers it, and a folder."""

    text: str
    path: str
    folder: str


class Result(NamedTuple):
    """What the search for one question gave."""

    rank: int
    hits: int
    seconds: float


def questions(store: Store, wanted: int, depth: int) -> list[Question]:
    """Return questions from the cards of chunks; the same index gives the same ones."""
    dice = random.Random(SEED)
    ids = [chunk for chunk, _, _ in store.cards()]
    dice.shuffle(ids)
    found: list[Question] = []
    for start in range(0, len(ids), FETCHED):
        for row in store.chunk_rows(ids[start : start + FETCHED]).values():
            sentences = row.card.split(". ")
            words = sentences[-2].split() if len(sentences) > 2 else []
            folder = "/".join(row.path.split("/")[:-1][:depth])
            if len(words) in WORDS and folder and not row.path.endswith((".md", ".rst")):
                dice.shuffle(words)
                text = " ".join(words[: max(3, len(words) // 2)])
                found.append(Question(text, row.path, folder))
        if len(found) >= wanted:
            break
    return found[:wanted]


def ask(store: Store, asked: Question, *, filtered: bool, floor: bool) -> Result:
    """Search for one question."""
    folder = asked.folder if filtered else ""
    started = time.perf_counter()
    words = search_words(store, asked.text, folder)
    hits = search(store, asked.text, None, top_k=TOP_K, directory=folder, floor=floor, words=words)
    paths = [hit.document for hit in hits]
    rank = paths.index(asked.path) + 1 if asked.path in paths else 0
    return Result(rank, len(hits), time.perf_counter() - started)


class Row(NamedTuple):
    """A way to search: a constant of the product and its value, and what the questions have."""

    name: str
    module: ModuleType
    constant: str
    value: int
    filtered: bool = False
    floor: bool = False
    elsewhere: bool = False


def rows() -> list[Row]:
    """Return the rows of the table, each peer before what the product does."""
    after = (narrowed, "MAX_CHUNKS", -1)
    alone = (narrowed, "MAX_CHUNKS", narrowed.MAX_CHUNKS)
    return [
        Row("all words", word_search, "MAX_PAIRS", 1 << 40),
        Row("rare first", word_search, "MAX_PAIRS", word_search.MAX_PAIRS),
        Row("folder, after", *after, filtered=True),
        Row("folder", *alone, filtered=True),
        Row("floor, after", *after, filtered=True, floor=True),
        Row("floor", *alone, filtered=True, floor=True),
        Row("other folder, after", *after, filtered=True, floor=True, elsewhere=True),
        Row("other folder", *alone, filtered=True, floor=True, elsewhere=True),
    ]


def measure(database: Path, row: Row, asked: Sequence[Question]) -> list[Result]:
    """Ask all questions in one way, the first one twice: it also builds the import graph."""
    if row.elsewhere:
        folders = [each.folder for each in asked]
        others = [*folders[SHIFT:], *folders[:SHIFT]]
        asked = [each._replace(folder=folder) for each, folder in zip(asked, others, strict=True)]
    setattr(row.module, row.constant, row.value)
    with Store.open(database, readonly=True) as store:
        found = [
            ask(store, each, filtered=row.filtered, floor=row.floor) for each in (asked[0], *asked)
        ]
    return found[1:]


def show(row: Row, found: Sequence[Result]) -> None:
    """Print one row."""
    mean = statistics.mean(1 / each.rank if each.rank else 0.0 for each in found)
    times = sorted(1000 * each.seconds for each in found)
    print(
        f"{row.name:<20}{mean:>8.3f}{sum(each.rank > 0 for each in found):>8}"
        f"{sum(not each.hits for each in found):>10}{statistics.median(times):>9.0f}"
        f"{times[int(0.95 * len(times))]:>9.0f}",
        flush=True,
    )


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--project", type=Path, required=True, help="a project with an index")
    parser.add_argument("--questions", type=int, default=160)
    parser.add_argument("--depth", type=int, default=3, help="folders of the path in the filter")
    args = parser.parse_args()
    database = load_settings(args.project).forest.db_path
    with Store.open(database, readonly=True) as store:
        asked = questions(store, args.questions, args.depth)
        print(f"{len(asked)} questions, {store.document_count():,} files, folders: {args.depth}")
    print(f"{'':<20}{'MRR':>8}{'found':>8}{'no hits':>10}{'p50 ms':>9}{'p95 ms':>9}")
    for row in rows():
        show(row, measure(database, row, asked))


if __name__ == "__main__":
    main()
