"""Define the steps of a time line, whose parts a page can link."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from code_intel.session.state import Print

Data = Mapping[str, Any]


@dataclass(frozen=True)
class SeenLines:
    """Consecutive lines of a file that an answer printed.

    Attributes:
        file: The file, relative to the project.
        first: The first line, as it was numbered then.
        last: The last line.
        prints: The notes of these lines, in blocks.
    """

    file: str
    first: int
    last: int
    prints: tuple[Print, ...]


@dataclass(frozen=True)
class Hit:
    """A result of a search; `is_map` if the document is an entry of the map."""

    document: str
    symbol: str
    score: float | None
    is_map: bool


@dataclass(frozen=True)
class Item:
    """One part of a step: a call, a claim, a slot, an answer, a decision.

    Attributes:
        name: What it is about.
        verdict: What came of it, in a word.
        text: A sentence about it.
        quote: The code that it quotes.
        files: Files that it names.
        seq: The number of its record, for a call.
        found: How many results a call had; None for other parts.
        symbols: Symbols that a call found.
        seen: Lines that its answer printed.
        hits: The first results of a search.
    """

    name: str = ""
    verdict: str = ""
    text: str = ""
    quote: str = ""
    files: tuple[str, ...] = ()
    seq: int = 0
    found: int | None = None
    symbols: tuple[str, ...] = ()
    seen: tuple[SeenLines, ...] = ()
    hits: tuple[Hit, ...] = ()


@dataclass(frozen=True)
class TimelineStep:
    """A step of the time line.

    Attributes:
        kind: The kind, in a word; templates have the text of each.
        text: What a person or an agent said.
        items: The parts.
        reasons: Why something was not accepted, one sentence each.
        values: Facts by name that the kind of step has.
        seq: The number of its first record; 0 for a decision, which the journal does not have.
        at: When it happened, in ISO 8601.
        phase: The phase that followed.
    """

    kind: str
    text: str = ""
    items: tuple[Item, ...] = ()
    reasons: tuple[str, ...] = ()
    values: Data = field(default_factory=dict)
    seq: int = 0
    at: str = ""
    phase: str = ""


def seen_lines(prints: Iterable[Print]) -> tuple[SeenLines, ...]:
    """Join the notes of printed lines to runs of consecutive lines, by file."""
    runs: list[SeenLines] = []
    for each in sorted(dict.fromkeys(prints), key=lambda item: (item.file, item.first, item.last)):
        if runs and runs[-1].file == each.file and each.first <= runs[-1].last + 1:
            before = runs.pop()
            last = max(before.last, each.last)
            runs.append(replace(before, last=last, prints=(*before.prints, each)))
        else:
            runs.append(SeenLines(each.file, each.first, each.last, (each,)))
    return tuple(runs)
