"""Gather the facts by which claims with quotes are judged: index, files, prints, search, map."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from code_intel.chunking.languages import row_of
from code_intel.chunking.lexicon import english
from code_intel.forest.snippets import lines_of
from code_intel.index.corpus import priority
from code_intel.learned.status.agreement_status import standings
from code_intel.records import Definition, Symbol
from code_intel.session.paths import plain_path
from code_intel.session.plausibility import PlausibilityFacts, is_plausible, missing_link
from code_intel.session.risk import ChangeFacts
from code_intel.session.state import Session
from code_intel.session.understanding.claims import Claim, NewSymbol, Understanding
from code_intel.session.understanding.demands import (
    MAX_CALLERS,
    MAX_TESTS,
    ClaimFacts,
    UseFacts,
)
from code_intel.session.understanding.judging import EvidenceFacts
from code_intel.session.understanding.quotes import QuotedCode
from code_intel.session.understanding.reading import READ_LINES, is_read
from code_intel.session.wording import content_words, fold_symbol, says_something, symbol_parts
from code_intel.tools.context.freshness import refresh_changed
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.plausible import ClaimedSymbol, plausibility_facts
from code_intel.tools.context.prints import current_lines, current_text
from code_intel.tools.context.project_files import existing_files
from code_intel.tools.context.relations import TESTS, Relation, relations
from code_intel.tools.context.source_file import index_path_of, project_path_of
from code_intel.tools.context.symbol_facts import (
    created_since,
    defines_code,
    definitions_of,
    is_all_code_indexed,
)

MAX_RELATED = 200
"""Maximum uses of a symbol to read."""
MIN_QUOTE_WORDS = 3
"""A quote with fewer different words must be a whole line."""
MAX_REFRESHED = 50
_LINE_NUMBER = re.compile(r"^\s*\d+\s*[:|→\t]\s?", re.MULTILINE)
_LINES = "lines"
"""Kind of a definition that stands for lines outside of symbols."""
_NO_LINES: frozenset[int] = frozenset()
Lines = Mapping[str, frozenset[int]]


class ClaimedCode(NamedTuple):
    """The code that a claim means.

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


async def evidence_facts(
    context: GatewayContext, session: Session, submitted: Understanding
) -> tuple[Understanding, EvidenceFacts]:
    """Return a submission with each symbol spelled as in the index, and the facts about it."""
    lines = await run_in_thread(current_lines, context, session)
    besides = [_as_claim(context, session, new) for new in submitted.new_symbols]
    claims = _distinct(submitted.claims)
    names = [claim.symbol for claim in (*claims, *besides)]
    found = await _definitions(context, names)
    codes = [
        await run_in_thread(_code_of, context, session, claim, found.get(claim.symbol, ()), lines)
        for claim in (*claims, *besides)
    ]
    claims = [
        claim._replace(symbol=code.definition.qualified) if code and code.readable else claim
        for claim, code in zip(claims, codes, strict=False)
    ]
    everything = [*claims, *besides]
    judged = await _plausibility(context, session, everything, codes)
    added = await created_since(context, session, names) if session.intent.writes else frozenset()
    rows = [
        await _symbol_facts(context, session, claim, code, found.get(name, ()), lines, links)
        for claim, name, code, links in zip(everything, names, codes, judged, strict=True)
    ]
    symbols = [
        facts._replace(is_new=name in added) for (facts, _), name in zip(rows, names, strict=True)
    ]
    size = len(claims)
    defines = await defines_code(context, [*lines, *(claim.file for claim in claims)])
    facts = EvidenceFacts(
        symbols=tuple(symbols[:size]),
        changes=await _changes(context, session, rows[:size], judged[:size]),
        neighbours=tuple(symbols[size:]),
        existing_files=frozenset(
            await run_in_thread(
                existing_files, context.root, [new.file for new in submitted.new_symbols]
            )
        ),
        nothing_defined=not defines and await is_all_code_indexed(context),
    )
    return submitted._replace(claims=tuple(claims)), facts


def _distinct(claims: Iterable[Claim]) -> list[Claim]:
    """Return the claims without repetitions; of several for one symbol, the first with a quote."""
    found: dict[tuple[str, str], Claim] = {}
    for claim in claims:
        key = claim.key, plain_path(claim.file)
        if key not in found or not found[key].quote:
            found[key] = claim
    return list(found.values())


async def _definitions(
    context: GatewayContext, names: Sequence[str]
) -> dict[str, list[Definition]]:
    """Return the definitions of each name in the current files."""
    found = await definitions_of(context, names)
    files = dict.fromkeys(d.file for rows in found.values() for d in rows)
    await run_in_thread(
        partial(refresh_changed, context, list(files)[:MAX_REFRESHED], exactly=True)
    )
    return await definitions_of(context, names)


