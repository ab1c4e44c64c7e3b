"""Fit the files of a bundle into a token budget.

First each file gets a signature and a few lines; files that no longer fit get one line each. Then
files grow, best first, within the budget and `GROWTH_LIMITS`, so that the first files do not crowd
out the others. Tokens are those of `answers.tokens` for the JSON of `files` and `further`
(docs/decisions/0023).
"""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from code_intel.forest.bundles.bundle import Bundle, BundleCandidate
from code_intel.forest.bundles.fragments import Fragment, Size, fragments, outline
from code_intel.tools.wire.answers import tokens
from code_intel.tools.wire.suspicion import flags_of, is_instruction

GROWTH_LIMITS = ((3, 0.25), (6, 0.6))
"""Rows of (n, share): the first n files take at most this share of the budget when files grow."""
MAX_FILE_SHARE = 1.25
"""Maximum size of a grown file, as a multiple of an even share of the budget."""
MAX_OUTLINE_CHARS = 120
"""Maximum length of the text for a file in `further`."""
MAX_LINE_CHARS = 240
FURTHER_SHARE = 0.15
"""Share of the budget reserved for `further`."""


class PackedBundle(NamedTuple):
    """Files with fragments, files in one line each, their tokens, and whether any did not fit."""

    files: list[dict[str, Any]]
    further: list[str]
    tokens: int
    truncated: bool


def pack(bundle: Bundle, limit: int, budget: int, *, compact: bool = False) -> PackedBundle:
    """Pack a bundle.

    Args:
        bundle: The files, best first.
        limit: Maximum number of files with fragments.
        budget: Maximum tokens; the first file is always shown.
        compact: Whether to omit the text.
    """
    shown = _signatures(bundle, limit, int(budget * (1 - FURTHER_SHARE)), compact=compact)
    remaining = budget - sum(map(_cost, shown))
    further: list[str] = []
    for candidate in bundle.files[len(shown) :]:
        line = _line(candidate, bundle.terms)
        remaining -= _cost(line)
        if remaining < 0:
            break
        further.append(line)
    if not compact:
        _grow(bundle, shown, budget - sum(map(_cost, further)))
    spent = sum(map(_cost, shown)) + sum(map(_cost, further))
    return PackedBundle(shown, further, spent, len(shown) + len(further) < len(bundle.files))


def _signatures(bundle: Bundle, limit: int, budget: int, *, compact: bool) -> list[dict[str, Any]]:
    shown: list[dict[str, Any]] = []
    for candidate in bundle.files[:limit]:
        item = _item(candidate, bundle.terms, Size.SIGNATURE, compact=compact)
        budget -= _cost(item)
        if budget < 0 and shown:
            break
        shown.append(item)
    return shown


def _grow(bundle: Bundle, shown: list[dict[str, Any]], budget: int) -> None:
    """Show more of the files, best first, within `GROWTH_LIMITS`."""
    costs = [_cost(item) for item in shown]
    max_cost = MAX_FILE_SHARE * budget / max(len(shown), 1)
    for size in (Size.SYMBOL, Size.SYMBOLS):
        for index, candidate in enumerate(bundle.files[: len(shown)]):
            item = _item(candidate, bundle.terms, size)
            new_costs = [*costs[:index], _cost(item), *costs[index + 1 :]]
            fits = new_costs[index] <= max_cost and sum(new_costs) <= budget
            if fits and _within_limits(new_costs, budget):
                shown[index], costs = item, new_costs


def _within_limits(costs: Sequence[int], budget: int) -> bool:
    return all(
        sum(costs[:files]) <= share * budget for files, share in GROWTH_LIMITS if len(costs) > files
    )


def _item(
    candidate: BundleCandidate, terms: Sequence[str], size: Size, *, compact: bool = False
) -> dict[str, Any]:
    shown = fragments(candidate.source, candidate.chunks, terms, size)
    texts = [] if compact else [fragment.text for fragment in shown]
    return {
        "file": candidate.path,
        "score": round(candidate.score, 3),
        "why": list(candidate.why),
        "fragments": [_fragment(fragment, compact=compact) for fragment in shown],
        **flags_of(candidate.path, *texts),
    }


def _fragment(fragment: Fragment, *, compact: bool) -> dict[str, Any]:
    data: dict[str, Any] = {"start_line": fragment.start_line, "end_line": fragment.end_line}
    if fragment.symbol:
        data["symbol"] = fragment.symbol
    if not compact:
        data["text"] = "\n".join(line[:MAX_LINE_CHARS] for line in fragment.text.split("\n"))
    return data


def _line(candidate: BundleCandidate, terms: Sequence[str]) -> str:
    """Return the line for a file in `further`, without text that looks like an instruction."""
    line, text = outline(candidate.source, candidate.chunks, terms)
    if not line:
        return candidate.path
    shown = "" if is_instruction(text) else f"  {text[:MAX_OUTLINE_CHARS]}"
    return f"{candidate.path}:{line}{shown}".rstrip()


def _cost(item: object) -> int:
    """Estimate the tokens of one item and the separator after it."""
    return tokens(json.dumps(item, ensure_ascii=False) + ", ")
