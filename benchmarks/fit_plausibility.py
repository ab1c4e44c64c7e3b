"""Fit the score of plausibility on commits, and measure it on tasks of other repositories.

    python -m benchmarks.fit_plausibility
    python -m benchmarks.fit_plausibility --sources DIR --vectors --measure TASKS.jsonl ...

Fitted on: the last commits of each git repository in DIR (without --sources: of this one) that
change one to four source files; the message is the request, and the tree is the one before the
first of them. Measured on: the tasks (form: `agent_tasks`), in the current trees of DIR, each
repository with constants that were fitted without the commits of that name.

The lazy policy is the strongest one: in each wrong file every symbol is tried, with the line that
holds most of the request as its quote. A wrong claim is one of any symbol in another source file. A
right one is of a symbol that the commit changed: `task` counts the best file of a commit, `file`
each of them. The threshold accepts 9 % of the wrong files in repositories of at least 40 source
files, or where the set has none, in all.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.agent_tasks import Task, Wording, tasks_from
from benchmarks.commit_requests import commit_requests
from benchmarks.labels import HERE, forest_config
from benchmarks.plausibility_cases import Case, case_of, project_of
from code_intel.config import load_settings
from code_intel.embedding.cache import VectorCache
from code_intel.embedding.engine import Embedder
from code_intel.embedding.lazy import LazyEmbedder
from code_intel.forest.ranking.closeness import SymbolCloseness
from code_intel.index.facade import Index
from code_intel.session.plausibility import THRESHOLD, WEIGHTS, ScoreWeights

LARGE = 40
"""Source files from which a repository is large."""
MAX_WRONG = 0.09
"""Share of wrong files that the threshold accepts in the repositories that it is fitted on.

