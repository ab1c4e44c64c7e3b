"""Count the word characters that each match of a regular expression must have.

The syntax is ripgrep's (the Rust crate `regex`). If a pattern is misread, the count is too low.
"""

import functools
import re

# A string: `re` compiles it at first use, and hooks never use it.
_PARTS = (
    r"(?P<escape>\\[pP]\{[^}]*\}|\\[pP].|\\[xuU]\{[^}]*\}|\\x..|\\u.{4}|\\U.{8}|\\b\{[^}]*\}|\\.)"
    r"|(?P<flags>\(\?[A-Za-z-]+\))|(?P<open>\((?:\?P?<[^>]*>|\?[A-Za-z-]*:)?)|(?P<close>\))"
    r"|(?P<either>\|)|(?P<times>[?*+]\??|\{[\d,]*\}\??)|(?P<char>.)"
)


class _Group:
    """A group being read: the minimum of its finished alternatives, and the current count."""

    def __init__(self) -> None:
        self.minimum: int | None = None
        self.count = 0
        self.last_item = 0

    def add(self, count: int) -> None:
        self.count += count
        self.last_item = count

    def repeat(self, times: int) -> None:
        self.count += self.last_item * (times - 1)
        self.last_item *= times

    def end_alternative(self) -> None:
        self.minimum = self.count if self.minimum is None else min(self.minimum, self.count)
        self.count = self.last_item = 0


@functools.lru_cache(1024)
def min_word_chars(pattern: str) -> int:
    """Return how many word characters `pattern` spells out for each of its matches.

    Classes, escapes and optional parts count as 0. Of alternatives, the shortest counts. An invalid
    pattern, or one in verbose mode, counts as 0.

    >>> min_word_chars("[Ll]og(in|out)+")
    4
    >>> min_word_chars("login|.")
    0
    """
    groups = [_Group()]
    position = 0
    while position < len(pattern):
        if pattern[position] == "[":
            position = _class_end(pattern, position)
            groups[-1].add(0)
            continue
        match = re.compile(_PARTS, re.DOTALL).match(pattern, position)
        if match is None:
            return 0
        position = match.end()
        if not _process_token(groups, match):
            return 0
    groups[0].end_alternative()
    return (groups[0].minimum or 0) if len(groups) == 1 else 0


def _process_token(groups: list[_Group], match: re.Match[str]) -> bool:
    """Process one token; return False if the pattern cannot be judged."""
    kind, text = match.lastgroup, match.group()
    if kind in {"flags", "open"} and "x" in text.partition("<")[0]:
        return False
    if kind == "open":
        groups.append(_Group())
    elif kind == "close":
        if len(groups) == 1:
            return False
        group = groups.pop()
        group.end_alternative()
        groups[-1].add(group.minimum or 0)
    elif kind == "either":
        groups[-1].end_alternative()
    elif kind == "times":
        groups[-1].repeat(_min_repetitions(text))
    elif kind != "flags":
        groups[-1].add(int(kind == "char" and text.isalnum()))
    return True


def _min_repetitions(times: str) -> int:
    """Return the minimum number of repetitions of `?`, `*`, `+` or `{3,5}`."""
    match = re.match(r"\{(\d+)", times)
    return int(match[1]) if match else int(times.startswith("+"))


def _class_end(pattern: str, position: int) -> int:
    """Return the end of the class that begins at `position`; classes may be nested."""
    start = re.compile(r"\[\^?\]?").match(pattern, position)
    position = start.end() if start else position + 1
    depth = 1
    while position < len(pattern) and depth:
        depth += {"[": 1, "]": -1}.get(pattern[position], 0)
        position += 2 if pattern[position] == "\\" else 1
    return position
