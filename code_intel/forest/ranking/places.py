"""Turn the files of an answer into places: several of one file, each with the line that matches."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from code_intel.chunking.languages import row_of
from code_intel.forest.matched_lines import best_line, first_match
from code_intel.forest.ranking.question import RankedQuestion, read
from code_intel.forest.source_store import SourceStore
from code_intel.records import Definition, Hit

FURTHER_PLACE = 0.7
"""Factor for the score of a file's further places. Such a place is shown if it then scores at least
as much as the last file of the answer."""
MAX_SYMBOLS = 12
_COMMENT = re.compile(r"\s*(?:#|//|/\*|\*|--|;|<!--|\"\"\")")


def places_of(store: SourceStore, query: str, hits: Sequence[Hit], per_file: int) -> list[Hit]:
    """Return the hits with further places of their files, each with its line and symbols.

    Args:
        store: The forest's index.
        query: The query.
        hits: The best place of each file, best first.
        per_file: Maximum number of places of one file.
    """
    question = read(query)
    least = min((hit.score or 0.0 for hit in hits), default=0.0)
    shown = list(_expanded(hits, per_file, least))
    defined = store.defined_in(dict.fromkeys(hit.document for hit in shown))
    return [
        _located(hit, question, [d for d in defined if d.file == hit.document]) for hit in shown
    ]


def _expanded(hits: Iterable[Hit], per_file: int, least: float) -> Iterator[Hit]:
    """Yield each hit and, after it, those of its further places that score enough."""
    for hit in hits:
        yield replace(hit, others=())
        for other in hit.others[: max(per_file - 1, 0)]:
            score = FURTHER_PLACE * (other.score or 0.0)
            if score >= least:
                yield replace(other, score=score)


def _located(hit: Hit, question: RankedQuestion, defined: Sequence[Definition]) -> Hit:
    """Return a hit with the line that matches best, and the symbols around and in it."""
    if not hit.start_line:
        return hit
    inside = [d for d in defined if d.line <= hit.end_line and hit.start_line <= d.end_line]
    line = _named_line(hit, question, inside) or _matching_line(hit, question, inside)
    around = [d for d in inside if d.line <= line <= d.end_line]
    innermost = min(around, key=lambda d: d.end_line - d.line, default=None)
    begun = [d.qualified for d in inside if hit.start_line <= d.line]
    # A document of a shared index may not be in this index yet.
    first = begun[0] if begun else ("" if defined else hit.symbol)
    symbol = innermost.qualified if innermost else first
    others = dict.fromkeys(name for name in begun if name != symbol)
    text = hit.chunk.splitlines()[line - hit.start_line] if hit.chunk else ""
    column = first_match(text, question.terms)
    symbols = tuple(others)[:MAX_SYMBOLS]
    return replace(hit, line=line, column=column, symbol=symbol, symbols=symbols)


def _named_line(hit: Hit, question: RankedQuestion, inside: Iterable[Definition]) -> int:
    """Return the line that defines a name of the question; 0 if none does."""
    names = {name.bare for name in question.names}
    return next((d.line for d in inside if d.name in names and d.line >= hit.start_line), 0)


def _matching_line(hit: Hit, question: RankedQuestion, inside: Iterable[Definition]) -> int:
    """Return the line with most of the question's words, else the first line of code."""
    lines = hit.chunk.splitlines()
    found = best_line(lines, question.terms)
    if found is not None:
        return hit.start_line + found
    starts = [d.line for d in inside if hit.start_line <= d.line]
    return min(starts) if starts else hit.start_line + _first_code(lines, hit.document)


def _first_code(lines: Sequence[str], document: str) -> int:
    """Return the index of the first line of code after a comment, which may be a licence."""
    if not row_of(document).complete:
        return 0
    code = (at for at, line in enumerate(lines) if line.strip() and not _COMMENT.match(line))
    return next(code, 0)
