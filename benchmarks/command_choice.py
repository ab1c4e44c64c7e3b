"""Compare a choice from the list of commands with the first result of the ranking.

    python -m benchmarks.command_choice [--cache VECTORS]

A language model read a list as the tool `list` shows it, and the questions in a shuffled order
without their labels. It chose one command for each question, or none. `chosen.jsonl` of a set has
one line per question that it was asked: {"id", "chosen": [c1, c2, c3] or null}. Its choices are
compared with the ranking on the same questions, in pairs. `terse` and `japanese` were one list, to
measure a longer one; a command of the other set counts as wrong there, even if it answers.
"""

import json
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.command_search import (
    HERE,
    LANGUAGES,
    MEASURES,
    Name,
    Set,
    arguments,
    meant,
    read,
)
from benchmarks.scoring import bootstrap
from code_intel.records import FAIR_SCORE
from code_intel.registry.finding import find
from code_intel.registry.loading import LoadedRegistry
from code_intel.registry.meaning import CommandVectors

DATA = HERE / "data" / "commands"
LISTS = (("mixed",), ("heldout",), ("terse", "japanese"))
"""The sets of each list."""


def choices(folder: Path) -> Mapping[str, Name | None]:
    """Read the choices of a set by the id of the question."""
    lines = (folder / "chosen.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return {row["id"]: tuple(row["chosen"]) if row["chosen"] else None for row in rows}


def joined(sets: Sequence[Set]) -> Set:
    """Return one set with the commands and the questions of several."""
    name = " and ".join(each.name for each in sets)
    commands = tuple(one for each in sets for one in each.loaded.registry.commands)
    registry = replace(sets[0].loaded.registry, commands=commands)
    queries = tuple(query for each in sets for query in each.queries)
    return Set(name, LoadedRegistry(registry), queries)


def compare(of: Set, chosen: Mapping[str, Name | None], meanings: CommandVectors) -> None:
    """Print recall@1 of the choice and of the ranking, and what unanswerable questions get."""
    recall = MEASURES["recall@1"]
    print(f"\n{of.name}: a list of {len(of.loaded.index.commands)} commands")
    for language, spoken in LANGUAGES.items():
        asked = [q for q in of.queries if q.id in chosen and language in {"", q.language}]
        found = {q.id: find(of.loaded, [q.query], command_vectors=meanings).results for q in asked}
        answered = [q for q in asked if q.relevant]
        by_list = [recall([c] if (c := chosen[q.id]) else [], q.relevant) for q in answered]
        ranked = [recall([r.command.key[1:] for r in found[q.id]], q.relevant) for q in answered]
        gain = bootstrap([[a - b] for a, b in zip(by_list, ranked, strict=True)])
        print(
            f"  {spoken}: {len(answered)} questions, recall@1 of the choice "
            f"{np.mean(by_list):.3f}, of the ranking {np.mean(ranked):.3f}, "
            f"gain {gain.mean:+.3f} [{gain.low:.3f}, {gain.high:.3f}]"
        )
        others = [q for q in asked if not q.relevant]
        wrong = sum(chosen[q.id] is not None for q in others)
        fair = sum(any(r.score >= FAIR_SCORE for r in found[q.id]) for q in others)
        print(
            f"    {len(others)} without an answer: the choice names {wrong} commands, "
            f"the ranking {fair} with a score of at least {FAIR_SCORE}"
        )


def main() -> None:
    """Command line."""
    args = arguments(__doc__)
    lists = [joined([read(DATA / name) for name in names]) for names in LISTS]
    with tempfile.TemporaryDirectory() as scratch:
        cache = args.cache or Path(scratch)
        meant(cache, lists).close()
        with closing(meant(cache, lists)) as meanings:
            for each, names in zip(lists, LISTS, strict=True):
                chosen = {key: one for name in names for key, one in choices(DATA / name).items()}
                compare(each, chosen, meanings)


if __name__ == "__main__":
    main()
