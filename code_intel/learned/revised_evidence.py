"""Check the evidence of an agreement against the code after an edit. Pure."""

import re
from difflib import get_close_matches

MAX_QUOTE_CHARS = 200
MIN_LINE_LIKENESS = 0.6
"""Least similarity of a line that replaces a quote."""
_MIN_LINE_CHARS = 4
_QUOTE = re.compile(r"`([^`\n]{3,})`")
_NOTE = re.compile(r" \[(?:Outdated|Written before).*\]\Z", re.DOTALL)


def revised(evidence: str, before: str, after: str) -> str:
    r"""Return a sentence of evidence so that it is true of the edited code of the symbol.

    A quote (text in backticks) that is gone is replaced with the new line that resembles it. If
    no line does, or if there is no quote, the sentence says that the code has changed, and how it
    is now.

    Args:
        evidence: A sentence about the code as it was.
        before: The code of the symbol before the edit.
        after: The code after it.

    >>> revised("it opens the door: `open(door)`", "open(door)", "open(door, key)")
    'it opens the door: `open(door, key)`'
    >>> revised("no size check", "send(x)", "check(x)\nsend(x)")
    'no size check [Written before the last change; now: `check(x)`]'
    """
    text = _NOTE.sub("", evidence)
    if _folded(before) == _folded(after):
        return evidence
    lines = [line.strip() for line in after.splitlines()]
    lines = [line for line in lines if len(line) >= _MIN_LINE_CHARS and "`" not in line]
    old = set(map(_folded, before.splitlines()))
    new = [line for line in lines if _folded(line) not in old]
    quotes = [quote for quote in _QUOTE.findall(text) if _folded(quote) in _folded(before + after)]
    is_outdated = False
    for quote in quotes:
        if _folded(quote) in _folded(after):
            continue
        near = get_close_matches(quote.strip(), new, n=1, cutoff=MIN_LINE_LIKENESS)
        text = text.replace(f"`{quote}`", f"`{near[0][:MAX_QUOTE_CHARS]}`") if near else text
        is_outdated = is_outdated or not near
    if quotes and not is_outdated:
        return text
    now = next(iter((*new, *lines)), "")
    shown = f"; now: `{now[:MAX_QUOTE_CHARS]}`" if now else ""
    kind = "Outdated: the quoted code has changed" if quotes else "Written before the last change"
    return f"{text} [{kind}{shown}]"


def _folded(text: str) -> str:
    return " ".join(text.split())
