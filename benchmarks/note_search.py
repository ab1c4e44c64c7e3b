"""Measure how well questions find notes, and fit the constants of their score.

    python -m benchmarks.note_search [--set RECORDS QUESTIONS]... [--few N] [--fit]

Puts labelled questions to a map of the decision records of a folder, through the product's own
index and search. For each language it prints how many questions have a right note among those
shown, and how many questions that no note concerns show one; and, as the baseline, how many have a
right note among the three best by words alone and by vectors alone. The default set is this
repository's own.

    --set RECORDS QUESTIONS   a folder of records, and questions as JSON Lines with `language`,
                              `query` and `relevant` (file names; empty if no record concerns it)
    --few N                   the same questions to maps of N notes, as in a young project
    --fit                     also fit the constants on all sets, and print them
"""

import argparse
import json
import random
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from code_intel.config import load_settings
from code_intel.learned.fit.regression import newton
from code_intel.learned.notes.entries import NoteEntry
from code_intel.learned.notes.note_search import (
    MAX_SCORE,
    NoteIndex,
    note_index,
    searched_words,
    spread_of,
)
from code_intel.learned.recall.candidates import document_of
from code_intel.learned.recall.map_search import MAX_NOTES
from code_intel.learned.status.snapshot import SnapshotCache
from code_intel.tools.context.corpus_service import open_project

ROOT = Path(__file__).resolve().parent.parent
OWN = (ROOT / "docs" / "decisions", ROOT / "benchmarks" / "data" / "note_questions.jsonl")
FIRST = 3
RIDGE = 1e-4


class Question(NamedTuple):
    """A question with its vector, and the files of the notes that are relevant."""

    text: str
    language: str
    relevant: frozenset[str]
    vector: Any


class NoteMap(NamedTuple):
    """The notes of a set with their documents and vectors, and its questions."""

    entries: tuple[NoteEntry, ...]
    documents: dict[Path, str]
    vectors: tuple[list[str], Any]
    questions: list[Question]

    def index_for(self, question: Question, few: int) -> NoteIndex:
        """Return the index of all notes, or of a relevant one and others drawn at random."""
        chosen = list(self.entries)
        if few:
            draw = random.Random(question.text)
            right = [e for e in chosen if e.path.name in question.relevant][:1]
            others = [e for e in chosen if e.path.name not in question.relevant]
            chosen = right + draw.sample(others, min(few - len(right), len(others)))
        return note_index(chosen, self.documents, self.vectors)


def note_map(records: Path, questions: Path) -> NoteMap:
    """Index a copy of a folder of records, and embed the questions."""
    with TemporaryDirectory() as folder:
        root = Path(folder)
        shutil.copytree(records, root / "records")
        config = {"document_patterns": ["./.code-intel/agreements", "./records"], "chunk_size": 300}
        (root / "devrag-map.json").write_text(json.dumps(config), "utf-8")
        (root / ".code-intel" / "agreements").mkdir(parents=True)
        service, forest = open_project(load_settings(root))
        service.index.complete()
        store, embedder = service.index.store, service.embedder
        entries = SnapshotCache().snapshot(service.settings).notes
        ids, matrix = store.generations.all_vectors(embedder.identity)
        rows = store.chunk_rows(ids.tolist())
        documents = {entry.path: document_of(service.index, entry.path) for entry in entries}
        given = [json.loads(line) for line in questions.read_text("utf-8").splitlines()]
        vectors = [embedder.queries([row["query"]])[0] for row in given]
        for each in (service, forest):
            each.index.close()
    asked = [
        Question(row["query"], row["language"], frozenset(row["relevant"]), vector)
        for row, vector in zip(given, vectors, strict=True)
    ]
    return NoteMap(entries, documents, ([rows[i].path for i in ids.tolist()], matrix), asked)


def measured(notes: NoteMap, few: int, *, vectors: bool) -> Iterator[tuple[Question, list[bool]]]:
    """Yield each question, and for each note shown whether it is relevant."""
    for question in notes.questions:
        index = notes.index_for(question, few)
        found = index.search(question.text, question.vector if vectors else None)[:MAX_NOTES]
        yield question, [match.entry.path.name in question.relevant for match in found]


def best_of_each(notes: NoteMap, few: int) -> Iterator[tuple[str, list[bool]]]:
    """Yield the language of each question, and whether words, and vectors, put a note first."""
    for question in notes.questions:
        if not question.relevant:
            continue
        index = notes.index_for(question, few)
        weights = dict(enumerate(index.weights(searched_words(question.text))))
        cosines = index.cosines(question.vector)
        ranked = [sorted(v, key=v.__getitem__, reverse=True)[:FIRST] for v in (weights, cosines)]
        names = [[index.entries[at].path.name for at in best] for best in ranked]
        yield question.language, [not question.relevant.isdisjoint(best) for best in names]


def fitted(maps: Sequence[NoteMap], few: int) -> None:
    """Print the constants with and without vectors, from all notes and from `few` of them."""
    rows, truth = [], []
    for notes in maps:
        for number in (0, few):
            for question in notes.questions:
                index = notes.index_for(question, number)
                weights = index.weights(searched_words(question.text))
                cosines = index.cosines(question.vector)
                for at, entry in enumerate(index.entries):
                    rows.append((weights[at], spread_of(cosines, at), 1.0))
                    truth.append(float(entry.path.name in question.relevant))
    found, wanted = np.array(rows), np.array(truth)
    for name, columns in (("with vectors", [0, 1, 2]), ("words only", [0, 2])):
        beta = newton(found[:, columns], wanted, np.ones(len(wanted)), RIDGE)
        print(f"{name}: {', '.join(f'{value:.3f}' for value in beta)} (the constant is last)")


def share(values: Sequence[bool]) -> str:
    """Return the share of true values."""
    return f"{sum(values) / len(values):.2f}" if values else "–"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--set", nargs=2, type=Path, action="append", default=[])
    parser.add_argument("--few", type=int, default=8)
    parser.add_argument("--fit", action="store_true")
    args = parser.parse_args()
    maps = {str(records): note_map(records, given) for records, given in args.set or [OWN]}
    print(f"At most {MAX_NOTES} notes are shown; their scores are at most {MAX_SCORE:.2f}.")
    print("| records | notes | language | right shown | of words only | unrelated shown | of words"
          f" only | right in first {FIRST} by words | by vectors |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|")
    for name, notes in maps.items():
        for few in (0, args.few):
            every = {v: list(measured(notes, few, vectors=v)) for v in (True, False)}
            first = list(best_of_each(notes, few))
            for language in sorted({question.language for question in notes.questions}):
                cells = [
                    share([
                        any(shown) if right else bool(shown)
                        for question, shown in every[vectors]
                        if question.language == language and bool(question.relevant) == right
                    ])
                    for right in (True, False)
                    for vectors in (True, False)
                ]  # fmt: skip
                alone = [
                    share([right[at] for spoken, right in first if spoken == language])
                    for at in (0, 1)
                ]
                size = few or len(notes.entries)
                print(f"| {Path(name).name} | {size} | {language} | {' | '.join(cells + alone)} |")
    if args.fit:
        fitted(list(maps.values()), args.few)


if __name__ == "__main__":
    main()
