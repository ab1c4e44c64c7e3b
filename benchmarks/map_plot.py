"""The figures of `map_recall.py` as one SVG: two curves and the reliability diagram."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import cycle, islice

from benchmarks.map_judging import BINS, Reliability

Point = tuple[float, float]

SIDE, GAP = 260, 70
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9")
LAST = "#000000"
"""What all sets together are drawn in, and a single one."""


def svg(
    curves: Mapping[str, Sequence[Mapping[str, float]]], reliability: Mapping[str, Reliability]
) -> str:
    """Draw.

    Args:
        curves: Points of each set, as `map_judging.curve` returns them.
        reliability: Of the same sets.
    """
    near, unrelated = _against(curves, "near_miss"), _against(curves, "unrelated")
    panels = (
        ("hits against near misses taken", "near misses taken", "hits", 0.3, near),
        ("hits against unrelated taken", "unrelated taken", "hits", 0.1, unrelated),
        (
            f"reliability, {BINS} bins of equal mass",
            "score of the best agreement",
            "share right",
            1.0,
            {
                name: [(each.score, each.right) for each in found.bins]
                for name, found in reliability.items()
            },
        ),
    )
    width, height = 3 * (SIDE + GAP) + GAP, SIDE + 2 * GAP + 16 * len(curves)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">'
        '<rect width="100%" height="100%" fill="#fff"/>'
    )
    drawn = [line for at, panel in enumerate(panels) for line in _panel(at, *panel)]
    return "\n".join([head, *drawn, *_legend(list(curves)), "</svg>"]) + "\n"


def _against(
    curves: Mapping[str, Sequence[Mapping[str, float]]], across: str
) -> dict[str, list[Point]]:
    return {
        name: [(point[across], point["hit"]) for point in points if across in point]
        for name, points in curves.items()
    }


def _panel(
    at: int, title: str, across: str, up: str, widest: float, lines: Mapping[str, Iterable[Point]]
) -> list[str]:
    left, top = GAP + at * (SIDE + GAP), GAP
    drawn = [
        f'<g transform="translate({left},{top})">',
        f'<rect width="{SIDE}" height="{SIDE}" fill="none" stroke="#999"/>',
        f'<text x="0" y="-12" font-weight="bold">{escape(title)}</text>',
        f'<text x="{SIDE / 2}" y="{SIDE + 34}" text-anchor="middle">{escape(across)}</text>',
        f'<text transform="translate(-38,{SIDE / 2}) rotate(-90)" text-anchor="middle">{up}</text>',
    ]
    for tick in range(6):
        place = SIDE * tick / 5
        drawn += [
            f'<text x="{place}" y="{SIDE + 16}" text-anchor="middle">{widest * tick / 5:g}</text>',
            f'<text x="-6" y="{SIDE - place + 4}" text-anchor="end">{tick / 5:g}</text>',
            f'<path d="M0 {SIDE - place}H{SIDE}M{place} 0V{SIDE}" stroke="#eee"/>',
        ]
    if widest == 1:
        drawn.append(f'<path d="M0 {SIDE}L{SIDE} 0" stroke="#999" stroke-dasharray="4"/>')
    for colour, points in zip(_colours(len(lines)), lines.values(), strict=True):
        wide = 2.5 if colour == LAST else 1.5
        inside = [(x / widest * SIDE, SIDE - y * SIDE) for x, y in points if x <= widest]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in inside)
        drawn.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{wide}"/>'
        )
        if widest == 1:
            drawn += [
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in inside
            ]
    return [*drawn, "</g>"]


def _legend(names: Sequence[str]) -> list[str]:
    top = SIDE + GAP + 60
    return [
        f'<text x="{GAP}" y="{top + 16 * row}" fill="{colour}">{escape(name)}</text>'
        for row, (colour, name) in enumerate(zip(_colours(len(names)), names, strict=True))
    ]


def _colours(lines: int) -> list[str]:
    return [*islice(cycle(COLOURS), lines - 1), LAST]
