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
MAX_REPETITIONS = 600
"""Instructions that repetitions may add to a pattern.

Each may be a state for every byte of the text; at this limit RE2 reads 300,000 bytes per second.
"""
MAX_MEMORY_BYTES = 1 << 20
"""Bytes that RE2 may use for a pattern, its cache of states included."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_BY_NUMBER = re.compile(r"\\x\{[0-9A-Fa-f]*\}")
_TOO_LARGE = "pattern too large"
_OTHER = "Correct it (RE2 syntax), or use keywords for plain words."
_REMEDIES = (
    (
        r"invalid perl operator: \(\?<?[=!]",
        "Remove look-ahead and look-behind, or make them patterns of their own.",
    ),
    (
        r"invalid escape sequence: \\[1-9]",
        "Replace the back-reference by the text that it repeats.",
    ),
    (r"invalid escape sequence: \\u", r"Write the character itself or its number: \x{3042}."),
    (
        r"invalid repetition size",
        "Repeat at most 1,000 times (nested repetitions are multiplied), or use +.",
    ),
    (_TOO_LARGE, "Repeat fewer times (nested repetitions are multiplied), or use +."),
    (
        r"missing \)|unexpected \)|missing \]",
        r"Close the bracket, or put \ before a literal bracket.",
    ),
    (
        r"no argument for repetition|bad repetition",
        r"Put \ before a literal *, + or ?, and only one of them after an element.",
    ),
    (r"trailing \\", r"Write \\ for a backslash."),
)  # fmt: skip
"""What RE2 says, and what to write instead; the first that fits."""


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
        raise _refused(
            field, f"is not a valid pattern: {_placed(program, pattern)}", _remedy(program)
        )
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

    # As bytes a class is one instruction, so that what is left beside the letters is what repeats.
    bare = _BY_NUMBER.sub("x", pattern).encode()
    try:
        program = re2.compile(pattern, _options(re2, latin=False))
        repeated = re2.compile(bare, _options(re2, latin=True)).programsize - len(bare)
    except re2.error as error:
        said = error.args[0]
        return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    finally:
        re2.purge()  # its own cache would hold 128 programs of any size
    return program if repeated <= MAX_REPETITIONS else _TOO_LARGE


def _options(re2: Any, *, latin: bool) -> Any:
    options = re2.Options()
    options.log_errors = False  # it would write to stderr
    options.max_mem = MAX_MEMORY_BYTES
    if latin:
        options.encoding = re2.Options.Encoding.LATIN1
    return options


def _placed(reason: str, pattern: str) -> str:
    """Add to RE2's reason, which quotes the part it is about, where that part begins."""
    _, _, part = reason.partition(": ")
    at = pattern.find(part) if part and part != pattern else -1
    return f"{reason} at character {at}" if at >= 0 else reason


def _remedy(reason: str) -> str:
    return next((remedy for said, remedy in _REMEDIES if re.match(said, reason)), _OTHER)


def _refused(field: str, problem: str, hint: str) -> UsageError:
    return UsageError(f"{field} {problem}.", hint=hint, details={"field": field})
