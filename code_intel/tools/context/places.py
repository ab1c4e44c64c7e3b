"""Show places of the source as they are on disk now: the lines around a match, or a whole symbol.

A place shows the lines that match, not the first lines of the chunk that was found, which may be a
licence header. `relations` lists what is related to a symbol.
"""

import json
import re
from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

from code_intel.chunking.languages import row_of
from code_intel.errors import UsageError
from code_intel.forest.matched_lines import best_line, lines_around
from code_intel.forest.ranking.question import read
from code_intel.forest.snippets import first_comment_line
from code_intel.index.rows import names_symbol
from code_intel.records import Definition, Hit
from code_intel.session.state import Print
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.context.prints import prints_of
from code_intel.tools.context.source_file import SourceText, project_path_of, read_source
from code_intel.tools.wire.answers import tokens

MAX_LINE_CHARS = 240
"""Longer lines are cut; a cut line does not count as printed."""
AROUND_TOKENS = 130
"""Default budget of the lines around a match."""
SYMBOL_TOKENS = 1200
"""Default budget of a whole symbol."""
_COMMENT = re.compile(r"\s*(?:#|//|/\*|\*|--|;|<!--)")


class Place(NamedTuple):
    """Consecutive lines of a file, as an answer shows them.

    Attributes:
        file: Path relative to the project.
        symbol: The innermost symbol around the lines, or the whole symbol, or an empty text.
        first: The first line, counted from 1.
        last: The last line, included.
        lines: The lines, without line endings; long ones are cut.
        score: Score of the search, relative to its best hit; 0 if no search found the place.
        whole: Whether these are all lines of the symbol, with the comment above it.
        header: The number of the symbol's first line and its text, if it is not among the lines.
    """

    file: str
    symbol: str
    first: int
    last: int
    lines: tuple[str, ...]
    score: float = 0.0
    whole: bool = False
    header: tuple[int, str] | None = None

    @property
    def prints(self) -> tuple[Print, ...]:
        """What to note in the journal once the place has been shown."""
        numbered = enumerate(self.lines, self.first)
        runs = groupby(numbered, key=lambda item: len(item[1]) <= MAX_LINE_CHARS)
        found: list[Print] = []
        if self.header is not None and len(self.header[1]) <= MAX_LINE_CHARS:
            found += prints_of(self.file, self.header[0], [self.header[1]])
        for is_complete, run in runs:
            if is_complete:
                rows = list(run)
                found += prints_of(self.file, rows[0][0], [line for _, line in rows])
        return tuple(found)


class Match(NamedTuple):
    """The line of a file that matches a question best.

    Attributes:
        source: The file.
        line: The line, counted from 1.
        first: The first line of the passage that was found.
        last: The last line of that passage.
        score: The score of the hit.
        definition: The innermost symbol around the line, if there is one.
    """

    source: SourceText
    line: int
    first: int
    last: int
    score: float
    definition: Definition | None


class QuestionWords(NamedTuple):
    """What lines are chosen by: the tokens of a question, and the symbols that it names."""

    terms: frozenset[str] = frozenset()
    names: tuple[str, ...] = ()


NO_WORDS = QuestionWords()


def words_of(question: str) -> QuestionWords:
    """Return the words of a question by which lines are chosen."""
    asked = read(question)
    return QuestionWords(frozenset(asked.terms), tuple(name.qualified for name in asked.names))


def find_match(context: GatewayContext, hit: Hit, words: QuestionWords) -> Match | None:
    """Return the line of a forest hit that matches best; None if its file cannot be read.

    It is where a symbol of the question is defined, else the best line by its terms. If no line has
    any, it is the line of the first symbol of the hit, else its first line after a comment. This
    blocks.
    """
    source = _source(context, hit.document)
    if source is None or not source.lines:
        return None
    first, last = 1, len(source.lines)
    if hit.start_line and not source.has_changed:
        first, last = min(hit.start_line, last), min(hit.end_line, last)
    found = best_line(source.lines[first - 1 : last], words.terms)
    line = first + found if found is not None else _start_of_code(source, first, last)
    line = _line_of_named(source, first, last, words.names) or line
    definition = _innermost(source.definitions, line)
    return Match(source, line, first, last, hit.score or 0.0, definition)


def around_match(
    context: GatewayContext,
    hit: Hit,
    words: QuestionWords,
    *,
    budget: int = AROUND_TOKENS,
) -> Place | None:
    """Return the lines around the best match of a forest hit; None if its file cannot be read.

    This blocks.

    Args:
        context: The project's context.
        hit: The hit.
        words: The question's words; see `words_of`.
        budget: Maximum tokens of the lines, of which at least one is shown.
    """
    found = find_match(context, hit, words)
    return None if found is None else show_around(found, budget)


