r"""Compile content patterns with RE2, whose time is linear in the text (docs/decisions/0040).

Patterns have the meaning of JavaScript's `new RegExp(pattern)`, as in examples of seed 003:
case counts, `.` does not match a line end, `^` and `$` are the ends of the text, `\d`, `\w` and
`\b` are ASCII. `(?i)`, `(?m)` and `(?s)` at the start change that. Two things differ: `\x{3042}` is
a character by number, and look-around and back-references are refused.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from code_intel.errors import UsageError
from code_intel.foundation.text import counted

MAX_PATTERNS, MAX_PATTERN_CHARS = 20, 500
"""Patterns of a plan, and characters of each."""
MAX_MEMORY_BYTES = 1 << 20
"""Bytes that RE2 may use for a pattern, its cache of states included."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_REMEDY = (
    r"Correct it (RE2 syntax: no look-around, no back-references, \x{3042} for a character by "
    "number), or use keywords."
)


class ContentPattern:
    """A pattern that compiled; `found` is all that a plan asks of it."""

    __slots__ = ("_program", "source")

    def __init__(self, source: str, program: Any) -> None:
        self.source = source
        self._program = program

    def found(self, text: str) -> bool:
        """Whether the pattern matches anywhere in `text`; what has no UTF-8 is a `?` in it."""
        return self._program.search(text.encode("utf-8", "replace")) is not None


def compiled(pattern: str, field: str) -> ContentPattern:
    """Return a compiled pattern, cached.

    Args:
        pattern: RE2 syntax.
        field: The name of its input, such as `expectedResults.contentPatterns[1]`.

    Raises:
        UsageError: It is empty, too long, too large, or not valid; it names place and remedy.
    """
    if not pattern.strip():
        raise _refused(field, "is empty and would match everything", "Leave it out.")
    if len(pattern) > MAX_PATTERN_CHARS:
        raise _refused(
            field,
            f"has {counted(len(pattern), 'character')}; the limit is {MAX_PATTERN_CHARS}",
            "Shorten it, or split it into several patterns.",
        )
    if surrogate := _SURROGATE.search(pattern):
        raise _refused(
            field,
            f"has half of a surrogate pair at {surrogate.start()}: U+{ord(surrogate[0]):04X}",
            "Send the whole character.",
        )
    program = _compiled(pattern)
    if isinstance(program, str):
        raise _refused(field, f"is not a valid pattern: {program}", _REMEDY)
    return ContentPattern(pattern, program)


def all_compiled(
    patterns: Sequence[str], field: str = "expectedResults.contentPatterns"
) -> tuple[ContentPattern, ...]:
    """Return compiled patterns; an error names the first invalid one.

    Raises:
        UsageError: One is invalid, or there are too many.
    """
    if len(patterns) > MAX_PATTERNS:
        raise _refused(
            field,
            f"has {counted(len(patterns), 'pattern')}; the limit is {MAX_PATTERNS}",
            "Keep the most significant ones.",
        )
    return tuple(compiled(pattern, f"{field}[{at}]") for at, pattern in enumerate(patterns))


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> Any:
    """Return RE2's program, or what it says against the pattern."""
    import re2  # a server that is asked for no plan does without

    options = re2.Options()
    options.log_errors = False  # it would write to stderr
    options.max_mem = MAX_MEMORY_BYTES
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        said = error.args[0]
        return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    finally:
        re2.purge()  # its own cache would hold 128 programs of any size


def _refused(field: str, problem: str, hint: str) -> UsageError:
    return UsageError(f"{field} {problem}.", hint=hint, details={"field": field})
