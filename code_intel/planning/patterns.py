r"""Compile content patterns with RE2, whose time is linear in the text (docs/decisions/0040).

Patterns have the meaning of JavaScript's `new RegExp(pattern)`, as in examples of seed 003:
case counts, `.` does not match a line end, `^` and `$` are the ends of the text, `\d`, `\w` and
`\b` are ASCII. `(?i)`, `(?m)` and `(?s)` at the start change that. Two things differ: `\x{3042}` is
a character by number, and look-around and back-references are refused.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from code_intel.errors import UsageError
from code_intel.index.cancellation import raise_if_cancelled

MAX_PATTERNS, MAX_PATTERN_CHARS = 20, 500
"""Patterns of a plan, and characters of each."""
MAX_MEMORY_BYTES = 1 << 20
"""Bytes that RE2 may use for a pattern, its cache of states included."""
_REMEDY = (
    r"Correct it (RE2 syntax: no look-around, no back-references, \x{3042} for a character by "
    "number), or use keywords."
)


def found(pattern: str, text: str) -> bool:
    """Return whether a pattern matches anywhere in a text; half characters are a `?` in it.

    Raises:
        ValueError: The pattern is not valid; `check` refuses it before.
        BusyError: The call was cancelled; fifty chunks with twenty slow patterns take long.
    """
    raise_if_cancelled()
    return _compiled(pattern).search(text.encode("utf-8", "replace")) is not None


def check(patterns: Sequence[str], field: str = "expectedResults.contentPatterns") -> None:
    """Compile patterns.

    Raises:
        UsageError: One is empty, too large or not valid; it names place and remedy.
    """
    for at, pattern in enumerate(patterns):
        problem = "" if pattern.strip() else "is empty and would match everything"
        try:
            _compiled(pattern)
        except ValueError as error:
            problem = f"is not a valid pattern: {error}"
        if problem:
            name = f"{field}[{at}]"
            raise UsageError(f"{name} {problem}.", hint=_REMEDY, details={"field": name})


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> Any:
    """Return RE2's program, or raise a ValueError with what it says against the pattern."""
    import re2  # a server that is asked for no plan does without

    options = re2.Options()
    options.log_errors = False  # it would write to stderr
    options.max_mem = MAX_MEMORY_BYTES
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        said = error.args[0]
        raise ValueError(said.decode("utf-8", "replace")) from None
    finally:
        re2.purge()  # its own cache would hold 128 programs of any size
