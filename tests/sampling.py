"""Choose the rows of a sweep that run by default; the others run with `./setup.sh test --all`."""

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(rows: Iterable[Any], *kept: Any, step: int = 0) -> list[Any]:
    """Return the rows for `parametrize`, all but some marked `long`.

    Args:
        rows: The whole sweep.
        kept: The rows that run by default.
        step: Keep every n-th row instead.
    """
    return [
        row
        if row in kept or (step and place % step == 0)
        else pytest.param(row, marks=pytest.mark.long)
        for place, row in enumerate(rows)
    ]
