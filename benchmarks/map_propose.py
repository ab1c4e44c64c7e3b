r"""Measure `code-intel map propose` on real tasks: python -m benchmarks.map_propose.

    python -m benchmarks.map_propose --data FILE.jsonl --sources DIR [--cache DIR] [--first DIR]

`agent_tasks.py` describes the data; DIR has one git work tree for each repository, at the commit
before its tasks. Agreements are proposed from the tree and its history. Then the message of each
task is put to the proposals through the map's own score and model. A hit is an answer whose
proposal names a changed file; any other answer from the score on is wrong.

The rows of a repository: all proposals; those from commits alone; the same without the test on
earlier requests; and the simplest method, which takes the first line of each of the last 300
commits as the term of the symbol in which most lines changed. `--first` writes the first 30
proposals of each repository to files for readers.
"""

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.agent_tasks import Task, tasks_from
from benchmarks.engines import ENGINES
from code_intel.chunking import symbols_around
from code_intel.embedding.cache import VectorCache
from code_intel.embedding.engine import Embedder
from code_intel.foundation import git
from code_intel.learned.proposals.composing import Proposal, reference
from code_intel.learned.proposals.current import CurrentCode, Place
from code_intel.learned.proposals.past_requests import is_right, scores
from code_intel.learned.proposals.patches import FilePatch, commit_names, file_patches
from code_intel.learned.proposals.proposing import Proposed, propose, review_items
from code_intel.learned.proposals.review_file import ReviewItem
from code_intel.learned.recall import calibration
from code_intel.operations.map.propose import is_source
from code_intel.records import READY_SCORE, VERIFICATION_SCORE, Agreement

PLAIN_COMMITS = 300
FIRST = 30
THRESHOLDS = (VERIFICATION_SCORE, READY_SCORE)


class Counts(NamedTuple):
    """Proposals, seconds of processor time, and hits and wrong answers at each threshold."""

    proposals: int
    seconds: float
    hits: tuple[int, ...]
    wrong: tuple[int, ...]


class CachedEmbedder:
    """An embedder that keeps vectors in a folder."""

    def __init__(self, embedder: Embedder, folder: Path) -> None:
        self._embedder = embedder
        self._cache = VectorCache(folder)
        self.identity, self.dimensions = embedder.identity, embedder.dimensions

    def can_search(self, identity: str) -> bool:
        """Return whether queries can be compared with passages of `identity`."""
        return self._embedder.can_search(identity)

    def queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed questions."""
        return self._embedded(texts, "queries")

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed what questions should find."""
        return self._embedded(texts, "passages")

    def _embedded(self, texts: Sequence[str], kind: str) -> NDArray[np.float32]:
        name = f"{self.identity} {kind}"
        known = self._cache.get(name, texts)
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            rows = getattr(self._embedder, kind)(new)
            fresh = dict(zip(new, rows, strict=True))
            self._cache.put(name, fresh)
            known |= fresh
        return np.array([known[text] for text in texts], dtype=np.float32)


def main() -> None:
    """Propose for each repository, ask, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, nargs="+", required=True)
    parser.add_argument("--sources", type=Path, required=True)
    parser.add_argument("--cache", type=Path, help="folder for vectors")
    parser.add_argument("--first", type=Path, help="folder for the first proposals")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if arguments.first:
        arguments.first.mkdir(parents=True, exist_ok=True)
    embedder: Embedder = ENGINES["q4"]()  # the map's engine
    if arguments.cache:
        embedder = CachedEmbedder(embedder, arguments.cache)
    tasks: dict[str, list[Task]] = {}
    for task in tasks_from(arguments.data):
        tasks.setdefault(task.repo, []).append(task)
    table: dict[str, dict[str, Counts]] = {}
    for repo, asked in tasks.items():
        folder = arguments.sources / repo
        found, table[repo] = of_repository(folder, asked, embedder)
        show(repo, table[repo], len(asked))
        if arguments.first:
            text = page(repo, [*review_items(found)][:FIRST])
            (arguments.first / f"propose-review-{repo}.md").write_text(text, encoding="utf-8")
    show("all", total(table.values()), sum(map(len, tasks.values())))
    if arguments.json:
        rows = {repo: {row: c._asdict() for row, c in by.items()} for repo, by in table.items()}
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def of_repository(
    folder: Path, tasks: Sequence[Task], embedder: Embedder
) -> tuple[Proposed, dict[str, Counts]]:
    """Return the proposals for a repository, and the counts of each row."""
    listed = (git.run(folder, "ls-files", "-z") or b"").decode("utf-8", "replace").split("\0")
    paths = [path for path in listed if path]
    constants = calibration.load(embedder.identity)

    def proposed(*, tested: bool) -> tuple[Proposed, float]:
        began = time.process_time()
        model = embedder if tested else None
        done = propose(folder, paths, is_source, model, constants, (), _ignore)
        return done, time.process_time() - began

    found, seconds = proposed(tested=True)
    untested, seconds_untested = proposed(tested=False)
    rows = {
        "proposals": (found.proposals, seconds),
        "… from commits": ([each for each in found.proposals if each.commits], seconds),
        "… not tested": ([each for each in untested.proposals if each.commits], seconds_untested),
        "each commit": (plain_proposals(folder), 0.0),
    }
    counts = {}
    for name, (proposals, taken) in rows.items():
        hits, wrong = answered(proposals, tasks, embedder, constants)
        counts[name] = Counts(len(proposals), taken, hits, wrong)
    return found, counts


def answered(
    proposals: Sequence[Proposal],
    tasks: Sequence[Task],
    embedder: Embedder,
    constants: calibration.Calibration,
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the hits and the wrong answers at each threshold."""
    right: Counter[float] = Counter()
    wrong: Counter[float] = Counter()
    texts = [task.wordings[""].request for task in tasks]
    found = scores(texts, proposals, embedder, constants, _ignore) if proposals else []
    for task, answers in zip(tasks, found, strict=False):
        score, number = answers[0]
        counts = right if is_right(proposals[number], frozenset(task.files)) else wrong
        counts.update(least for least in THRESHOLDS if score >= least)
    return tuple(right[t] for t in THRESHOLDS), tuple(wrong[t] for t in THRESHOLDS)


