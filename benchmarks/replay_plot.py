"""Draw the passes of `replay.py`: share of answers, share of wrong ones, and the savings."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from html import escape
from itertools import accumulate, chain, zip_longest
from typing import NamedTuple

from benchmarks.replay_tables import ReplayedQuestion

WIDTH, HEIGHT, LEFT, GAP = 760, 200, 70, 50
"""Of a panel, in user units; what is left of it; what is between two."""
INKS = ("#1b7f4b", "#c0392b", "#2456a6", "#8a6d1d")


class Line(NamedTuple):
    """One line of a panel: its name and a value a question."""

    name: str
    values: Sequence[float]


def sequence(rows: Iterable[ReplayedQuestion]) -> list[ReplayedQuestion]:
    """Return the questions in order, the n-th of every repository before any (n+1)-th; by pass."""
    by_turn: dict[int, dict[str, list[ReplayedQuestion]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        by_turn[row.turn][row.repo].append(row)
    return [
        row
        for _, repos in sorted(by_turn.items())
        for row in chain.from_iterable(zip_longest(*repos.values()))
        if row is not None
    ]


def panels(rows: Sequence[ReplayedQuestion]) -> list[tuple[str, list[Line]]]:
    """Return the titles and lines of the panels.

    Shares are running ones: of the questions asked again so far, and for wrong answers of all
    questions so far.
    """
    again = list(accumulate(float(row.kind == "again") for row in rows))
    right = accumulate(float(row.reply.verdict in {"right", "near"}) for row in rows)
    wrong = accumulate(float(row.wrong) for row in rows)
    mine = [row if row.kind == "again" else None for row in rows]
    saved = [row.forest.tokens - row.reply.cost.tokens if row else 0 for row in mine]
    ready = [row.settled.tokens - row.reply.settled.tokens if row else 0 for row in mine]
    return [
        (
            (
                "share of the questions asked again that the map answered; "
                "wrong answers, of all questions"
            ),
            [
                Line(
                    "answered, and right",
                    [a / max(b, 1) for a, b in zip(right, again, strict=True)],
                ),
                Line("wrong", [value / at for at, value in enumerate(wrong, 1)]),
            ],
        ),
        (
            "tokens saved so far against the forest alone",
            [
                Line("until a relevant file is named", list(accumulate(map(float, saved)))),
                Line("until READY", list(accumulate(map(float, ready)))),
            ],
        ),
    ]


def plot(rows: Iterable[ReplayedQuestion]) -> str:
    """Return the drawing as SVG."""
    drawn = panels(sequence(rows))
    height = len(drawn) * (HEIGHT + 2 * GAP)
    body, ink = [], iter(INKS)
    for at, (title, lines) in enumerate(drawn):
        top = at * (HEIGHT + 2 * GAP) + GAP
        body.append(_panel(title, lines, top, [next(ink) for _ in lines]))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH + LEFT + GAP} {height}" '
        'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>'
        f"{''.join(body)}</svg>\n"
    )


def _panel(title: str, lines: Sequence[Line], top: int, inks: Sequence[str]) -> str:
    values = [value for line in lines for value in line.values] or [0.0]
    low, high = min(0.0, *values), max(0.0, *values)
    high = high if high > low else low + 1

    def height(value: float) -> float:
        return top + HEIGHT * (high - value) / (high - low)

    parts = [f'<text x="{LEFT}" y="{top - 12}" font-weight="bold">{escape(title)}</text>']
    for value in (low, (low + high) / 2, high):
        y = height(value)
        said = f"{value:.2f}" if high - low <= 2 else f"{value:,.0f}"
        parts.append(
            f'<line x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
            f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{said}</text>'
        )
    for place, (line, ink) in enumerate(zip(lines, inks, strict=True)):
        count = len(line.values)
        points = " ".join(
            f"{LEFT + WIDTH * at / max(count, 1):.1f},{height(value):.1f}"
            for at, value in enumerate(line.values, 1)
        )
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{ink}" stroke-width="1.5"/>'
            f'<text x="{LEFT + place * WIDTH / 2}" y="{top + HEIGHT + 18}" fill="{ink}">'
            f"{escape(line.name)}</text>"
        )
    questions = len(lines[0].values) if lines else 0
    parts.append(
        f'<text x="{LEFT + WIDTH}" y="{top + HEIGHT + 18}" text-anchor="end">'
        f"question {questions}</text>"
    )
    return "".join(parts)
