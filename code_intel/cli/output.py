"""What the terminal shows: text for people, one JSON object with `--json`; progress on stderr."""

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

PATIENCE = 1.0
"""Seconds until a terminal is told that the work goes on, and how often then."""


class Advance(Protocol):
    """Called by long work: units done, units in all (0 when not known yet), what it is doing."""

    def __call__(self, done: int, total: int, what: str) -> None:
        """Show it."""


def emit(args: argparse.Namespace, data: Mapping[str, Any], text: str) -> None:
    """Print the result, secret values masked: JSON when `--json` was given, else the text.

    What files are called and say must not steer a terminal either.
    """
    if args.json:
        print(visible_json(json.dumps(masked_data(data), ensure_ascii=False)), flush=True)
    else:
        print(visible(masked(text), keep="\n\t"), flush=True)


@contextmanager
def progress() -> Iterator[Advance]:
    """Show one bar for each kind of work on stderr; nothing where stderr is no terminal but lines."""
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
        yield _lines
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
def patience() -> Iterator[None]:
    """Say on stderr how long it has taken, from the first second on and ever more seldom."""
    done = threading.Event()
    began = time.monotonic()

    def tell() -> None:
        wait = PATIENCE
        while not done.wait(wait):
            print(f"… {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
            wait *= 2

    teller = threading.Thread(target=tell, name="patience", daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()


_last: dict[str, int] = {}


def _lines(done: int, total: int, what: str) -> None:
    """Without a terminal: a line at every tenth of the work."""
    tenth = 10 * done // total if total else 0
    if _last.get(what) != tenth:
        _last[what] = tenth
        print(f"{what}: {done}/{total or '?'}", file=sys.stderr, flush=True)