def plain_proposals(folder: Path) -> list[Proposal]:
    """Return a proposal for each of the last commits, of the symbol with most changed lines."""
    current = CurrentCode(folder)
    found: dict[tuple[str, str], Proposal] = {}
    for commit in commit_names(folder, PLAIN_COMMITS) or ():
        files = [path for path in commit.files if is_source(path)]
        patches = (file_patches(folder, [commit.id], files) or {}) if files else {}
        lines = Counter(
            place for patch in patches.get(commit.id, ()) for place in changed_places(patch)
        )
        title = next(iter(commit.message.splitlines()), "").strip()[:200]
        for place, _ in lines.most_common():
            if title and (symbol := current.symbol(place)):
                agreement = Agreement(title, place.symbol, (title,), (reference(place, symbol),))
                found.setdefault((title, place.symbol), Proposal(place, agreement, (commit.id,)))
                break
    return list(found.values())


def changed_places(patch: FilePatch) -> Iterable[Place]:
    """Yield the innermost symbol of each added line."""
    symbols = symbols_around(patch.new, patch.after, patch.added) if patch.added else ()
    for line in patch.added:
        around = [each for each in symbols if each.start_line <= line <= each.end_line]
        if around:
            yield Place(patch.new, min(around, key=lambda s: s.end_line - s.start_line).qualified)


def total(tables: Iterable[Mapping[str, Counts]]) -> dict[str, Counts]:
    """Return the sums over all repositories."""
    found: dict[str, Counts] = {}
    for table in tables:
        for name, counts in table.items():
            old = found.get(name, Counts(0, 0.0, (0, 0), (0, 0)))
            found[name] = Counts(
                old.proposals + counts.proposals,
                old.seconds + counts.seconds,
                tuple(np.add(old.hits, counts.hits).tolist()),
                tuple(np.add(old.wrong, counts.wrong).tolist()),
            )
    return found


def show(repo: str, table: Mapping[str, Counts], tasks: int) -> None:
    """Print the rows of a repository."""
    heads = "".join(f"{f'hit {t}':>10}{f'wrong {t}':>11}" for t in THRESHOLDS)
    print(f"\n{repo}, {tasks} tasks\n{'':16}{'proposals':>10}{'seconds':>9}{heads}")
    for name, row in table.items():
        shares = "".join(
            f"{hit / tasks:>10.3f}{wrong / tasks:>11.3f}"
            for hit, wrong in zip(row.hits, row.wrong, strict=True)
        )
        print(f"{name:16}{row.proposals:>10}{row.seconds:>9.1f}{shares}", flush=True)


def page(repo: str, items: Sequence[ReviewItem]) -> str:
    """Return a page with proposals for readers."""
    parts = [f"# Proposals for {repo}\n"]
    for item in items:
        said = [*item.agreement.evidence, *(f"commit {c[:8]}: {t}" for c, t in item.commits)]
        said += item.sources
        parts.append(
            f"## {item.number}. {item.agreement.nl_term} → `{item.agreement.symbol}`\n\n"
            f"{item.path}:{item.lines[0]}-{item.lines[1]}\n\n"
            + "".join(f"- {each}\n" for each in said)
            + f"\n````\n{item.code}\n````\n"
        )
    return "\n".join(parts)


def _ignore(_done: int, _total: int, _what: str) -> None:
    """Show no progress."""


if __name__ == "__main__":
    main()
