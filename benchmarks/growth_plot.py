"""The figures of `growth.py` as one SVG: a panel for each measure, both axes logarithmic."""

import math
from collections.abc import Mapping, Sequence
from html import escape

PANELS = (
    ("words indexed, s", ("words s", "semble index s"), 240.0),
    ("nothing to do, s", ("no-op s",), 3.0),
    ("first answer, s", ("first answer s",), 5.0),
    ("edit and branch, s", ("edit s", "branch s"), 1.0),
    ("p50 of a query, ms", ("query p50 ms", "with vectors p50 ms", "semble p50 ms"), 60.0),
    ("memory of all servers, MB", ("PSS MB",), 1200.0),
)  # fmt: skip
"""(title, lines, target at 100,000 files)"""
SIDE, GAP, COLUMNS = 220, 60, 3
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
FIRST, LAST = 3, 5
"""Powers of ten of the sizes."""


def svg(report: Mapping[str, Mapping[str, float]]) -> str:
    """Draw the rows by size; what was not measured is left out."""
    width = COLUMNS * (SIDE + GAP) + GAP
    height = -(-len(PANELS) // COLUMNS) * (SIDE + 2 * GAP) + GAP
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">'
        '<rect width="100%" height="100%" fill="#fff"/>'
    )
    drawn = [head]
    for at, (title, names, target) in enumerate(PANELS):
        left = GAP + at % COLUMNS * (SIDE + GAP)
        top = GAP + at // COLUMNS * (SIDE + 2 * GAP)
        drawn += [f'<g transform="translate({left},{top})">', *_panel(title, names, target, report)]
        drawn.append("</g>")
    return "\n".join([*drawn, "</svg>"]) + "\n"


def _panel(
    title: str, names: Sequence[str], target: float, report: Mapping[str, Mapping[str, float]]
) -> list[str]:
    lines = {
        name: [(int(size), row[name]) for size, row in report.items() if row.get(name, 0) > 0]
        for name in names
    }
    values = [target, *(value for points in lines.values() for _, value in points)]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    high = max(high, low + 1)

    def place(size: float, value: float) -> tuple[float, float]:
        across = (math.log10(size) - FIRST) / (LAST - FIRST)
        return across * SIDE, SIDE * (1 - (math.log10(value) - low) / (high - low))

    drawn = [
        f'<rect width="{SIDE}" height="{SIDE}" fill="none" stroke="#999"/>',
        f'<text x="0" y="-12" font-weight="bold">{escape(title)}</text>',
    ]
    for power in range(low, high + 1):
        y = place(10**FIRST, 10.0**power)[1]
        drawn.append(f'<path d="M0 {y:.1f}H{SIDE}" stroke="#eee"/>')
        drawn.append(f'<text x="-6" y="{y + 4:.1f}" text-anchor="end">{10.0**power:g}</text>')
    for power in range(FIRST, LAST + 1):
        x = place(10**power, 10.0**low)[0]
        drawn.append(f'<text x="{x:.1f}" y="{SIDE + 16}" text-anchor="middle">{10**power:,}</text>')
    x, y = place(10**LAST, target)
    drawn.append(f'<path d="M{x - 8:.1f} {y:.1f}h16" stroke="#000" stroke-width="2"/>')
    for row, ((name, points), colour) in enumerate(zip(lines.items(), COLOURS, strict=False)):
        path = " ".join("{:.1f},{:.1f}".format(*place(*point)) for point in points)
        drawn.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for across, up in (place(*point) for point in points):
            drawn += [f'<circle cx="{across:.1f}" cy="{up:.1f}" r="3" fill="{colour}"/>']
        drawn.append(
            f'<text x="0" y="{SIDE + 34 + 14 * row}" fill="{colour}">{escape(name)}</text>'
        )
    return drawn
