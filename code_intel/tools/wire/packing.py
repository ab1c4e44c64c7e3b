"""How the files of a bundle are laid out within a token budget.

The order decides how soon a reader meets the file that matters, so what comes first is short: each file
gets a signature and a few lines, those for which nothing is left become one line, and only then do files
grow, best first, as far as `PACE` and the budget allow. Tokens are estimated as `answers.tokens` does, over
the JSON of `files` and `further` (docs/decisions/0023).
"""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from code_intel.forest.bundles.bundle import Bundle, Candidate
from code_intel.forest.bundles.fragments import Fragment, Size, fragments, outline
from code_intel.tools.wire.answers import tokens
from code_intel.tools.wire.suspicion import flags_of, is_instruction

PACE = ((3, 0.25), (6, 0.6))
"""How many files the first part of a budget must hold when files grow, if there are more."""
MOST_OF_ONE = 1.25
"""Even shares of the budget up to which a file grows: what is left over is not all for the last one."""
LINE = 120
"""Characters of a file that is one line."""
FRAGMENT_LINE = 240
"""Characters of a line that is shown."""
RESERVED = 0.15
"""Share of a budget that is kept for files of one line."""


class Packed(NamedTuple):
    """The wire form of a bundle: files with fragments, files of one line, tokens, whether all fitted."""

    files: list[dict[str, Any]]
    further: list[str]
    tokens: int
    truncated: bool


def pack(bundle: Bundle, limit: int, budget: int, *, compact: bool = False) -> Packed:
    """Lay a bundle out.

    Args:
        bundle: Files, best first.
        limit: Most files of which lines are shown.
        budget: Most tokens; a first file that is larger is shown all the same.
        compact: Leave the text out: where to look, and why.
    """
    shown = _start(bundle, limit, int(budget * (1 - RESERVED)), compact=compact)
    left = budget - sum(map(_cost, shown))
    further: list[str] = []
    for candidate in bundle.files[len(shown) :]:
        line = _line(candidate, bundle.terms)
        left -= _cost(line)
        if left < 0:
            break
        further.append(line)
    if not compact:
        _grow(bundle, shown, budget - sum(map(_cost, further)))
    spent = sum(map(_cost, shown)) + sum(map(_cost, further))
    return Packed(shown, further, spent, len(shown) + len(further) < len(bundle.files))


def _start(bundle: Bundle, limit: int, budget: int, *, compact: bool) -> list[dict[str, Any]]:
    shown: list[dict[str, Any]] = []
    for candidate in bundle.files[:limit]:
        item = _item(candidate, bundle.terms, Size.SIGNATURE, compact=compact)
        budget -= _cost(item)
        if budget < 0 and shown:
            break
        shown.append(item)
    return shown


def _grow(bundle: Bundle, shown: list[dict[str, Any]], budget: int) -> None:
    """Show more of files, the best first, where what comes after them stays near enough."""
    costs = [_cost(item) for item in shown]
    most = MOST_OF_ONE * budget / max(len(shown), 1)
    for size in (Size.SYMBOL, Size.SYMBOLS):
        for place, candidate in enumerate(bundle.files[: len(shown)]):
            item = _item(candidate, bundle.terms, size)
            tried = [*costs[:place], _cost(item), *costs[place + 1 :]]
            fits = tried[place] <= most and sum(tried) <= budget
            if fits and _keeps_pace(tried, budget):
                shown[place], costs = item, tried


def _keeps_pace(costs: Sequence[int], budget: int) -> bool:
    return all(sum(costs[:files]) <= share * budget for files, share in PACE if len(costs) > files)


def _item(
    candidate: Candidate, terms: Sequence[str], size: Size, *, compact: bool = False
) -> dict[str, Any]:
    shown = fragments(candidate.source, candidate.chunks, terms, size)
    texts = [] if compact else [each.text for each in shown]
    return {
        "file": candidate.path,
        "score": round(candidate.score, 3),
        "why": list(candidate.why),
        "fragments": [_fragment(each, compact=compact) for each in shown],
        **flags_of(candidate.path, *texts),
    }


def _fragment(fragment: Fragment, *, compact: bool) -> dict[str, Any]:
    data: dict[str, Any] = {"start_line": fragment.start_line, "end_line": fragment.end_line}
    if fragment.symbol:
        data["symbol"] = fragment.symbol
    if not compact:
        data["text"] = "\n".join(line[:FRAGMENT_LINE] for line in fragment.text.split("\n"))
    return data


def _line(candidate: Candidate, terms: Sequence[str]) -> str:
    """Return a file in one line; text that gives orders has no place where nothing marks it as data."""
    line, text = outline(candidate.source, candidate.chunks, terms)
    if not line:
        return candidate.path
    shown = "" if is_instruction(text) else f"  {text[:LINE]}"
    return f"{candidate.path}:{line}{shown}".rstrip()


def _cost(item: object) -> int:
    """Estimate the tokens of one item, the separator after it included."""
    return tokens(json.dumps(item, ensure_ascii=False) + ", ")
