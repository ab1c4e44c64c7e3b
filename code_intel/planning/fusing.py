"""What a plan has found when it ends: of several rankings one (docs/decisions/0042)."""

from collections.abc import Sequence

from code_intel.planning.records import Iteration, Result


def final(iterations: Sequence[Iteration]) -> tuple[Result, ...]:
    """Return the results of the best iteration, the earliest of equals; none when none found anything."""
    found = [each for each in iterations if each.results]
    if not found:
        return ()
    return max(found, key=lambda each: each.evaluation.score).results
