"""Count the word characters that each match of a regular expression must have.

The syntax is ripgrep's (the Rust crate `regex`). A misread pattern counts as requiring fewer.
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
    """A group being read: the least count of its alternatives, and that of the current one."""

    def __init__(self) -> None:
        self.least: int | None = None
        self.count = 0
        self.last = 0

    def add(self, count: int) -> None:
        self.count += count
        self.last = count

    def repeat(self, times: int) -> None:
        self.count += self.last * (times - 1)
        self.last *= times

    def end(self) -> None:
        self.least = self.count if self.least is None else min(self.least, self.count)
        self.count = self.last = 0


@functools.lru_cache(1024)
def least_word_chars(pattern: str) -> int:
    """Return how many word characters `pattern` spells out for each of its matches.

    Classes, escapes and optional parts count as 0; of alternatives the shortest counts. An invalid
    pattern, or one in verbose mode, counts as 0.

    >>> least_word_chars("[Ll]og(in|out)+")
    4
    >>> least_word_chars("login|.")
    0
    """
    groups = [_Group()]
    at = 0
    while at < len(pattern):
        if pattern[at] == "[":
            at = _class_end(pattern, at)
            groups[-1].add(0)
            continue
        match = re.compile(_PARTS, re.DOTALL).match(pattern, at)
        if match is None:
            return 0
        at = match.end()
        if not _read(groups, match):
            return 0
    groups[0].end()
    return (groups[0].least or 0) if len(groups) == 1 else 0


def _read(groups: list[_Group], match: re.Match[str]) -> bool:
    """Process one token; return False if the pattern cannot be judged."""
    kind, text = match.lastgroup, match.group()
    if kind in {"flags", "open"} and "x" in text.partition("<")[0]:
        return False
    if kind == "open":
        groups.append(_Group())
    elif kind == "close":
        if len(groups) == 1:
            return False
        done = groups.pop()
        done.end()
        groups[-1].add(done.least or 0)
    elif kind == "either":
        groups[-1].end()
    elif kind == "times":
        groups[-1].repeat(_fewest(text))
    elif kind != "flags":
        groups[-1].add(int(kind == "char" and text.isalnum()))
    return True


def _fewest(times: str) -> int:
    """Return the least number of repetitions of `?`, `*`, `+` or `{3,5}`."""
    counted = re.match(r"\{(\d+)", times)
    return int(counted[1]) if counted else int(times.startswith("+"))


def _class_end(pattern: str, at: int) -> int:
    """Return the end of the class that begins at `at`; classes may be nested."""
    start = re.compile(r"\[\^?\]?").match(pattern, at)
    at = start.end() if start else at + 1
    depth = 1
    while at < len(pattern) and depth:
        depth += {"[": 1, "]": -1}.get(pattern[at], 0)
        at += 2 if pattern[at] == "\\" else 1
    return at
