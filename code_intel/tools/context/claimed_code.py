"""Find the code to which a claim refers."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from code_intel.chunking.languages import row_of
from code_intel.forest.snippets import lines_of
from code_intel.records import Definition, Symbol
from code_intel.session.state import Session
from code_intel.session.understanding.claims import Claim
from code_intel.session.understanding.reading import READ_LINES, is_read
from code_intel.session.wording import fold_symbol, symbol_parts
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.context.prints import current_text
from code_intel.tools.context.source_file import index_path_of, project_path_of

OUTSIDE_SYMBOLS = "lines"
"""Kind of a definition that stands for lines outside of symbols."""
NO_LINES: frozenset[int] = frozenset()
Lines = Mapping[str, frozenset[int]]
"""The current lines that a session has printed, by file."""


class ClaimedCode(NamedTuple):
    """The code to which a claim refers.

    Attributes:
        definition: Its definition; of a language that cannot be read, the lines around the quote.
        file: Its path relative to the project.
        text: The current lines of that file.
        top: The first line of its code, with the comment above.
        readable: Whether the index can read symbols of its language.
    """

    definition: Definition
    file: str
    text: Sequence[str]
    top: int
    readable: bool = True

    @property
    def lines(self) -> range:
        """The numbers of its lines."""
        return range(self.top, self.definition.end_line + 1)


def code_of(
    context: GatewayContext,
    session: Session,
    claim: Claim,
    found: Sequence[Definition],
    lines: Lines,
) -> ClaimedCode | None:
    """Return the code that a claim means; None if it is not defined or not certain."""
    file = session.relative(claim.file) if claim.file.strip() else ""
    if file and not claim.symbol:
        return _code_of_file(context, file, lines)
    files = {d: project_path_of(context, d.file) for d in found}
    wanted = [d for d in found if not file or files[d] == file]
    read = [d for d in wanted if is_read(d.line, d.end_line, lines.get(files[d], NO_LINES))]
    chosen = wanted if len({files[d] for d in wanted}) == 1 else read
    if len({files[d] for d in chosen}) != 1:
        return None if found else _unreadable_code(context, claim, file, lines)
    text = current_text(context, files[chosen[0]])
    definition = max(
        chosen,
        key=lambda d: (
            _has_quote(text[d.line - 1 : d.end_line], claim.quote),
            len(lines.get(files[d], NO_LINES).intersection(range(d.line, d.end_line + 1))),
            d.end_line - d.line,
        ),
    )
    return ClaimedCode(definition, files[definition], text, _top(text, definition))


def _has_quote(text: Sequence[str], quote: str) -> bool:
    """Return whether lines have the first line of a quote, which distinguishes overloads."""
    first = next((line.strip() for line in quote.splitlines() if line.strip()), "")
    return bool(first) and any(first in line for line in text)


def _top(text: Sequence[str], definition: Definition) -> int:
    symbol = Symbol("", "", "", definition.line, definition.end_line)
    return min(lines_of("\n".join(text), symbol)[0], definition.line)


def _code_of_file(context: GatewayContext, file: str, lines: Lines) -> ClaimedCode | None:
    """Return the symbol of a file of which the most was printed.

    In a file without symbols, the code is the printed lines, or else the first lines.
    """
    printed = lines.get(file, NO_LINES)
    text = current_text(context, file)
    symbols = context.forest.store.defined_in([index_path_of(context, file)])
    read = [d for d in symbols if is_read(d.line, d.end_line, printed)]
    definition = max(
        read or symbols,
        key=lambda d: (len(printed.intersection(range(d.line, d.end_line + 1))), -d.line),
        default=passage(context, file, file, *_printed_run(printed, len(text))),
    )
    return ClaimedCode(definition, file, text, definition.line) if text else None


def _printed_run(printed: frozenset[int], count: int) -> tuple[int, int]:
    """Return the last consecutive lines that were printed; without any, the first ones to read."""
    if not printed:
        return 1, min(count, READ_LINES)
    first = last = max(printed)
    while first - 1 in printed:
        first -= 1
    return first, last


def passage(context: GatewayContext, name: str, file: str, first: int, last: int) -> Definition:
    """Return lines of a file that no symbol is read from as a definition."""
    document = index_path_of(context, file)
    return Definition(name, name, OUTSIDE_SYMBOLS, document, first, last, "", row_of(file).name, "")


def _unreadable_code(
    context: GatewayContext, claim: Claim, file: str, lines: Lines
) -> ClaimedCode | None:
    """Return printed lines of a language without symbols that have the name and the quote."""
    for name in (file,) if file else lines:
        if row_of(name).complete or name not in lines:
            continue
        text = current_text(context, name)
        shown = sorted(lines[name])
        words = " ".join(text[number - 1] for number in shown)
        if symbol_parts(claim.symbol)[-1] in words or fold_symbol(claim.symbol) in words:
            definition = passage(context, claim.symbol, name, shown[0], shown[-1])
            return ClaimedCode(definition, name, text, shown[0], readable=False)
    return None
