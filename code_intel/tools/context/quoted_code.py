"""Find the printed code that a quote is from."""

import re
from collections.abc import Iterable, Sequence

from code_intel.records import Definition
from code_intel.session.plausibility import first_hits, is_plausible, missing_link
from code_intel.session.state import Session
from code_intel.session.understanding.demands import FEATURE_SLOTS
from code_intel.session.understanding.quotes import QuotedCode
from code_intel.session.wording import says_something
from code_intel.tools.context.claimed_code import OUTSIDE_SYMBOLS, ClaimedCode, Lines, passage
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.plausible import ClaimedSymbol, plausibility_facts, spoken_slots
from code_intel.tools.context.prints import current_lines, current_text
from code_intel.tools.context.source_file import index_path_of
from code_intel.tools.context.symbol_facts import created_since

MIN_QUOTE_WORDS = 3
"""A quote with fewer different words must be a whole line."""
_LINE_NUMBER = re.compile(r"^[^\S\n]*\d+(?:\s{0,9}[:|→\t]|-)\s?", re.MULTILINE)


def stands(quote: str, code: ClaimedCode, printed: frozenset[int]) -> bool:
    """Return whether a quote stands in printed lines of the code; white space does not matter."""
    runs: list[list[str]] = [[]]
    for number in code.lines:
        if number in printed and number <= len(code.text):
            runs[-1].append(code.text[number - 1])
        elif runs[-1]:
            runs.append([])
    return any(_is_quote(wanted, run) for wanted in _spellings(quote) for run in runs)


def _is_quote(wanted: str, run: Sequence[str]) -> bool:
    if not says_something(wanted):
        return False
    if len(set(re.findall(r"\w+", wanted))) < MIN_QUOTE_WORDS:
        return wanted in map(_plain, run)
    return wanted in _plain("\n".join(run))


def _plain(text: str) -> str:
    return " ".join(text.split())


async def quoted_code(
    context: GatewayContext, session: Session, quotes: Sequence[str], file: str = ""
) -> dict[str, QuotedCode]:
    """Return the code of each quote that stands in lines that the session has printed.

    With `file`, only lines of that file count.
    """
    if not quotes:
        return {}
    lines = await run_in_thread(current_lines, context, session)
    if file:
        lines = {file: lines[file]} if file in lines else {}
    found = await run_in_thread(_places_of, context, quotes, lines)
    claims = [ClaimedSymbol(definition, quote) for quote, (definition, _) in found.items()]
    judged = await plausibility_facts(context, session, claims)
    places = found.values()
    names = [d.qualified for d, _ in places if d.kind != OUTSIDE_SYMBOLS]
    added = await created_since(context, session, names, [file for _, file in places])
    return {
        quote: QuotedCode(
            file,
            "" if definition.kind == OUTSIDE_SYMBOLS else definition.qualified,
            is_plausible(links),
            missing_link(links),
            len(links.words),
            bool(spoken_slots(context, session, definition, quote, links) & FEATURE_SLOTS),
            first_hits(links),
            is_new=session.intent.writes and bool(added & {definition.qualified, file}),
        )
        for (quote, (definition, file)), links in zip(found.items(), judged, strict=True)
    }


def _places_of(
    context: GatewayContext, quotes: Iterable[str], lines: Lines
) -> dict[str, tuple[Definition, str]]:
    """Return the innermost symbol around each quote, or its line, and the file."""
    found = {}
    for file in lines:
        text = current_text(context, file)
        symbols = context.forest.store.defined_in([index_path_of(context, file)])
        for quote in quotes:
            line = line_of_quote(quote, text, lines[file]) if quote not in found else 0
            if not line:
                continue
            around = [d for d in symbols if d.line <= line <= d.end_line]
            found[quote] = (
                min(
                    around,
                    key=lambda d: d.end_line - d.line,
                    default=passage(context, file, file, line, line),
                ),
                file,
            )
    return found


def line_of_quote(quote: str, text: Sequence[str], printed: frozenset[int]) -> int:
    """Return the first line of a quote that stands in printed lines; 0 if it stands in none."""
    size = len([line for line in quote.splitlines() if line.strip()]) + 1
    for start in sorted(number for number in printed if number <= len(text)):
        run = []
        for number in range(start, min(start + size, len(text) + 1)):
            if number not in printed:
                break
            run.append(text[number - 1])
        if any(_is_quote(wanted, run) for wanted in _spellings(quote)) and not any(
            _is_quote(wanted, run[1:]) for wanted in _spellings(quote)
        ):
            return start
    return 0


def _spellings(quote: str) -> list[str]:
    """Return a quote with white space folded, as it is and without line numbers."""
    return list(dict.fromkeys((_plain(quote), _plain(_LINE_NUMBER.sub("", quote)))))
