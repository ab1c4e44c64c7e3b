"""Compare a choice from the list of commands with the first results of the ranking.

    python -m benchmarks.command_choice [--cache VECTORS] [--data DIR]

A language model read the list as the tool `list` shows it, and the questions in a shuffled order
without their labels. It chose one command for each question, or none. `chosen.jsonl` of a set has
one line per question that it was asked: {"id", "chosen": [c1, c2, c3] or null}. Its choices are
compared with the ranking on the same questions, in pairs.
"""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmarks.command_search import (
    HERE,
    LANGUAGES,
    MEASURES,
    Name,
    Set,
    arguments,
    prepared,
)
from benchmarks.scoring import bootstrap
from code_intel.records import FAIR_SCORE
from code_intel.registry.finding import find
from code_intel.registry.meaning import CommandVectors

SETS = tuple(HERE / "data" / "commands" / name for name in ("mixed", "heldout"))


def choices(folder: Path) -> Mapping[str, Name | None]:
    """Read the choices of a set by the id of the question."""
    lines = (folder / "chosen.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return {row["id"]: tuple(row["chosen"]) if row["chosen"] else None for row in rows}


def compare(of: Set, chosen: Mapping[str, Name | None], meanings: CommandVectors) -> None:
    """Print recall@1 of the choice and of the ranking, and what unanswerable questions get."""
    recall = MEASURES["recall@1"]
    for language, spoken in LANGUAGES.items():
        asked = [q for q in of.queries if q.id in chosen and language in {"", q.language}]
        found = {q.id: find(of.loaded, [q.query], command_vectors=meanings).results for q in asked}
        answered = [q for q in asked if q.relevant]
        by_list = [recall([c] if (c := chosen[q.id]) else [], q.relevant) for q in answered]
        ranked = [recall([r.command.key[1:] for r in found[q.id]], q.relevant) for q in answered]
        gain = bootstrap([[a - b] for a, b in zip(by_list, ranked, strict=True)])
        print(
            f"{of.name}, {spoken}: {len(answered)} questions, recall@1 of the choice "
            f"{np.mean(by_list):.3f}, of the ranking {np.mean(ranked):.3f}, "
            f"gain {gain.mean:+.3f} [{gain.low:.3f}, {gain.high:.3f}]"
        )
        others = [q for q in asked if not q.relevant]
        wrong = sum(chosen[q.id] is not None for q in others)
        fair = sum(any(r.score >= FAIR_SCORE for r in found[q.id]) for q in others)
        print(
            f"  {len(others)} without an answer: the choice names {wrong} commands, "
            f"the ranking {fair} with a score of at least {FAIR_SCORE}"
        )


def main() -> None:
    """Command line."""
    args = arguments(__doc__)
    args.data = args.data or [*SETS]
    with prepared(args) as (sets, meanings):
        for each, folder in zip(sets, args.data, strict=True):
            compare(each, choices(folder), meanings)


if __name__ == "__main__":
    main()
