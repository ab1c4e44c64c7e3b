"""Find out which symbols a session has read, and whose uses it has printed."""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from code_intel.forest.text.grep import TextQuery, grep
from code_intel.records import Definition
from code_intel.session.state import Session
from code_intel.session.understanding.reading import is_read
from code_intel.session.wording import symbol_parts
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.prints import current_lines
from code_intel.tools.context.source_file import project_path_of
from code_intel.tools.context.uses.relations import is_import

MAX_COMPARED = 20
"""Maximum symbols whose uses to search for."""
MAX_COMPARED_USES = 200
"""Maximum uses of a symbol to compare with the printed lines."""
MIN_PRINTED_USES = 5
"""Uses of a symbol that must have been printed; fewer if it has fewer."""
_NO_LINES: frozenset[int] = frozenset()


class SeenCode(NamedTuple):
    """What a session has printed of some symbols, named as in the question.

    Attributes:
        read: The symbols with a definition that is read.
        referenced: The symbols whose uses were printed; those without a use are not included.
    """

    read: frozenset[str] = frozenset()
    referenced: frozenset[str] = frozenset()


async def seen_code(
    context: GatewayContext, session: Session, found: Mapping[str, Sequence[Definition]]
) -> SeenCode:
    """Return what the session has printed of the symbols, at their current content."""
    if not any(call.printed for call in session.calls):
        return SeenCode()
    lines = await run_in_thread(current_lines, context, session)
    read = {
        symbol
        for symbol, definitions in found.items()
        if any(
            is_read(d.line, d.end_line, lines.get(project_path_of(context, d.file), _NO_LINES))
            for d in definitions
        )
    }
    referenced = [
        symbol
        for symbol, definitions in islice(found.items(), MAX_COMPARED)
        if await _are_uses_printed(context, symbol, definitions, lines)
    ]
    return SeenCode(frozenset(read), frozenset(referenced))


async def _are_uses_printed(
    context: GatewayContext,
    symbol: str,
    definitions: Sequence[Definition],
    lines: Mapping[str, frozenset[int]],
) -> bool:
    question = TextQuery(symbol_parts(symbol)[-1], literal=True, max_results=MAX_COMPARED_USES)
    bodies = [
        (project_path_of(context, d.file), range(d.line, d.end_line + 1)) for d in definitions
    ]
    found = await grep(context.root, question)
    uses = [(match.file, match.line) for match in found.matches if not is_import(match.content)]
    uses = [use for use in uses if not any(use[0] == f and use[1] in body for f, body in bodies)]
    count = sum(line in lines.get(file, _NO_LINES) for file, line in uses)
    return bool(uses) and count >= min(len(uses), MIN_PRINTED_USES)
