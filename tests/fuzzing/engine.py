"""Feed changed inputs to a function that reads bytes of others.

The inputs are seeds and changes of them, drawn from a seeded generator: a run can be repeated. An
input that reaches new lines becomes a seed, too. Only some inputs are traced, because tracing is
slow. Hypothesis is not used here: it draws some hundred such inputs a second, this some thousand.
"""

import random
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

TRACE_EVERY = 61
LONGEST = 1 << 14
"""Bytes of an input that is not grown; one of a hundred may have four times as many."""
MAX_SEEDS = 4000
PATIENCE_S = 20.0
"""Processor seconds after which an input counts as endless."""
MAX_EXPONENT = 1.5
"""A steeper growth is a finding; 1 is linear, 2 is quadratic."""
CONTROL = tuple(bytes([code]) for code in (0, 9, 10, 13, 27, 127, 128, 192, 255))
UNICODE = ("\ufeff", "\u2028", "\u202e", "\u3042", "\U0001f600", "\ud800", "e\u0301")
COMMON = (*CONTROL, *(text.encode("utf-8", "surrogatepass") for text in UNICODE))
JSON_WORDS = (
    b"null", b"true", b"-1", b"1e999", b"NaN", b"Infinity", b"{}", b"[]", b'""', b'"\\ud800"', b"{",
    b"[", b"}", b"]", b",", b":", b"9" * 30, b'"\\u0000"', b"0.1", b"[[[[", b'{"a":',
)  # fmt: skip


class Target(NamedTuple):
    """A function that reads bytes of others.

    Attributes:
        read: The function.
        seeds: Inputs that it accepts.
        modules: The files whose lines count, relative to the package.
        expected: The errors that it may raise.
        words: Parts of its format.
        limit: The largest input that it reads.
        steady: From which size on the time must be linear; below, it is short anyway.
    """

    read: Callable[[bytes], object]
    seeds: Sequence[bytes]
    modules: Sequence[str]
    expected: tuple[type[BaseException], ...] = ()
    words: Sequence[bytes] = ()
    limit: int = 1 << 20
    steady: int = 1 << 12


@dataclass
class Report:
    """What was found.

    Attributes:
        inputs: How many were read.
        seconds: Processor seconds in the function.
        lines: Lines that were reached, and all that there are.
        slowest: By power of two of the size in bytes, the longest time in ms.
        grown_mb: How much the peak of the memory has grown.
        findings: Tracebacks of unexpected errors, each kind once, with its input.
    """

    inputs: int = 0
    seconds: float = 0.0
    wall: float = 0.0
    lines: tuple[int, int] = (0, 0)
    slowest: dict[int, float] = field(default_factory=dict)
    grown_mb: float = 0.0
    findings: dict[str, tuple[bytes, str]] = field(default_factory=dict)


class Endless(BaseException):
    """An input takes too long."""


def fuzz(
    target: Target, inputs: int, *, seed: int = 1, until: float = float("inf"), package: Path
) -> Report:
    """Read changed inputs; stop early at `until` (`time.monotonic`)."""
    chance, report = random.Random(seed), Report()
    seeds = [*target.seeds]
    words = (*target.words, *COMMON)
    coverage = _Coverage([package / module for module in target.modules])
    signal.signal(signal.SIGVTALRM, _give_up)
    before, started = _peak_mb(), time.monotonic()
    for number in range(inputs):
        if number % 256 == 0 and time.monotonic() > until:
            break
        is_seed = number < len(target.seeds)
        data = seeds[number] if is_seed else changed(chance, seeds, words, target.limit)
        if is_seed or number % TRACE_EVERY == 0:
            with_new = coverage.traced(lambda data=data: _read(target, data, report, timed=False))  # type: ignore[misc]
            if with_new and not is_seed and len(seeds) < MAX_SEEDS:
                seeds.append(data)
        else:
            _read(target, data, report, timed=True)
        report.inputs += 1
    report.wall = time.monotonic() - started
    report.lines = coverage.counts()
    report.grown_mb = _peak_mb() - before
    return report


class _Draft:
    """An input that is being changed; each method makes one change in a part of it."""

    def __init__(
        self, chance: random.Random, seeds: Sequence[bytes], words: Sequence[bytes]
    ) -> None:
        self.chance, self.seeds, self.words = chance, seeds, words
        self.data = bytearray(chance.choice(seeds))

    def change(self) -> None:
        """Make one change, of any kind."""
        chance = self.chance
        start = chance.randrange(len(self.data) + 1)
        end = min(len(self.data), start + int(chance.expovariate(0.05)))
        chance.choice(self.KINDS)(self, start, end)

    def _delete(self, start: int, end: int) -> None:
        del self.data[start:end]

    def _insert_word(self, start: int, _end: int) -> None:
        self.data[start:start] = self.chance.choice(self.words)

    def _put_word(self, start: int, end: int) -> None:
        self.data[start:end] = self.chance.choice(self.words)

    def _repeat(self, start: int, end: int) -> None:
        self.data[start:start] = self.data[start:end]

    def _splice(self, start: int, end: int) -> None:
        other = self.chance.choice(self.seeds)
        place = self.chance.randrange(len(other) + 1)
        self.data[start:end] = other[place : place + self.chance.randrange(80)]

    def _insert_bytes(self, start: int, _end: int) -> None:
        self.data[start:start] = self.chance.randbytes(self.chance.randrange(1, 5))

    def _flip(self, start: int, _end: int) -> None:
        if self.data:
            self.data[min(start, len(self.data) - 1)] ^= 1 << self.chance.randrange(8)

    def _pile_up(self, start: int, _end: int) -> None:
        if self.chance.random() < 0.2:
            word = self.chance.choice(self.words)
            self.data[start:start] = word * self.chance.randrange(2, 200)

    def _cut(self, start: int, _end: int) -> None:
        if self.chance.random() < 0.1:
            del self.data[start:]

    KINDS = (
        _delete,
        _insert_word,
        _put_word,
        _repeat,
        _splice,
        _insert_bytes,
        _flip,
        _pile_up,
        _cut,
    )


