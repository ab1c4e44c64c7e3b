r"""Content patterns on RE2: time is linear in the text, whatever the pattern (docs/decisions/0040).

Read as JavaScript's `new RegExp(pattern)` reads what seed 003 has for examples: case counts, `.` is no line
end, `^` and `$` are the ends of the whole text, `\d`, `\w` and `\b` know ASCII alone; `(?i)`, `(?m)` and `(?s)`
in front change that. Two things differ: characters by number are `\x{3042}`, and what RE2 cannot do in
linear time, looking around and back-references, is refused.
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
"""Instructions that counted repetitions may add to a pattern: each may be a state that every byte of a text moves, and
three hundred thousand bytes a second is then the slowest it runs."""
MAX_MEMORY_BYTES = 1 << 20
"""Bytes that RE2 may use for a pattern, its cache of states included."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_BY_NUMBER = re.compile(r"\\x\{[0-9A-Fa-f]*\}")
_TOO_LARGE = "pattern too large"
_OTHER = "Correct it; the syntax is RE2's. For the words themselves, put them into keywords."
_REMEDIES = (
    (r"invalid perl operator: \(\?<?[=!]", "Leave out what looks ahead or behind; give what must be there as a pattern of its own."),
    (r"invalid escape sequence: \\[1-9]", "Leave out the back-reference and spell what it repeats."),
    (r"invalid escape sequence: \\u", r"Write characters as they are, or by number: \x{3042}."),
    (r"invalid repetition size", "Repeat 1,000 times at most, nested ones multiplied, or write + instead."),
    (_TOO_LARGE, "Repeat less often, nested repetitions multiplied; or write + instead."),
    (r"missing \)|unexpected \)|missing \]", r"Close what is open, or put \ before a bracket that means itself."),
    (r"no argument for repetition|bad repetition", r"Put \ before a *, + or ? that means itself, and one alone after what is repeated."),
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
    """Return a pattern, compiled once.

    Args:
        pattern: RE2's syntax.
        field: What it is called where it comes from, such as `expectedResults.contentPatterns[1]`.

    Raises:
        UsageError: It is empty, too long or too large, no Unicode, or nothing that RE2 can run; says where
            and what to write instead.
    """
    if not pattern.strip():
        raise _refused(field, "is empty: it would match everything", "Leave it out.")
    if len(pattern) > MAX_PATTERN_CHARS:
        raise _refused(
            field,
            f"has {counted(len(pattern), 'character')}; {MAX_PATTERN_CHARS} are the most",
            "Shorten it, or make several of it.",
        )
    if surrogate := _SURROGATE.search(pattern):
        raise _refused(
            field,
            f"has half a character at {surrogate.start()}: U+{ord(surrogate[0]):04X}",
            "Send the whole character, both halves in order.",
        )
    program = _compiled(pattern)
    if isinstance(program, str):
        raise _refused(field, f"is no pattern: {_placed(program, pattern)}", _remedy(program))
    return ContentPattern(pattern, program)


def all_compiled(
    patterns: Sequence[str], field: str = "expectedResults.contentPatterns"
) -> tuple[ContentPattern, ...]:
    """Return several patterns; raises as `compiled` does, with the place of the first that is wrong.

    Raises:
        UsageError: One cannot be used, or there are more than `MOST`.
    """
    if len(patterns) > MAX_PATTERNS:
        raise _refused(
            field,
            f"has {counted(len(patterns), 'pattern')}; {MAX_PATTERNS} are the most",
            "Keep those that tell most.",
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