def show_around(found: Match, budget: int = AROUND_TOKENS) -> Place:
    """Return the lines around a match, within its symbol; the whole symbol if that fits."""
    if found.definition is not None:
        return _show(found.source, found.definition, found.line, budget, found.score)
    code = _start_of_code(found.source, found.first, found.last)
    span = code if code <= found.line else found.first, found.last  # a licence is left out
    return _cut(found.source, "", span, found.line, budget)._replace(score=found.score)


def show_symbol(
    context: GatewayContext,
    definition: Definition,
    *,
    words: QuestionWords = NO_WORDS,
    budget: int = SYMBOL_TOKENS,
    score: float = 0.0,
) -> Place | None:
    """Return a whole symbol as it is on disk now; None if the file does not define it any more.

    A symbol beyond the budget is shown around the line that matches `words` best, else from its
    start. This blocks.
    """
    source = _source(context, definition.file)
    same = [
        d for d in (source.definitions if source else ()) if d.qualified == definition.qualified
    ]
    now = min(same, key=lambda d: abs(d.line - definition.line), default=None)
    if source is None or now is None:
        return None
    first, last = _span_of(source, now)
    found = best_line(source.lines[first - 1 : last], words.terms)
    return _show(source, now, first + (found or 0), budget, score)


def _source(context: GatewayContext, document: str) -> SourceText | None:
    try:
        return read_source(context, project_path_of(context, document))
    except UsageError:
        return None


def _span_of(source: SourceText, definition: Definition) -> tuple[int, int]:
    """Return the lines of a symbol, with the comment and decorators directly above."""
    top = first_comment_line(lambda number: source.lines[number - 1], definition.line)
    return top, min(definition.end_line, len(source.lines))


def _show(
    source: SourceText, definition: Definition, line: int, budget: int, score: float
) -> Place:
    """Return a symbol whole or, if it does not fit, its first line and those around `line`."""
    span = _span_of(source, definition)
    place = _cut(source, definition.qualified, span, line, budget)
    if place.first > definition.line:
        header = _shortened(source.lines[definition.line - 1])
        place = _cut(source, definition.qualified, span, line, budget - cost(header))
        if place.first > definition.line:
            place = place._replace(header=(definition.line, header))
    return place._replace(score=score, whole=(place.first, place.last) == span)


def _cut(source: SourceText, symbol: str, span: tuple[int, int], line: int, budget: int) -> Place:
    """Return the lines of `span` around `line` that fit the budget, without blank ones outside."""
    shown = [_shortened(text) for text in source.lines[span[0] - 1 : span[1]]]
    center = line - span[0]
    first, last = lines_around([cost(text) for text in shown], center, budget)
    while first < center and not shown[first].strip():
        first += 1
    while last > center and not shown[last].strip():
        last -= 1
    lines = tuple(shown[first : last + 1])
    return Place(source.path, symbol, span[0] + first, span[0] + last, lines)


def _shortened(line: str) -> str:
    return line if len(line) <= MAX_LINE_CHARS else f"{line[:MAX_LINE_CHARS]}…"


def cost(line: str) -> int:
    """Return the tokens of a line in an answer; as JSON, because that is longer than its text."""
    return tokens(json.dumps(line, ensure_ascii=False)) + 1


def _line_of_named(source: SourceText, first: int, last: int, names: Iterable[str]) -> int:
    """Return the first line in a range that defines one of the names; 0 if none does."""
    inside = [d for d in source.definitions if first <= d.line <= last]
    named = (d.line for name in names for d in inside if names_symbol(name, d.qualified, d.file))
    return next(named, 0)


def _start_of_code(source: SourceText, first: int, last: int) -> int:
    """Return the line of the first symbol in a range, else the first one after a comment."""
    starts = [d.line for d in source.definitions if first <= d.line <= last]
    if starts or not row_of(source.path).complete:
        return min(starts, default=first)
    numbered = enumerate(source.lines[first - 1 : last], first)
    code = (number for number, line in numbered if line.strip() and not _COMMENT.match(line))
    return next(code, first)


def _innermost(definitions: Iterable[Definition], line: int) -> Definition | None:
    around = (d for d in definitions if d.line <= line <= d.end_line)
    return min(around, key=lambda d: (d.end_line - d.line, -d.line), default=None)
