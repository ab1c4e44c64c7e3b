"""Print the places of the code that a command found, one a line, as grep does.

Only places go to stdout; notes and what to do if nothing was found go to stderr.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from code_intel.cli.output import emit, has_colours
from code_intel.foundation.redaction import masked
from code_intel.foundation.text import visible

Spans = Callable[[str], Iterable[tuple[int, int]]]
"""Returns the start and end of every match in a text."""


class FoundLine(NamedTuple):
    """A line to print: a place, such as `src/a.py:12:`, and the text that follows it."""

    place: str
    text: str


def print_found(
    args: argparse.Namespace,
    data: Mapping[str, Any],
    lines: Iterable[FoundLine],
    notes: Sequence[str],
    spans: Spans,
) -> None:
    """Print the data, with `--json`, or the lines; a terminal shows matches in bold."""
    if args.json:
        emit(args, data, "")
        return
    print_line = _styled if has_colours() else _plain
    for line in lines:
        print(print_line(line._replace(text=visible(masked(line.text), keep="\t")), spans))
    sys.stdout.flush()
    for note in filter(None, notes):
        print(visible(masked(note)), file=sys.stderr, flush=True)


def _plain(line: FoundLine, spans: Spans) -> str:  # noqa: ARG001 - as `_styled`
    return line.place + line.text


def _styled(line: FoundLine, spans: Spans) -> str:
    from code_intel.tools.wire.colour import styled

    shown, end = [], 0
    for first, last in spans(line.text):
        shown += [line.text[end:first], styled(line.text[first:last], "bold")]
        end = last
    return "".join([styled(line.place, "cyan"), *shown, line.text[end:]])
