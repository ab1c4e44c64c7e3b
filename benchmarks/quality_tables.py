"""Tables of `code_search.py`: by repository, category, language, half, difference and signal."""

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.scoring import Difference, Score, gained, lost_in

HALVES = {True: "tuned on", False: "not tuned on"}


class Built(NamedTuple):
    """One repository's index: what it holds and what it took."""

    repo: str
    files: int
    chunks: int
    seconds: float
    vector_seconds: float


def groups(
    scores: Sequence[Score], tuned: Mapping[str, bool | None]
) -> dict[str, dict[str, list[Score]]]:
    """Return the scores by category, by language and by half; what is not known makes no group.

    Args:
        scores: Of one way of asking.
        tuned: Whether weights were set on a repository, by its name.
    """
    found: dict[str, dict[str, list[Score]]] = {
        kind: defaultdict(list) for kind in ("category", "language", "half")
    }
    for score in sorted(scores, key=lambda each: (each.category, each.language)):
        mark = tuned.get(score.repo)
        half = "" if mark is None else HALVES[mark]
        for kind, name in (
            ("category", score.category),
            ("language", score.language),
            ("half", half),
        ):
            if name:
                found[kind][name].append(score)
    return found


def show(
    built: Sequence[Built], scores: Sequence[Score], tuned: Mapping[str, bool | None], label: str
) -> dict[str, Any]:
    """Print how one way of asking went, and return what the tables say."""
    print(f"# {label}")
    head = ("NDCG@10", "files", "chunks", "words s", "vectors s")
    print(f"{'repository':<14}{'n':>5}" + "".join(f"{name:>10}" for name in head))
    for row in built:
        mine = [score for score in scores if score.repo == row.repo]
        print(
            f"{_line(row.repo, mine)}{row.files:>10}{row.chunks:>10}"
            f"{row.seconds:>10.2f}{row.vector_seconds:>10.1f}"
        )
    by = groups(scores, tuned)
    for rows in filter(None, by.values()):
        print()
        for name, mine in rows.items():
            print(_line(name, mine))
    median = statistics.median(score.milliseconds for score in scores)
    print(f"\n{_line('ALL', scores)}   search p50 {median:.1f} ms")
    lost = lost_in("ja", scores)
    if lost:
        print(f"Japanese loses against English, on the same questions: {_said(lost)}")
    return {
        "label": label,
        "ndcg10": _mean(scores),
        "p50_ms": median,
        **{
            f"by_{kind}": {name: _mean(mine) for name, mine in rows.items()}
            for kind, rows in by.items()
        },
        "japanese_loss": lost and lost._asdict(),
        "repositories": [
            row._asdict() | {"ndcg10": _mean([score for score in scores if score.repo == row.repo])}
            for row in built
        ],
        "queries": [score._asdict() for score in scores],
    }


def show_paired(both: Sequence[Score], words: Sequence[Score]) -> dict[str, Any]:
    """Print what vectors gain over words only, overall and by language, and return it."""
    print(f"\n# words only {_mean(words):.4f}; what vectors gain over that")
    parts: dict[str, Sequence[str]] = {"ALL": []}
    parts |= {language: [language] for language in sorted({each.language for each in both} - {""})}
    report = {}
    for name, languages in parts.items():
        mine, theirs = (
            [score for score in way if not languages or score.language in languages]
            for way in (both, words)
        )
        difference = gained(mine, theirs)
        print(f"{name:<14}{_said(difference)}")
        report[name] = difference._asdict()
    return {"words_only": _mean(words), "gained": report}


def show_ablation(
    whole: Sequence[Score],
    off: Mapping[str, Sequence[Score]],
    tuned: Mapping[str, bool | None],
) -> dict[str, Any]:
    """Print, a row a signal, NDCG with the row off minus NDCG with it, and return it.

    Args:
        whole: With every row.
        off: By name of the row that was left out.
        tuned: As in `groups`.
    """
    columns = [name for rows in groups(whole, tuned).values() for name in rows]
    print("\n# NDCG@10 with the row off, minus with it: what helps is negative")
    print(f"{'signal':<14}{'ALL':>8}{'95 % interval':>20}" + "".join(f"{c:>14}" for c in columns))
    before = {
        name: _mean(part) for rows in groups(whole, tuned).values() for name, part in rows.items()
    }
    report = {}
    for signal, scores in off.items():
        change = gained(scores, whole)
        parts = {
            name: _mean(part) - before[name]
            for rows in groups(scores, tuned).values()
            for name, part in rows.items()
        }
        print(
            f"{signal:<14}{change.mean:>+8.4f}{f'[{change.low:+.4f}, {change.high:+.4f}]':>20}"
            + "".join(f"{parts[name]:>+14.4f}" for name in columns)
        )
        report[signal] = change._asdict() | {"by": parts}
    return report


def _mean(scores: Sequence[Score]) -> float:
    return statistics.fmean(score.ndcg for score in scores)


def _line(name: str, scores: Sequence[Score]) -> str:
    return f"{name:<14}{len(scores):>5}{_mean(scores):>10.4f}"


def _said(difference: Difference) -> str:
    return (
        f"{difference.mean:+.4f} [{difference.low:+.4f}, {difference.high:+.4f}], 95 %,"
        f" {difference.questions} questions"
    )
