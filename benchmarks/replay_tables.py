"""Tables of `replay.py`: which answers came from the map, how many were right, and the savings."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.replay_sessions import Cost, Lesson, Reply

RELATED = ("again", "held back")
BANDS = ("READY", "VERIFICATION")
SPENT = ("calls", "tokens", "milliseconds")
LIMIT = 0.01
"""Share of all questions that may be answered wrongly."""


class ReplayedQuestion(NamedTuple):
    """One question of a pass, the answer of the map, and the cost of the forest alone.

    Attributes:
        kind: `again`, `held back`, `unrelated` or `foreign`.
        symbol: What was asked for; empty for the last two.
        forest: Until a relevant file was named; `settled`, until the session was READY.
    """

    repo: str
    turn: int
    kind: str
    id: str
    language: str
    query: str
    symbol: str
    reply: Reply
    forest: Cost
    settled: Cost

    @property
    def wrong(self) -> bool:
        """Whether the map answered with something else than what was asked for."""
        return self.reply.verdict == "wrong"


def summary(rows: Sequence[ReplayedQuestion]) -> dict[str, Any]:
    """Return the figures of some rows; shares are of the questions asked again by default.

    Ratios are the cost of asking the map first, divided by the cost of the forest alone: below 1 is
    saved.
    """
    mine = [row for row in rows if row.kind == "again"]
    counts = Counter((row.kind, row.reply.band, row.reply.verdict) for row in rows)

    def count(kinds: Sequence[str], bands: Sequence[str], *verdicts: str) -> int:
        cells = ((k, b, v) for k in kinds for b in bands for v in verdicts)
        return sum(counts[cell] for cell in cells)

    answered = count(("again",), BANDS, "right", "near", "wrong")
    all_wrong = sum(row.wrong for row in rows)
    return {
        "again": len(mine),
        "ready": count(("again",), ("READY",), "right", "near", "wrong"),
        "verification": count(("again",), ("VERIFICATION",), "right", "near", "wrong"),
        "answered": answered,
        "right": count(("again",), BANDS, "right"),
        "near": count(("again",), BANDS, "near"),
        "wrong": count(("again",), BANDS, "wrong"),
        "share_answered": _ratio(answered, len(mine)),
        "precision": _ratio(count(("again",), BANDS, "right", "near"), answered),
        "taken": {
            kind: [
                count((kind,), ("READY",), "wrong"),
                count((kind,), ("VERIFICATION",), "wrong"),
                sum(row.kind == kind for row in rows),
            ]
            for kind in ("held back", "unrelated", "foreign")
        },
        "wrong_ready": sum(row.wrong and row.reply.band == "READY" for row in rows),
        "wrong_all": all_wrong,
        "questions": len(rows),
        "share_wrong": _ratio(all_wrong, len(rows)),
        "share_wrong_ready": _ratio(
            sum(row.wrong and row.reply.band == "READY" for row in rows), len(rows)
        ),
        "until_found": {name: ratios(group) for name, group in parts(mine).items()},
        "until_ready": {name: ratios(group, ready=True) for name, group in parts(mine).items()},
        "to_ready": means([row.reply.settled for row in parts(mine)["right"]]),
        "alone_to_ready": means([row.settled for row in parts(mine)["right"]]),
        "forest_finds": _ratio(sum(row.forest.found for row in mine), len(mine)),
        "finds": _ratio(sum(row.reply.cost.found for row in mine), len(mine)),
    }


def parts(rows: Sequence[ReplayedQuestion]) -> dict[str, list[ReplayedQuestion]]:
    """Return all rows, and those that the map answered rightly, wrongly, or not."""
    names = {"right": "right", "near": "right", "wrong": "wrong", "": "unanswered"}
    found: dict[str, list[ReplayedQuestion]] = {
        "all": list(rows),
        "right": [],
        "wrong": [],
        "unanswered": [],
    }
    for row in rows:
        found[names[row.reply.verdict]].append(row)
    return found


def ratios(rows: Sequence[ReplayedQuestion], *, ready: bool = False) -> dict[str, float]:
    """Return calls, tokens and milliseconds of asking the map first, over the forest alone."""
    spent = [row.reply.settled if ready else row.reply.cost for row in rows]
    alone = [row.settled if ready else row.forest for row in rows]
    return {
        name: _ratio(
            sum(getattr(cost, name) for cost in spent), sum(getattr(cost, name) for cost in alone)
        )
        for name in SPENT
    }


def means(costs: Sequence[Cost]) -> dict[str, float]:
    """Return mean calls, tokens and milliseconds."""
    return {name: _ratio(sum(getattr(cost, name) for cost in costs), len(costs)) for name in SPENT}


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def show(
    lessons: Mapping[str, Sequence[Lesson]], rows: Sequence[ReplayedQuestion], label: str
) -> dict[str, Any]:
    """Print the tables and return what they say."""
    print(f"# {label}")
    _show_lessons(lessons)
    report: dict[str, Any] = {"label": label, "passes": {}}
    for turn in sorted({row.turn for row in rows}):
        mine = [row for row in rows if row.turn == turn]
        print(f"\n## Pass {turn}: asked again in other words, and what nothing here is about")
        groups: dict[str, Sequence[ReplayedQuestion]] = {
            name: [row for row in mine if row.repo == name] for name in lessons
        }
        if len(lessons) > 1:
            groups["ALL"] = mine
        for language in ("en", "ja"):
            groups[f"in {language}"] = [row for row in mine if row.language == language]
        if turn > 2:
            asked = {(row.repo, row.query) for row in mine if row.kind == "again"}
            groups["these in pass 2"] = [
                row for row in rows if row.turn == 2 and (row.repo, row.query) in asked
            ]
        report["passes"][turn] = {name: summary(group) for name, group in groups.items()}
        _show_rows(report["passes"][turn])
        _show_whole(report["passes"][turn].get("ALL") or summary(mine))
        _show_wrong(mine)
    report["lessons"] = {name: [plain(each) for each in mine] for name, mine in lessons.items()}
    report["asked"] = [plain(row) for row in rows]
    return report


def plain(row: object) -> object:
    """Return a named tuple, and those in it, as dictionaries."""
    if isinstance(row, tuple) and hasattr(row, "_asdict"):
        return {name: plain(value) for name, value in row._asdict().items()}
    return row


def _show_lessons(lessons: Mapping[str, Sequence[Lesson]]) -> None:
    print(
        f"\n{'learned in pass 1':<18}{'worked':>8}{'learned':>8}{'calls':>8}{'tokens':>8}"
        f"{'ms':>8}   to READY"
    )
    for name, every in lessons.items():
        mine = [each for each in every if each.turn == 1]
        learned = [each for each in mine if each.symbol]
        mean = means([each.cost for each in learned])
        print(
            f"{name:<18}{len(mine):>8}{len(learned):>8}"
            f"{mean['calls']:>8.1f}{mean['tokens']:>8.0f}{mean['milliseconds']:>8.0f}"
        )
    for name, every in lessons.items():
        for each in every:
            if not each.symbol:
                print(f"  not learned: {name} {each.id}: {each.why}")


def _show_rows(groups: Mapping[str, Mapping[str, Any]]) -> None:
    print(
        f"{'':<16}{'again':>6}{'READY':>6}{'VERIF':>6}{'share':>7}{'right':>6}{'near':>5}{'wrong':>6}"
        f"   {'held back':>10}{'unrelated':>10}{'foreign':>10}{'wrong/all':>10}"
        f"   {'calls':>6}{'tokens':>7}{'time':>6}   {'found':>6}{'alone':>6}"
    )
    for name, row in groups.items():
        taken = ["{}+{}/{}".format(*cell) for cell in row["taken"].values()]
        cost = row["until_found"]["all"]
        print(
            f"{name:<16}{row['again']:>6}{row['ready']:>6}{row['verification']:>6}{row['share_answered']:>7.3f}"
            f"{row['right']:>6}{row['near']:>5}{row['wrong']:>6}   "
            + "".join(f"{cell:>10}" for cell in taken)
            + f"{row['share_wrong']:>10.4f}   {cost['calls']:>6.2f}{cost['tokens']:>7.2f}"
            f"{cost['milliseconds']:>6.2f}   {row['finds']:>6.3f}{row['forest_finds']:>6.3f}"
        )


def _show_whole(row: Mapping[str, Any]) -> None:
    print(
        f"wrong {row['wrong_all']} of {row['questions']} "
        f"({row['share_wrong']:.2%}, limit {LIMIT:.0%}), of them "
        f"READY {row['wrong_ready']} ({row['share_wrong_ready']:.2%})"
    )
    ready, alone = row["to_ready"], row["alone_to_ready"]
    print(
        f"READY, where rightly answered, after {ready['calls']:.1f} calls, "
        f"{ready['tokens']:.0f} tokens; "
        f"by the forest alone {alone['calls']:.1f} and {alone['tokens']:.0f}"
    )
    print("by what the forest alone costs   until a file is named        until READY")
    print(f"{'':<27}{'calls':>9}{'tokens':>9}{'time':>9}   {'calls':>9}{'tokens':>9}{'time':>9}")
    for name in row["until_found"]:
        cells = ("".join(f"{value:>9.2f}" for value in row[key][name].values())
                 for key in ("until_found", "until_ready"))  # fmt: skip
        print(f"  {name:<25}" + "   ".join(cells))


def _show_wrong(rows: Sequence[ReplayedQuestion]) -> None:
    for row in rows:
        if row.wrong:
            got = f"{row.reply.symbol}" + (f", not {row.symbol}" if row.symbol else "")
            said = f"{row.reply.band} {row.reply.score:.2f} {row.repo}, {row.kind}"
            print(f"  {said}: {row.query[:90]} -> {got}")
