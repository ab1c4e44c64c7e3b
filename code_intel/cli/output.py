"""Print results as text or, with `--json`, as one JSON object; show progress on stderr.

Text on a terminal is coloured.
"""

import argparse
import json
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from code_intel.foundation.redaction import masked, masked_data
from code_intel.foundation.text import visible, visible_json

PROGRESS_DELAY_S = 1.0
"""Seconds after which the elapsed time is printed for the first time."""


class Advance(Protocol):
    """Reports the progress of long work."""

    def __call__(self, done: int, total: int, what: str) -> None:
        """Show that `done` of `total` units (0 if unknown) of a kind of work are done."""


def emit(args: argparse.Namespace, data: Mapping[str, Any], text: str) -> None:
    """Print the result with secrets masked and control characters made visible.

    Args:
        args: The options; `--json` chooses JSON.
        data: The result as JSON.
        text: The result as text.
    """
    if args.json:
        print(visible_json(json.dumps(masked_data(data), ensure_ascii=False)), flush=True)
        return
    shown = visible(masked(text), keep="\n\t")
    if sys.stdout.isatty():
        from code_intel.cli.colour import coloured

        shown = coloured(shown)
    print(shown, flush=True)


@contextmanager
def progress() -> Iterator[Advance]:
    """Show a progress bar per kind of work on stderr; print lines if it is not a terminal."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _line_printer()
        return
    columns = (
        TextColumn("{task.description:<18}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bars:
        tasks: dict[str, Any] = {}

        def advance(done: int, total: int, what: str) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total or None)
            bars.update(tasks[what], completed=done, total=total or None)

        yield advance


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


def _line_printer() -> Advance:
    """Return a function that prints a line per tenth of the work."""
    last_tenths: dict[str, int] = {}

    def advance(done: int, total: int, what: str) -> None:
        tenth = 10 * done // total if total else 0
        if last_tenths.get(what) != tenth:
            last_tenths[what] = tenth
            print(f"{what}: {done}/{total or '?'}", file=sys.stderr, flush=True)

    return advance
