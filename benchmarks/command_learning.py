"""Measure the value of knowing which command was executed for which question.

Questions are asked about known commands, about other commands, and in the same words.

    python -m benchmarks.command_learning [--cache VECTORS] [--data DIR] [--json OUT]

Sets are those of command_search. In each of some rounds half of the commands, drawn again, are
known: each was executed for one of the questions that it answers. Then every other question is
asked, and the noted ones again:

    known      other questions for the commands that are known: what learning is for
    not known  questions for the other commands: learning can only do harm
    the same   what was noted, word for word
    planted    every question, after a file was added with its very words for a wrong command
    aimed      the same, for the three wrong commands that come first without it: the most harm

Each is asked with and without experience, of words alone and of the fusion. Differences are paired;
their 95 % intervals are of 10,000 resamples over commands, whose questions are drawn together. An
offer is a question for which something similar was executed. The offer is right if the most similar
one belongs to the command that answers.
"""

import json
import random
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from benchmarks.command_search import Name, Query, Set, arguments, prepared
from benchmarks.scoring import Difference, bootstrap
from code_intel.registry.finding import find
from code_intel.registry.learning import CommandExperience
from code_intel.registry.meaning import CommandVectors
from code_intel.registry.records import DEFAULT_AGENT, CommandKey

ROUNDS = 20
SEED = 47
DEEP = 10_000
LISTED = 3


class QuestionRanks(NamedTuple):
    """One question: its command, its places without and with experience (0: none), its offer."""

    command: Name
    before: int
    after: int
    offered: bool
    right: bool


class QuestionRunner:
    """Asks the questions of one set in one way; the ranks without experience are computed once."""

    def __init__(self, of: Set, meanings: CommandVectors | None) -> None:
        self.of = of
        self._meanings = meanings
        self._plain: dict[str, list[Name]] = {}

    def plain(self, query: Query) -> list[Name]:
        """Return what is found without experience."""
        if query.id not in self._plain:
            self._plain[query.id] = self._found(query, None)
        return self._plain[query.id]

    def asked(self, query: Query, experience: CommandExperience) -> QuestionRanks:
        """Ask one question with experience and, the first time, without."""
        plain = self.plain(query)
        near = experience.near(query.query)
        right = bool(near) and near[0][0][1:] in query.relevant
        after = self._found(query, experience) if near else plain
        return QuestionRanks(
            _first(query), _place(plain, query), _place(after, query), bool(near), right
        )

    def _found(self, query: Query, experience: CommandExperience | None) -> list[Name]:
        found = find(
            self.of.loaded,
            [query.query],
            command_vectors=self._meanings,
            experience=experience,
            top_n=DEEP,
        ).results
        return [(one.command.c1, one.command.c2, one.command.c3) for one in found]


def rounds(runner: QuestionRunner) -> Mapping[str, list[QuestionRanks]]:
    """Return what came of all questions of all rounds, by what is known of them."""
    draw = random.Random(SEED)
    by_command: dict[Name, list[Query]] = {}
    for query in runner.of.queries:
        if query.relevant:
            by_command.setdefault(_first(query), []).append(query)
    rows: dict[str, list[QuestionRanks]] = {"known": [], "not known": [], "the same": []}
    names = sorted(by_command)
    every = [(name, query) for name in names for query in by_command[name]]
    for _ in range(ROUNDS):
        known = set(draw.sample(names, len(names) // 2))
        noted = {name: draw.choice(by_command[name]) for name in sorted(known)}
        with _experience((name, query.query) for name, query in noted.items()) as experience:
            for name, query in every:
                same = noted.get(name) is query
                kind = "the same" if same else "known" if query.relevant & known else "not known"
                rows[kind].append(runner.asked(query, experience))
    wrong = [draw.choice([name for name in names if name not in q.relevant]) for _, q in every]
    first = [
        [name for name in runner.plain(q) if name not in q.relevant][:LISTED] for _, q in every
    ]
    for kind, commands in {"planted": [[name] for name in wrong], "aimed": first}.items():
        uses = [(n, q.query) for (_, q), some in zip(every, commands, strict=True) for n in some]
        with _experience(uses) as experience:
            rows[kind] = [runner.asked(query, experience) for _, query in every]
    return rows


def figures_of(rows: Sequence[QuestionRanks]) -> dict[str, Any]:
    """Return the figures of some questions."""
    groups: dict[Name, list[QuestionRanks]] = {}
    for row in rows:
        groups.setdefault(row.command, []).append(row)
    figures: dict[str, Any] = {"questions": len(rows)}
    figures["offers"] = sum(row.offered for row in rows)
    figures["right"] = sum(row.right for row in rows)
    for measure, of in {"recall@3": _listed, "MRR": _reciprocal}.items():
        figures[measure] = sum(of(row.before) for row in rows) / len(rows)
        gained = [[of(row.after) - of(row.before) for row in group] for group in groups.values()]
        figures[f"{measure} gained"] = bootstrap(gained)
    return figures


def main() -> None:
    """Command line."""
    args = arguments(__doc__)
    figures: list[dict[str, Any]] = []
    with prepared(args) as (sets, meanings):
        for of in sets:
            for way, using in {"words": None, "fusion": meanings}.items():
                for kind, rows in rounds(QuestionRunner(of, using)).items():
                    figures.append(
                        {"set": of.name, "way": way, "questions are": kind, **figures_of(rows)}
                    )
                    print(_line(figures[-1]), flush=True)
    if args.json:
        written = {"argv": sys.argv[1:], "rounds": ROUNDS, "rows": figures}
        args.json.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")


@contextmanager
def _experience(uses: Iterable[tuple[Name, str]]) -> Iterator[CommandExperience]:
    """Offer the experience of a project that executed these commands for these features."""
    with TemporaryDirectory() as folder:
        experience = CommandExperience(Path(folder))
        for name, feature in uses:
            assert experience.note(CommandKey(DEFAULT_AGENT, *name), feature)
        yield experience


def _first(query: Query) -> Name:
    return min(query.relevant)


def _place(found: Sequence[Name], query: Query) -> int:
    """Return the first rank of a command that answers, or 0 if no command does."""
    return next((at for at, name in enumerate(found, 1) if name in query.relevant), 0)


def _listed(place: int) -> float:
    return float(0 < place <= LISTED)


def _reciprocal(place: int) -> float:
    return 1 / place if place else 0.0


def _line(row: Mapping[str, Any]) -> str:
    head = f"{row['set']:9}{row['way']:8}{row['questions are']:11}{row['questions']:6} questions"
    offers = f"{row['offers']:6} offers, {row['right']:5} right"
    return f"{head}{offers}  " + "  ".join(
        f"{measure} {row[measure]:.3f} {_shown(row[f'{measure} gained'])}"
        for measure in ("recall@3", "MRR")
    )


def _shown(gained: Difference) -> str:
    return f"{gained.mean:+.3f} [{gained.low:+.3f}, {gained.high:+.3f}]"


if __name__ == "__main__":
    main()