def _as_claim(context: GatewayContext, session: Session, new: NewSymbol) -> Claim:
    """Return what a new symbol will join as a claim: a symbol, or a file."""
    file = session.relative(new.beside) if new.beside.strip() else ""
    is_file = bool(file) and (context.root / file).is_file()
    return Claim("" if is_file else new.beside, file if is_file else "")


def _code_of(
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
    read = [d for d in wanted if is_read(d.line, d.end_line, lines.get(files[d], _NO_LINES))]
    chosen = wanted if len({files[d] for d in wanted}) == 1 else read
    if len({files[d] for d in chosen}) != 1:
        return None if found else _unreadable_code(context, claim, file, lines)
    definition = max(
        chosen,
        key=lambda d: (
            len(lines.get(files[d], _NO_LINES).intersection(range(d.line, d.end_line + 1))),
            d.end_line - d.line,
        ),
    )
    text = current_text(context, files[definition])
    return ClaimedCode(definition, files[definition], text, _top(text, definition))


def _top(text: Sequence[str], definition: Definition) -> int:
    symbol = Symbol("", "", "", definition.line, definition.end_line)
    return min(lines_of("\n".join(text), symbol)[0], definition.line)


def _code_of_file(context: GatewayContext, file: str, lines: Lines) -> ClaimedCode | None:
    """Return the symbol of a file of which the most was printed; without any, its first lines."""
    printed = lines.get(file, _NO_LINES)
    text = current_text(context, file)
    symbols = context.forest.store.defined_in([index_path_of(context, file)])
    read = [d for d in symbols if is_read(d.line, d.end_line, printed)]
    definition = max(
        read or symbols,
        key=lambda d: (len(printed.intersection(range(d.line, d.end_line + 1))), -d.line),
        default=_passage(context, file, file, 1, min(len(text), READ_LINES)),
    )
    return ClaimedCode(definition, file, text, definition.line) if text else None


def _passage(context: GatewayContext, name: str, file: str, first: int, last: int) -> Definition:
    """Return lines of a file that no symbol is read from as a definition."""
    document = index_path_of(context, file)
    return Definition(name, name, _LINES, document, first, last, "", row_of(file).name, "")


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
            definition = _passage(context, claim.symbol, name, shown[0], shown[-1])
            return ClaimedCode(definition, name, text, shown[0], readable=False)
    return None


async def _plausibility(
    context: GatewayContext,
    session: Session,
    claims: Sequence[Claim],
    codes: Sequence[ClaimedCode | None],
) -> list[PlausibilityFacts | None]:
    """Return what links each claim to the request; None for code that is not certain."""
    asked = [
        ClaimedSymbol(code.definition, claim.quote)
        for claim, code in zip(claims, codes, strict=True)
        if code
    ]
    answers = iter(await plausibility_facts(context, session, asked))
    return [next(answers) if code else None for code in codes]


async def _symbol_facts(
    context: GatewayContext,
    session: Session,
    claim: Claim,
    code: ClaimedCode | None,
    found: Sequence[Definition],
    lines: Lines,
    links: PlausibilityFacts | None,
) -> tuple[ClaimFacts, ChangeFacts]:
    """Return the facts about one claim, and those that decide its risk."""
    change = ChangeFacts(claim.symbol, session.intent)
    if code is None:
        places = tuple(dict.fromkeys(f"{project_path_of(context, d.file)}:{d.line}" for d in found))
        name = claim.symbol or claim.file
        return ClaimFacts(name, places=places if len(places) > 1 else ()), change
    definition, printed = code.definition, lines.get(code.file, _NO_LINES)
    uses = await relations(context, definition, MAX_RELATED) if code.readable else None
    callers, tests = (uses.callers, uses.tests) if uses else ((), ())
    seen = [_use(use, lines) for use in callers]
    tests_seen = [_test(session, use, lines) for use in tests[:MAX_TESTS]]
    body = "\n".join(code.text[number - 1] for number in code.lines if number <= len(code.text))
    said = " ".join((claim.quote, definition.qualified, context.forest.store.doc_of(definition)))
    spoken = _slots_of(session, said)
    facts = ClaimFacts(
        name=definition.qualified,
        file=code.file,
        first=definition.line,
        last=definition.end_line,
        printed=printed,
        was_printed=_was_printed(session, code, printed),
        quote_stands=_stands(claim.quote, code, printed),
        quote_is_unread=_stands(claim.quote, code, frozenset(code.lines)),
        readable=code.readable,
        plausible=links is None or is_plausible(links),
        missing_link=missing_link(links) if links else "",
        speaks_of=spoken | (_FEATURE if links and links.in_part else frozenset()),
        could_speak_of=_slots_of(session, body),
        uses=len(callers) + len(tests),
        references_seen=_looked_up(session, definition.name)
        or sum(use.printed for use in seen) >= min(len(seen), MAX_CALLERS),
        callers=tuple(seen[:MAX_CALLERS]),
        tests=tuple(tests_seen),
        users=tuple(
            dict.fromkeys(
                use.file for use in (*callers, *tests) if use.line in lines.get(use.file, _NO_LINES)
            )
        ),
    )
    change = change._replace(
        symbol=definition.qualified,
        using_files=len({use.file for use in callers}),
        public=code.readable and _is_public(definition),
        tests=len(tests),
    )
    return facts, change


_FEATURE = frozenset({"target_feature"})


def _use(use: Relation, lines: Lines) -> UseFacts:
    return UseFacts(use.file, use.line, use.line in lines.get(use.file, _NO_LINES))


def _test(session: Session, use: Relation, lines: Lines) -> UseFacts:
    """Return a use in a test, printed if an answer has listed its file."""
    listed = use.file in lines or any(use.file in call.files for call in session.calls)
    return UseFacts(use.file, use.line, listed)


def _was_printed(session: Session, code: ClaimedCode, printed: frozenset[int]) -> bool:
    """Return whether lines at the symbol's place were printed and are not current any more."""
    return any(
        item.file == code.file
        and not printed.issuperset(range(item.first, item.last + 1))
        and item.first <= code.definition.end_line
        and code.definition.line <= item.last
        for call in session.calls
        for item in call.printed
    )


def _stands(quote: str, code: ClaimedCode, printed: frozenset[int]) -> bool:
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


def _slots_of(session: Session, text: str) -> frozenset[str]:
    """Return the slots with a word of a text; of a session without a frame, `query`."""
    words = content_words(text)
    slots = session.frame.slots if session.frame else ()
    asked = {slot.name: f"{slot.value} {slot.quote}" for slot in slots} or {"query": session.query}
    return frozenset(name for name, value in asked.items() if words & _words_of(value))


def _words_of(text: str) -> frozenset[str]:
    """Return the content words of a text, Japanese ones also in English."""
    translated = " ".join(word for row in english(text) for word in row)
    return content_words(text) | content_words(translated)


def _looked_up(session: Session, name: str) -> bool:
    return any(
        call.tool == "find_references" and call.ok and symbol_parts(call.target)[-1] == name
        for call in session.calls
    )


def _is_public(definition: Definition) -> bool:
    """Return whether other files may use a symbol, by the conventions of its language."""
    parts = symbol_parts(definition.qualified)
    if any(part.startswith(("_", "#")) and not part.startswith("__") for part in parts):
        return False
    if definition.language == "go":
        return parts[-1][:1].isupper()
    is_test = priority(definition.file) == TESTS
    return not is_test and not re.search(r"\b(?:private|fileprivate)\b", definition.signature)


async def _changes(
    context: GatewayContext,
    session: Session,
    rows: Sequence[tuple[ClaimFacts, ChangeFacts]],
    judged: Sequence[PlausibilityFacts | None],
) -> tuple[ChangeFacts, ...]:
    """Return what decides the risk of each claim that names certain code."""
    known = [links for links in judged if links]
    covered = {word for links in known for word in links.words}
    rare = dict.fromkeys(word for links in known for word in links.rare)
    uncovered = tuple(word for word in rare if word not in covered)
    in_map = await _named_in_map(context) if session.intent.writes else frozenset()
    return tuple(
        change._replace(uncovered=uncovered, in_map=facts.name in in_map)
        for facts, change in rows
        if facts.is_defined
    )


async def _named_in_map(context: GatewayContext) -> frozenset[str]:
    """Return the symbols that a valid agreement names."""
    found = await run_in_thread(
        partial(standings, context.settings, context.forest, cache=context.map_cache)
    )
    return frozenset(each.symbol for each in found if each.validity == "valid")


async def quoted_code(
    context: GatewayContext, session: Session, quotes: Sequence[str]
) -> dict[str, QuotedCode]:
    """Return the code of each quote that stands in lines that the session has printed."""
    if not quotes:
        return {}
    lines = await run_in_thread(current_lines, context, session)
    found = await run_in_thread(_places_of, context, quotes, lines)
    claims = [ClaimedSymbol(definition, quote) for quote, (definition, _) in found.items()]
    judged = await plausibility_facts(context, session, claims)
    return {
        quote: QuotedCode(
            file,
            "" if definition.kind == _LINES else definition.qualified,
            is_plausible(links),
            missing_link(links),
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
            line = _line_of(quote, text, lines[file]) if quote not in found else 0
            if not line:
                continue
            around = [d for d in symbols if d.line <= line <= d.end_line]
            found[quote] = (
                min(
                    around,
                    key=lambda d: d.end_line - d.line,
                    default=_passage(context, file, file, line, line),
                ),
                file,
            )
    return found


def _line_of(quote: str, text: Sequence[str], printed: frozenset[int]) -> int:
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
