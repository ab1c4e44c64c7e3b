"""Print results as text or, with `--json`, as one JSON object; show progress on stderr.

Text on a terminal is coloured.
"""

import argparse
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from code_intel.foundation.redaction import masked
from code_intel.foundation.text import visible
from code_intel.tools.wire.printed import Form, printed

PROGRESS_DELAY_S = 1.0
"""Seconds after which the elapsed time is printed for the first time."""
BAR_WIDTH = 30
ERASE_LINE = "\r\x1b[K"
"""Moves the cursor of a terminal to the start of its line, and erases the line."""


class Advance(Protocol):
    """Reports the progress of long work."""

    def __call__(self, done: int, total: int, what: str) -> None:
        """Show that `done` of `total` units (0 if unknown) of a kind of work are done."""


def emit(
    args: argparse.Namespace, data: Mapping[str, Any], text: str, marks: Collection[str] = ()
) -> None:
    """Print the result with secrets masked and control characters made visible.

    Args:
        args: The options; `--json` chooses JSON.
        data: The result as JSON.
        text: The result as text.
        marks: Index tokens; a terminal shows the words with them in bold.
    """
    print(printed(form_of(args), data, text, marks), flush=True)


def form_of(args: argparse.Namespace) -> Form:
    """Return how the answer to a command line is printed."""
    return Form(args.json, not args.json and has_colours())


def has_colours() -> bool:
    """Return whether stdout is a terminal that shows colours, and the user does not refuse them.

    A terminal that is `dumb` gets none, and none are shown if NO_COLOR is set.
    """
    if not sys.stdout.isatty():
        return False
    from code_intel.config import shows_colours

    return shows_colours()


def say(text: str) -> None:
    """Print a sentence about running work on stderr, in the place of a progress bar."""
    start = ERASE_LINE if sys.stderr.isatty() else ""
    print(f"{start}{visible(masked(text))}", file=sys.stderr, flush=True)


@contextmanager
def progress() -> Iterator[Advance]:
    """Show a progress bar on stderr; print lines if it is not a terminal."""
    if not sys.stderr.isatty():
        yield _line_printer()
        return
    try:
        yield _bar_drawer()
    finally:
        sys.stderr.write(ERASE_LINE)
        sys.stderr.flush()


@contextmanager
def elapsed_time() -> Iterator[None]:
    """Print the elapsed time on stderr after a second, then at increasing intervals."""
    done = threading.Event()
    started = time.monotonic()

    def print_time() -> None:
        delay = PROGRESS_DELAY_S
        while not done.wait(delay):
            print(f"… {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
            delay *= 2

    thread = threading.Thread(target=print_time, name="elapsed-time", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _bar_drawer() -> Advance:
    """Return a function that draws a bar over the last one, with the time that is left."""
    time_left = _estimator()

    def advance(done: int, total: int, what: str) -> None:
        full = min(done, total) * BAR_WIDTH // total if total else 0
        bar = "━" * full + "─" * (BAR_WIDTH - full)
        left = time_left(done, total, what)
        sys.stderr.write(f"{ERASE_LINE}{what:<18} {bar} {done}/{total or '?'}{left}")
        sys.stderr.flush()

    return advance


def _line_printer() -> Advance:
    """Return a function that prints a line per tenth of the work, with the time that is left."""
    last_tenths: dict[str, int] = {}
    time_left = _estimator()

    def advance(done: int, total: int, what: str) -> None:
        tenth = 10 * done // total if total else 0
        left = time_left(done, total, what)
        if last_tenths.get(what) != tenth:
            last_tenths[what] = tenth
            print(f"{what}: {done}/{total or '?'}{left}", file=sys.stderr, flush=True)

    return advance


def _estimator() -> Callable[[int, int, str], str]:
    """Return a function that says how long work will take, from its rate since the first call."""
    starts: dict[str, tuple[float, int]] = {}

    def time_left(done: int, total: int, what: str) -> str:
        now = time.monotonic()
        began, first = starts.setdefault(what, (now, done))
        if not total or done <= first:
            return ""
        return f", {(total - done) * (now - began) / (done - first):.0f} s left"

    return time_left
