"""What an agent does until it has found the places of a task, with ripgrep and with the gateway.

Every policy returns its calls, each with the text that the model gets and the lines of files that
this text shows. The policies know nothing of the answer; `agent_cost` compares.
"""

import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from benchmarks.plausibility_cases import is_source
from code_intel.chunking.words import STOP_WORDS
from code_intel.forest.ranking.question import read
from code_intel.forest.text.grep import find_ripgrep

MAX_CALLS = 30
WINDOW = 60
"""Lines that are read around a hit."""
BEST_FILES = 5
RAREST = 3
MAX_SHOWN = 100
"""Lines of a search that are read, as `head -100` cuts them."""
MAX_LINE = 200


class Printed(NamedTuple):
    """Lines of a file that an answer shows."""

    file: str
    lines: frozenset[int]


@dataclass
class Call:
    """One call: the text that the model gets, and what it shows."""

    text: str
    printed: list[Printed] = field(default_factory=list)


class Match(NamedTuple):
    """One line that ripgrep found, with the words of the request that it holds."""

    file: str
    line: int
    text: str
    words: frozenset[str]


@dataclass(frozen=True)
class Grep:
    """The searches of one request in one tree, and the windows to read, best first."""

    root: Path
    words: tuple[str, ...]
    matches: Sequence[Match]

    def listing(self) -> Call:
        """Return what `rg -n | head` prints."""
        shown = self.matches[:MAX_SHOWN]
        printed: dict[str, set[int]] = defaultdict(set)
        for match in shown:
            printed[match.file].add(match.line)
        text = "\n".join(f"{m.file}:{m.line}:{m.text[:MAX_LINE]}" for m in shown)
        return Call(text, [Printed(file, frozenset(lines)) for file, lines in printed.items()])

    def windows(self) -> Iterator[Call]:
        """Yield the text around the best hit of each file, best file first, then further hits.

        The best file holds most of the words, source before the rest; the best window, too.
        """
        by_file: dict[str, list[Match]] = defaultdict(list)
        for match in self.matches:
            by_file[match.file].append(match)
        queues = {file: _centres(matches) for file, matches in by_file.items()}
        ranked = sorted(by_file, key=lambda file: (not is_source(file), _rank(by_file[file]), file))
        while ranked:
            for start in range(0, len(ranked), BEST_FILES):
                for file in ranked[start : start + BEST_FILES]:
                    yield self._read(file, queues[file].pop(0))
            ranked = [file for file in ranked if queues[file]]

    def _read(self, file: str, centre: int) -> Call:
        lines = (self.root / file).read_text(encoding="utf-8", errors="replace").splitlines()
        first = max(0, min(centre - WINDOW // 2, len(lines) - WINDOW))
        shown = lines[first : first + WINDOW]
        numbers = frozenset(range(first + 1, first + 1 + len(shown)))
        return Call("\n".join(line[:1000] for line in shown), [Printed(file, numbers)])


def _rank(matches: Sequence[Match]) -> tuple[int, int]:
    words = frozenset[str]().union(*(match.words for match in matches))
    return -len(words), -len(matches)


def _centres(matches: Sequence[Match]) -> list[int]:
    """Return the lines around which to read, best first; windows do not overlap."""

    def value(centre: Match) -> tuple[int, int]:
        near = [m for m in matches if abs(m.line - centre.line) <= WINDOW // 2]
        return -len(frozenset[str]().union(*(m.words for m in near))), -len(near)

    chosen: list[int] = []
    for match in sorted(matches, key=lambda m: (value(m), m.line)):
        if all(abs(match.line - other) >= WINDOW for other in chosen):
            chosen.append(match.line)
    return chosen


def greps(root: Path, request: str) -> Iterator[Grep]:
    """Search for the identifiers of a request, then for its words by threes, rarest first."""
    words = [
        word
        for word in dict.fromkeys(re.findall(r"[^\W_][\w-]{2,}", request.casefold()))
        if word not in STOP_WORDS
    ]
    counts: Counter[str] = Counter()
    for match in _found(root, words):
        counts.update(match.words)
    rarest = sorted(counts, key=lambda word: (counts[word], word))
    groups = [tuple(rarest[i : i + RAREST]) for i in range(0, len(rarest), RAREST)]
    identifiers = tuple(dict.fromkeys(name.bare for name in read(request).names))
    for group in filter(None, (identifiers, *groups)):
        if matches := _found(root, group):
            yield Grep(root, group, matches)


def _found(root: Path, words: Sequence[str]) -> list[Match]:
    """Return the lines that hold any of the words."""
    if not words:
        return []
    patterns = [part for word in words for part in ("-e", word)]
    command = [find_ripgrep(), "-n", "-i", "-F", "--no-heading", "--sort=path", *patterns, "."]
    done = subprocess.run(
        command, cwd=root, capture_output=True, stdin=subprocess.DEVNULL, check=False
    )
    found = []
    for line in done.stdout.decode(errors="replace").splitlines():
        parts = line.removeprefix("./").split(":", 2)
        if len(parts) == 3 and parts[1].isdecimal():
            held = frozenset(word for word in words if word.casefold() in parts[2].casefold())
            found.append(Match(parts[0], int(parts[1]), parts[2], held))
    return found


def step_by_step(root: Path, request: str) -> Iterator[Call]:
    """Policy (a): a search, then one window a call; once all are read, the next search."""
    for search in greps(root, request):
        yield search.listing()
        yield from search.windows()


def chained(root: Path, request: str) -> Iterator[Call]:
    """Policy (b): a search and five windows in one shell call, then five more in each."""
    for search in greps(root, request):
        windows = search.windows()
        while group := list(islice(windows, BEST_FILES)):
            text = "\n".join(call.text for call in group)
            yield Call(text, [printed for call in group for printed in call.printed])


POLICIES: Mapping[str, Callable[[Path, str], Iterator[Call]]] = {
    "a: ripgrep, then read": step_by_step,
    "b: both in one shell call": chained,
}