def changed(
    chance: random.Random, seeds: Sequence[bytes], words: Sequence[bytes], limit: int
) -> bytes:
    """Return a seed after some changes."""
    draft = _Draft(chance, seeds, words)
    for _ in range(1 + int(chance.expovariate(0.4))):
        draft.change()
    longest = LONGEST * (4 if chance.random() < 0.01 else 1)
    return bytes(draft.data[: min(longest, limit)])


def growth(
    target: Target, doublings: int = 4, *, patterns: int | None = None, seed: int = 1
) -> "Iterator[Growth]":
    """Measure how the time grows with the size, for each seed and word repeated, and nested.

    Args:
        target: What reads the texts.
        doublings: How often the size doubles.
        patterns: How many of them to try, chosen by the seed; None for all.
        seed: Of the choice.
    """
    chosen = list(_patterns(target))
    if patterns is not None and patterns < len(chosen):
        chosen = random.Random(seed).sample(chosen, patterns)
    for name, pattern in chosen:
        grown = _grown(target, name, pattern, doublings, repeats=2)
        if grown.exponent > MAX_EXPONENT:  # other programs may have slowed it down
            grown = _grown(target, name, pattern, doublings, repeats=4)
        yield grown


def _grown(target: Target, name: str, pattern: bytes, doublings: int, *, repeats: int) -> "Growth":
    """Measure one pattern; of some repeats, the shortest counts."""
    times = []
    for size in (target.steady << step for step in range(doublings + 1)):
        if size > target.limit:
            break
        data = (pattern * (size // len(pattern) + 1))[:size]
        times.append(min(_time(target, data) for _ in range(repeats)))
        if times[-1] > 1:
            break
    return Growth(name, target.steady << (len(times) - 1), tuple(times))


class Growth(NamedTuple):
    """The times for sizes that double, in seconds."""

    pattern: str
    size: int
    times: tuple[float, ...]

    @property
    def exponent(self) -> float:
        """The growth from the second size to the last: 1 is linear, 2 quadratic; 0 if too short."""
        import math

        if len(self.times) < 3 or self.times[-1] < 0.02:
            return 0.0
        return math.log2(self.times[-1] / max(self.times[1], 1e-6)) / (len(self.times) - 2)


def _patterns(target: Target) -> Iterator[tuple[str, bytes]]:
    for data in target.seeds:
        if data:
            yield f"seed {data[:30]!r}", data
    head = next(iter(target.seeds))
    for word in (*target.words, *COMMON):
        yield f"word {word!r}", word
        yield f"line {word!r}", word + b"\n"
        yield f"seed and word {word!r}", head + word * max(1, 4096 // len(word))


def _time(target: Target, data: bytes) -> float:
    report = Report()
    started = time.thread_time()
    _read(target, data, report, timed=False)
    return time.thread_time() - started


def _read(target: Target, data: bytes, report: Report, *, timed: bool) -> None:
    signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE_S)
    started = time.thread_time()
    try:
        target.read(data)
    except target.expected:
        pass
    except (Exception, Endless) as error:  # noqa: BLE001 - whatever it is, it is a finding
        last = traceback.extract_tb(error.__traceback__)[-1]
        kind = f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}"
        known = report.findings.get(kind)
        if known is None or len(known[0]) > len(data):
            report.findings[kind] = data, "".join(traceback.format_exception(error))
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    if timed:
        seconds = time.thread_time() - started
        report.seconds += seconds
        size = max(1, len(data)).bit_length()
        report.slowest[size] = max(report.slowest.get(size, 0.0), seconds * 1000)


def _give_up(_number: int, _frame: FrameType | None) -> None:
    raise Endless


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class _Coverage:
    """The lines of some files that were reached."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._all = {str(file): _lines_of(file) for file in files}
        self._reached: set[tuple[str, int]] = set()

    def counts(self) -> tuple[int, int]:
        """Return how many lines were reached, and how many there are."""
        reached = {(name, line) for name, line in self._reached if line in self._all[name]}
        return len(reached), sum(map(len, self._all.values()))

    def traced(self, work: Callable[[], object]) -> bool:
        """Run a work and return whether it reached new lines."""
        before = len(self._reached)
        sys.settrace(self._enter)
        try:
            work()
        finally:
            sys.settrace(None)
        return len(self._reached) > before

    def _enter(self, frame: FrameType, _event: str, _arg: Any) -> Any:
        return self._line if frame.f_code.co_filename in self._all else None

    def _line(self, frame: FrameType, event: str, _arg: Any) -> Any:
        if event == "line":
            self._reached.add((frame.f_code.co_filename, frame.f_lineno))
        return self._line


def _lines_of(file: Path) -> set[int]:
    """Return the lines of the functions in a file that can be reached."""
    module = compile(file.read_text(encoding="utf-8"), str(file), "exec")
    found: set[int] = set()
    pending = [c for c in module.co_consts if isinstance(c, CodeType)]
    while pending:
        code = pending.pop()
        if code.co_flags & 1:  # a function; a class body is run by the import
            found |= {line for _, _, line in code.co_lines() if line and line > code.co_firstlineno}
        pending += [c for c in code.co_consts if isinstance(c, CodeType)]
    return found