The commits of a repository that was left out exceed it by a tenth; the target is 0.1.
"""
SIZES = (1, 20, LARGE, 10_000)
RIDGE = 3e-3
ROUNDS = 4
"""Rounds of choosing the best claim of each file by the last constants, and fitting again."""

Matrix = NDArray[np.float64]


class Rated(NamedTuple):
    """One request: the claims of each right and of each wrong file, and the ranks of the latter."""

    right: Sequence[Matrix]
    wrong: Sequence[Matrix]
    ranks: Sequence[int]


class Corpus(NamedTuple):
    """The requests of one repository, and its number of source files."""

    name: str
    files: int
    requests: Sequence[Rated]


class Scores(NamedTuple):
    """Best scores of right files, of tasks, and of wrong files with their ranks."""

    right: Matrix
    tasks: Matrix
    wrong: Matrix
    ranks: NDArray[np.int64]


def facts_row(close: SymbolCloseness) -> list[float]:
    """Return the facts in the order of `ScoreWeights`."""
    return [
        1.0,
        (close.file_score + close.part_score) / 2,
        close.file_words,
        1 / close.file_rank if close.file_rank else 0.0,
        close.history,
        close.covered,
    ]


def rated(case: Case) -> Rated:
    """Return the facts of every claim of a case; of a right file, those of the changed symbols."""
    right, wrong, ranks = [], [], []
    for file, claims in case.claims.items():
        rows = np.array([facts_row(claim.closeness) for claim in claims])
        if file not in case.wanted:
            wrong.append(rows)
            ranks.append(claims[0].closeness.file_rank)
            continue
        changed = [(file, claim.symbol) in case.changed for claim in claims]
        right.append(rows[changed] if any(changed) else rows)
    return Rated(right, wrong, ranks)


def fit(requests: Sequence[Rated]) -> Matrix:
    """Return the constants: logistic, both classes weighted alike, none below zero."""
    weights = np.array([-2.0, 4.0, *[0.0] * (len(ScoreWeights._fields) - 2)])
    for _ in range(ROUNDS):
        right = np.array([_best(rows, weights) for each in requests for rows in each.right])
        wrong = np.array([_best(rows, weights) for each in requests for rows in each.wrong])
        weights = _logistic(right, wrong)
    return weights


def _best(rows: Matrix, weights: Matrix) -> Matrix:
    best: Matrix = rows[np.argmax(rows @ weights)]
    return best


def _logistic(right: Matrix, wrong: Matrix) -> Matrix:
    rows = np.vstack([right, wrong])
    is_right = np.r_[np.ones(len(right)), np.zeros(len(wrong))]
    share = np.r_[np.full(len(right), 1 / len(right)), np.full(len(wrong), 1 / len(wrong))]
    used = list(range(rows.shape[1]))
    while True:
        part = rows[:, used]
        ridge = RIDGE * np.eye(len(used))
        ridge[0, 0] = 0
        found = np.zeros(len(used))
        for _ in range(50):
            guess = 1 / (1 + np.exp(-np.clip(part @ found, -30, 30)))
            slope = part.T @ (share * (guess - is_right)) + ridge @ found
            bend = (part * (share * guess * (1 - guess))[:, None]).T @ part + ridge
            found = found - np.linalg.solve(bend + 1e-9 * np.eye(len(used)), slope)
        if (least := int(np.argmin(found[1:])) + 1) and found[least] >= 0:
            weights = np.zeros(rows.shape[1])
            weights[used] = found
            return weights
        used.pop(least)


def scores(requests: Sequence[Rated], weights: Matrix) -> Scores:
    """Return the score of the best claim of every file."""
    right = [[np.max(rows @ weights) for rows in each.right] for each in requests]
    return Scores(
        np.array([score for each in right for score in each]),
        np.array([max(each) for each in right if each]),
        np.array([np.max(rows @ weights) for each in requests for rows in each.wrong]),
        np.array([rank for each in requests for rank in each.ranks]),
    )


def threshold_of(corpora: Sequence[Corpus], weights: Matrix) -> float:
    """Return the score that `MAX_WRONG` of the wrong files reach, if possible in large ones."""
    chosen = [corpus for corpus in corpora if corpus.files >= LARGE] or corpora
    wrong = np.concatenate([scores(corpus.requests, weights).wrong for corpus in chosen])
    return float(np.quantile(wrong, 1 - MAX_WRONG))


def shares(found: Scores, threshold: float) -> dict[str, float]:
    """Return which shares are accepted; wrong files among the first five hits apart."""
    first = (found.ranks > 0) & (found.ranks <= 5)
    accepted = found.wrong >= threshold
    return {
        "tasks": len(found.tasks),
        "task": float(np.mean(found.tasks >= threshold)),
        "file": float(np.mean(found.right >= threshold)),
        "wrong": float(np.mean(accepted)),
        "wrong_first_five": float(np.mean(accepted[first])) if first.any() else 0.0,
        "wrong_others": float(np.mean(accepted[~first])) if not first.all() else 0.0,
        "wrong_at_90": float(np.mean(found.wrong >= np.quantile(found.tasks, 0.1))),
        "task_at_10": float(np.mean(found.tasks >= np.quantile(found.wrong, 0.9))),
    }


def joined(parts: Sequence[Scores]) -> Scores:
    """Return the scores of several repositories as one."""
    return Scores(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def corpus_of(
    name: str,
    folder: Path,
    tasks: Sequence[tuple[Task, Wording]],
    embedder: Embedder | None,
    cache: VectorCache | None,
) -> Corpus:
    """Index a tree in a temporary database, and rate every claim for every request."""
    with tempfile.TemporaryDirectory() as scratch:
        index = Index(forest_config(folder, scratch), embedder=embedder, cache=cache)
        index.complete(words_only=embedder is None)
        project = project_of(name, index.store, folder)
        requests = []
        for number, (task, wording) in enumerate(tasks, start=1):
            parts = tuple(wording.slots.values())
            case = case_of(project, wording.request, task.files, task.hunks, parts, embedder)
            requests.append(rated(case))
            sys.stderr.write(f"\r{name}: {number}/{len(tasks)}")
        index.close()
    return Corpus(name, len(project.files), [each for each in requests if each.right])


def history(source: Path, name: str, count: int, scratch: Path) -> tuple[Path, list[Task]]:
    """Return the tree before the last commits of a repository, and these commits as tasks."""
    found = commit_requests(source, name, count)
    tree = scratch / name
    for command in (
        ["git", "clone", "-q", "--shared", "--no-checkout", str(source), str(tree)],
        ["git", "-C", str(tree), "checkout", "-q", found.base],
    ):
        subprocess.run(command, check=True)
    data = scratch / f"{name}.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in found.requests), encoding="utf-8")
    return tree, tasks_from([data])


def table(
    fitted: Sequence[Corpus], measured: Sequence[Corpus]
) -> Iterator[tuple[str, Mapping[str, float]]]:
    """Yield the shares for each repository, left out by name, and by size."""
    found: dict[str, Scores] = {}
    for corpus in measured:
        others = [each for each in fitted if each.name != corpus.name] or list(fitted)
        weights = fit([each for other in others for each in other.requests])
        threshold = threshold_of(others, weights)
        raw = scores(corpus.requests, weights)
        found[corpus.name] = Scores(
            raw.right - threshold, raw.tasks - threshold, raw.wrong - threshold, raw.ranks
        )
        yield f"{corpus.name} ({corpus.files})", shares(found[corpus.name], 0.0)
    for low, high in pairwise(SIZES):
        part = [found[each.name] for each in measured if low <= each.files < high]
        if part:
            size = f"{low} to {high - 1} files" if high <= LARGE else f"{low} files and more"
            yield size, shares(joined(part), 0.0)


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the arguments, by default of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sources", type=Path, help="a folder of git clones")
    parser.add_argument("--repo", action="append", help="fit only on this one; may be repeated")
    parser.add_argument("--count", type=int, default=60, help="commits of each repository")
    parser.add_argument("--measure", type=Path, action="append", help="tasks; may be repeated")
    parser.add_argument("--wording", action="append", choices=["", "ja"], help="may be repeated")
    parser.add_argument("--vectors", action="store_true", help="embed, and search with both")
    parser.add_argument("--cache", type=Path, help="folder in which vectors are kept")
    parser.add_argument("--json", type=Path, help="also write everything here")
    return parser.parse_args(arguments)


def main() -> None:
    """Command line."""
    args = parsed()
    embedder = LazyEmbedder(load_settings(HERE.parent), corpus="forest") if args.vectors else None
    cache = VectorCache(args.cache) if args.vectors and args.cache else None
    tasks = tasks_from(args.measure or [])
    names = sorted({task.repo for task in tasks}) or (args.repo or [])
    sources = {name: args.sources / name for name in args.repo or names} if args.sources else {}
    with tempfile.TemporaryDirectory() as scratch:
        fitted = []
        for name, source in (sources or {"code-intel": HERE.parent}).items():
            tree, commits = history(source, name, args.count, Path(scratch))
            asked = [(task, task.wordings[""]) for task in commits]
            fitted.append(corpus_of(name, tree, asked, embedder, cache))
    weights = fit([each for corpus in fitted for each in corpus.requests])
    result: dict[str, Any] = {
        "fitted": {corpus.name: len(corpus.requests) for corpus in fitted},
        "weights": dict(zip(ScoreWeights._fields, map(float, weights), strict=True)),
        "threshold": threshold_of(fitted, weights),
        "tables": {"commits": dict(table(fitted, fitted))},
        "shipped": {"vectors": args.vectors, **WEIGHTS[args.vectors]._asdict()},
    }
    for form in args.wording or [""]:
        measured = []
        for name in names if tasks else ():
            asked = [(t, t.wordings[form]) for t in tasks if t.repo == name and form in t.wordings]
            measured.append(corpus_of(name, args.sources / name, asked, embedder, cache))
        if measured:
            result["tables"][f"tasks {form}".strip()] = dict(table(fitted, measured))
    show(result)
    if args.json:
        args.json.write_text(json.dumps(result, indent=1), encoding="utf-8")


def show(result: Mapping[str, Any]) -> None:
    """Print the constants and the table."""
    print("fitted on", ", ".join(f"{name} ({n})" for name, n in result["fitted"].items()))
    # The threshold of the product is fixed, so that the base takes up the difference.
    shift = np.log(THRESHOLD / (1 - THRESHOLD)) - result["threshold"]
    values = dict(result["weights"])
    values["base"] += shift
    print("constants:", ", ".join(f"{name} {value:.2f}" for name, value in values.items()))
    for title, rows in result["tables"].items():
        print(
            f"\n{title:24} {'tasks':>5} {'right: task':>11} {'file':>6} {'wrong':>6}"
            f" {'first 5':>8} {'others':>7} | {'wrong at 90 %':>13} {'task at 10 %':>12}"
        )
        for name, row in rows.items():
            print(
                f"{name:24} {row['tasks']:5} {row['task']:11.3f} {row['file']:6.3f}"
                f" {row['wrong']:6.3f} {row['wrong_first_five']:8.3f} {row['wrong_others']:7.3f} |"
                f" {row['wrong_at_90']:13.3f} {row['task_at_10']:12.3f}"
            )


if __name__ == "__main__":
    main()
